package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// ClientBook is where clients are kept. The journal is one.
type ClientBook interface {
	Clients(ctx context.Context) ([]journal.Client, error)
}

const (
	// A list that is older than clientsFresh is read anew beside the requests that
	// go by it, and before them when it is older than clientsOld: a key that was
	// revoked by another process lets nobody in a second later.
	clientsFresh = 400 * time.Millisecond
	clientsOld   = 800 * time.Millisecond
	// clientsStale is how long an old list is gone by when the book cannot be
	// read: longer, and a revoked key would live on.
	clientsStale = 10 * time.Second
)

// KeyedClients are the clients of a book, for Clients. Once the book has any,
// revoked ones included, only their keys let in; until then anybody is Local
// where open says so, and nobody elsewhere.
func KeyedClients(book ClientBook, open bool, log *slog.Logger) Clients {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &clientList{book: book, open: open, log: log, now: time.Now}
}

type clientList struct {
	book ClientBook
	open bool
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex
	read    time.Time
	reading bool // beside requests
	all     []journal.Client
}

// Caller is part of Clients. Every key takes the same way through it: all hashes
// are compared, whether one was found or not.
func (l *clientList) Caller(ctx context.Context, key string) (Caller, error) {
	all, err := l.list(ctx)
	if err != nil {
		return Caller{}, err
	}
	hash := HashKey(key)
	found := -1
	for i := range all {
		if sameHash(&all[i].KeyHash, &hash) && all[i].Revoked.IsZero() {
			found = i
		}
	}
	switch {
	case found >= 0:
		return callerFor(&all[found])
	case l.open && len(all) == 0:
		return local, nil
	case key == "":
		return Caller{}, ErrNoKey
	}
	return Caller{}, ErrBadKey
}

// list is the list as it is now, or was a moment ago.
func (l *clientList) list(ctx context.Context) ([]journal.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx = context.WithoutCancel(ctx) // others wait for it
	switch age := l.now().Sub(l.read); {
	case age < clientsFresh:
	case age < clientsOld && !l.reading:
		l.reading = true
		go func() {
			all, err := l.book.Clients(ctx)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.reading = false
			l.take(all, err)
		}()
	case age < clientsOld:
	default:
		if l.take(l.book.Clients(ctx)); l.now().Sub(l.read) > clientsStale {
			return nil, errNoClients
		}
	}
	return l.all, nil
}

var errNoClients = errors.New("the client keys cannot be read")

// take takes in what was read; the old list stands where nothing was.
func (l *clientList) take(all []journal.Client, err error) {
	if err != nil {
		l.log.Warn("client keys cannot be read", "cause", err)
		return
	}
	l.all, l.read = all, l.now()
}

// callerFor is a client as requests see it.
func callerFor(c *journal.Client) (Caller, error) {
	caller := Caller{Name: c.Name, Priority: flotilla.Normal, Highest: flotilla.Interactive, Weight: c.Weight, MaxPerDay: c.MaxPerDay}
	if c.Priority == "" {
		return caller, nil
	}
	p := slices.Index(priorities[:], c.Priority)
	if p < 0 {
		return caller, fmt.Errorf("client %s: %q is no priority", c.Name, c.Priority)
	}
	caller.Priority, caller.Highest = flotilla.Priority(p), flotilla.Priority(p)
	return caller, nil
}

// OneKey lets in whoever has the key, as Local: the gateway of one command.
func OneKey(key string) Clients { return oneKey(HashKey(key)) }

type oneKey [32]byte

// Caller is part of Clients.
func (o oneKey) Caller(_ context.Context, key string) (Caller, error) {
	hash, own := HashKey(key), [32]byte(o)
	switch {
	case sameHash(&own, &hash):
		return local, nil
	case key == "":
		return Caller{}, ErrNoKey
	}
	return Caller{}, ErrBadKey
}

// NoKeys lets in anybody, which only a loopback address may say.
func NoKeys() Clients { return noKeys{} }

type noKeys struct{}

// Caller is part of Clients.
func (noKeys) Caller(context.Context, string) (Caller, error) { return local, nil }
