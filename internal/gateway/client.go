package gateway

import (
	"context"
	"errors"

	"github.com/flotilla-llm/flotilla"
)

// Caller is who sent a request.
type Caller struct {
	Name      string            // of the client, as `serve keys add` named it; Local without keys
	Priority  flotilla.Priority // of requests that do not say
	Highest   flotilla.Priority // that requests may ask for
	Weight    float64           // share among callers of one priority; 0: 1
	MaxPerDay flotilla.Money    // budget per local day; 0: none
}

// Local is the name of a caller on a gateway without client keys: whoever may
// reach its loopback address.
const Local = "local"

// local is that caller. A program that asks and waits is what most callers are.
var local = Caller{Name: Local, Priority: flotilla.Normal, Highest: flotilla.Interactive}

// Clients says whose a key is.
type Clients interface {
	// Caller is whom a key belongs to. The error is ErrNoKey where none was
	// given and one is needed, ErrBadKey where it is nobody's or was revoked,
	// anything else where nobody can tell.
	Caller(ctx context.Context, key string) (Caller, error)
}

// Errors of Clients.
var (
	ErrNoKey  = errors.New("no key was given")
	ErrBadKey = errors.New("the key is nobody's")
)

// CallerOf is who sent the request that a context belongs to. Outside of a
// request that Shell let in, it is the local caller.
func CallerOf(ctx context.Context) Caller {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v.caller
	}
	return local
}

// visit is what a request carries along: who sent it, and what is told of it.
// It is one value of one context: each further one costs every request.
type visit struct {
	caller Caller
	record Record
	gone   <-chan struct{} // closed once its key is revoked; nil: never
}

type visitKey struct{}
