package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// lines holds a line of the fleet for each client and priority, opened with its
// first call and kept: a client that comes and goes finds its place again.
type lines struct {
	mu     sync.RWMutex
	open   map[lineKey]*place
	closed bool
}

type lineKey struct {
	client   string
	priority flotilla.Priority
	weight   float64
}

// place is a line that is being opened, or open.
type place struct {
	line    atomic.Pointer[flotilla.Line] // nil: not open yet
	opening chan struct{}                 // holds a token while somebody opens or closes it
	job     *journal.Job                  // nil without a journal
	closed  bool                          // it is not opened any more
}

// line is the line of a caller at one priority.
func (g *Gateway) line(ctx context.Context, c Caller, p flotilla.Priority) (*flotilla.Line, error) {
	at, err := g.lines.place(lineKey{c.Name, p, c.Weight})
	if err != nil {
		return nil, err
	}
	if line := at.line.Load(); line != nil {
		return line, nil
	}
	select {
	case at.opening <- struct{}{}:
		defer func() { <-at.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch {
	case at.closed:
		return nil, flotilla.ErrClosed
	case at.line.Load() == nil:
		// A caller that goes away meanwhile does not take it from the next one.
		if err := g.openLine(context.WithoutCancel(ctx), at, c, p); err != nil {
			return nil, fmt.Errorf("opening the line of %s: %w", c.Name, err)
		}
	}
	return at.line.Load(), nil
}

func (l *lines) place(k lineKey) (*place, error) {
	l.mu.RLock()
	at := l.open[k]
	l.mu.RUnlock()
	if at != nil {
		return at, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, flotilla.ErrClosed
	}
	if at = l.open[k]; at == nil {
		at = &place{opening: make(chan struct{}, 1)}
		l.open[k] = at
	}
	return at, nil
}

// openLine opens a line and the job that its records belong to.
func (g *Gateway) openLine(ctx context.Context, at *place, c Caller, p flotilla.Priority) (err error) {
	opt := flotilla.LineOptions{
		Name: c.Name, Priority: p, Weight: c.Weight, Keep: g.cfg.Cache,
		Pots: append([]*flotilla.Pot(nil), g.cfg.Pots...),
	}
	if g.cfg.PotsOf != nil {
		own, err := g.cfg.PotsOf(ctx, c)
		if err != nil {
			return err
		}
		opt.Pots = append(opt.Pots, own...)
	}
	if g.cfg.Journal != nil && at.job == nil {
		if at.job, err = g.beginJob(ctx, c, p); err != nil {
			return err
		}
	}
	if at.job != nil {
		opt.Job = at.job.ID
		if opt.FirstRow, err = at.job.NextRow(ctx); err != nil {
			return err
		}
		if g.cfg.PurseOf != nil {
			opt.Purse = g.cfg.PurseOf(opt.Job)
		}
	}
	line, err := g.cfg.Fleet.Line(ctx, opt)
	if err == nil {
		at.line.Store(line)
	}
	return err
}

// maxProcesses bounds the search for a job that no other process has.
const maxProcesses = 1000

// beginJob takes the job of a client's calls at one priority. Where another
// process has it, the next number is another job.
func (g *Gateway) beginJob(ctx context.Context, c Caller, p flotilla.Priority) (*journal.Job, error) {
	for n := range maxProcesses {
		job, err := g.cfg.Journal.Begin(ctx, journal.JobSpec{
			Identity: g.identity(c.Name, p.String(), strconv.Itoa(n)),
			Provider: g.cfg.Provider, Emulated: g.cfg.Emulated,
			Kind: journal.KindServe, Client: c.Name,
			Command: "serve: " + c.Name + ", " + p.String(),
		})
		var held *journal.HeldError
		if !errors.As(err, &held) {
			return job, err
		}
	}
	return nil, fmt.Errorf("%d processes serve %s on this journal", maxProcesses, c.Name)
}

// identity is that of a job of the gateway's.
func (g *Gateway) identity(parts ...string) [32]byte {
	h := sha256.New()
	for _, p := range append([]string{"flotilla serve 1", g.cfg.Provider}, parts...) {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p) // lengths keep the parts apart
	}
	return [32]byte(h.Sum(nil))
}

// lastDrain is how long lines may take to end what the requests before left
// behind: their cost is written, no more.
const lastDrain = 2 * time.Second

// close ends all lines and gives their jobs back. What is still under way when
// ctx has ended is broken off.
func (l *lines) close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	open := l.open
	l.open = map[lineKey]*place{}
	l.mu.Unlock()
	drain := lastDrain
	if ctx.Err() != nil {
		drain = 0
	}
	errs := make(chan error)
	for _, at := range open {
		go func() { errs <- at.close(drain) }()
	}
	var all []error
	for range open {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func (at *place) close(drain time.Duration) error {
	at.opening <- struct{}{}
	defer func() { <-at.opening }()
	at.closed = true
	var err error
	if line := at.line.Load(); line != nil {
		err = line.Close(drain)
	}
	if at.job != nil {
		err = errors.Join(err, at.job.End(context.Background(), journal.Finished, nil))
	}
	return err
}
