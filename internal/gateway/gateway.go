// Package gateway puts a fleet behind an HTTP endpoint that is the API to its
// clients: official SDKs need only another base URL. Bodies pass byte for byte
// both ways, errors have the API's shape.
//
// A [Gateway] is a thin layer over [flotilla.Line], [flotilla.Fleet.Forward]
// and, for batches, jobs of internal/job: what is sent when and where is the
// fleet's business. [Shell] stands around it and says who may come in.
//
// Known limitations: the Files API is not served; answers from the cache come as
// a stream of a few large events.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/price"
)

// Config shapes a Gateway. Only Fleet is required.
type Config struct {
	Fleet   *flotilla.Fleet
	Journal *journal.Journal // nil: nothing is kept, there are no batches and no cache

	Provider string // whose answers they are: flotilla.Provider of the base URL
	Emulated string // the mark of an emulator, "scenario/seed"; empty: the provider

	Prefer      flotilla.Prefer // of batches whose create does not say
	PreferGiven bool            // Prefer was asked for; else batches keep to the batch price
	Cache       bool            // answer from the journal what it has answers for

	Capped bool            // money is capped: tools billed per use are refused
	Pots   []*flotilla.Pot // caps that all calls draw on
	// PotsOf are further caps on the calls of one caller; nil: none.
	PotsOf func(ctx context.Context, c Caller) ([]*flotilla.Pot, error)
	// PurseOf is the cap per day, shared with other processes, for a job of the
	// journal; nil: none.
	PurseOf func(job int64) flotilla.Purse

	Prices *price.Table // nil: the published ones
	Log    *slog.Logger // nil: none

	Batches http.Handler     // everything under /v1/messages/batches; nil: the gateway's own, where it has a Journal
	Spool   string           // directory for the bodies and results of batches
	Now     func() time.Time // nil: the fleet's clock
}

// A Gateway is the API in front of a Fleet.
type Gateway struct {
	cfg     Config
	lines   lines
	cache   *cache // nil: no answers of earlier runs are used
	batches http.Handler
	own     *batches // nil: none, or the Config's
	under   underWay
	ahead   atomic.Int64 // bytes of streams that wait for slow readers
	ready   readiness
}

// New makes a gateway. It reads the answers of earlier runs where Config.Cache
// asks for them, and goes on with batches that have not ended. The context
// bounds that alone.
func New(ctx context.Context, cfg Config) (*Gateway, error) {
	if cfg.Now == nil {
		cfg.Now = cfg.Fleet.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{cfg: cfg, batches: cfg.Batches}
	g.lines.open = map[lineKey]*place{}
	if cfg.Cache && cfg.Journal != nil {
		var err error
		if g.cache, err = openCache(ctx, &g.cfg); err != nil {
			return nil, fmt.Errorf("reading the answers of earlier runs: %w", err)
		}
	}
	if g.batches == nil && cfg.Journal != nil {
		own, err := newBatches(ctx, &g.cfg)
		if err != nil {
			return nil, fmt.Errorf("going on with batches: %w", err)
		}
		own.cache = g.cache
		g.own, g.batches = own, own
	}
	return g, nil
}

// Drain lets nothing new in: such requests are answered 529 with a retry-after.
// What is under way goes on.
func (g *Gateway) Drain() {
	g.under.stop()
	if g.own != nil {
		g.own.drain()
	}
}

// Held says what a job of a client's batch waits for until the gateway takes it
// up again: "budget", "closed" (its lanes are), "elsewhere" (another process
// carries it) or "fault". Empty: it is being run, or is no such job.
func (g *Gateway) Held(job int64) string {
	if g.own == nil {
		return ""
	}
	return g.own.held(job)
}

// Close drains, waits until everything that is under way has been answered or
// ctx ends, breaks off what is left, and gives the jobs back to the journal,
// for which it takes up to two seconds more. The Fleet stays open.
func (g *Gateway) Close(ctx context.Context) error {
	g.Drain()
	late, cancel := outlast(ctx, lastDrain)
	defer cancel()
	var own error
	var beside sync.WaitGroup // calls and the rows of batches end in the same time
	if g.own != nil {
		beside.Go(func() { own = g.own.close(late) })
	}
	g.under.wait(ctx)
	err := g.lines.close(ctx)
	g.under.wait(late) // those broken off are still told
	beside.Wait()
	return errors.Join(err, own)
}

// outlast is a context that ends so long after another.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		end := time.AfterFunc(by, cancel)
		context.AfterFunc(late, func() { end.Stop() })
	})
	return late, func() {
		stop()
		cancel()
	}
}
