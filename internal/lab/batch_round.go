package lab

import (
	"context"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// desk is where batches are handed in and looked after: a Bench, or in tests
// the model of an emulator.
type desk interface {
	now() time.Time // by the provider's clock
	until(ctx context.Context, at time.Time) error
	// create is done once for a key, over restarts too; made tells.
	create(ctx context.Context, key string, l *lot) (wire.Batch, error)
	made(key string) bool
	cancel(ctx context.Context, org, id string) error
	poll(ctx context.Context, org, id string) (wire.Batch, error)
	// list gives an org's batches, newest first, until each says no.
	list(ctx context.Context, org string, each func(wire.Batch) bool) error
	// collect reads the results of an ended batch, which settles what it cost.
	collect(ctx context.Context, org, id string) (BatchCounts, error)
	// keep writes a time down for a later invocation; kept reads it.
	keep(key string, at time.Time) error
	kept(key string) (at time.Time, ok bool, err error)
	width() int // creates under way at once
}

// round are lots that are sent and looked at together.
type round struct {
	Name string
	Lots []lot
	// Stall is how long nothing may end before all lots that are not to be
	// looked at are canceled; 0: for as long as their Cut.
	Stall time.Duration
}

// seen is what a round showed.
type seen struct {
	Began   time.Time        `json:"began"`
	Lots    []outcome        `json:"lots"`
	Others  map[string]int64 `json:"others,omitempty"`  // most rows of colleagues' batches in an org's queue
	Stalled bool             `json:"stalled,omitempty"` // it was given up
	// Doubt is how many creates nothing was heard of: what they may have made is
	// not known to be ours, and is left alone.
	Doubt int `json:"doubt,omitempty"`
	// Late says that an interruption fell into it so that it shows nothing: it
	// has to be done again.
	Late bool `json:"late,omitempty"`
}

// of are the outcomes whose names begin with a word.
func (s *seen) of(word string) []outcome { return named(s.Lots, word) }

// pollEvery is how often open batches are looked at. Times come from the
// server, so that nothing but the wait for the last one depends on it.
const pollEvery = 30 * time.Second

// grace is by how much a rerun may be late with what an interrupted round had
// to do.
const grace = 3 * time.Minute

// mostTries is how often a call about one batch is repeated, a poll apart.
const mostTries = 30

// carry sends a round's lots and sees each to its end. What an earlier
// invocation had created it goes on with. An error other than ctx's comes when
// everything in flight was canceled and collected.
func carry(ctx context.Context, d desk, r *round) (seen, error) {
	t := &turn{d: d, round: r, others: map[string]int64{}}
	if err := t.begin(); err != nil {
		return seen{}, err
	}
	for {
		if err := t.step(ctx); err != nil {
			return seen{}, err
		}
		if t.over() {
			return t.seen(), t.failed
		}
		if err := d.until(ctx, t.next()); err != nil {
			return seen{}, err
		}
	}
}

// turn is a round under way.
type turn struct {
	d       desk
	round   *round
	began   time.Time
	slots   []slot
	others  map[string]int64
	moved   time.Time // last creation or end
	stalled bool
	late    bool
	doubt   int
	failed  error // why nothing more is sent and all is given up
}

// slot is a lot under way.
type slot struct {
	*lot
	key   string
	state slotState
	batch wire.Batch
	out   outcome
	tries int
	asked bool // canceled by this invocation
}

type slotState uint8

const (
	waiting slotState = iota // to be created
	open                     // created, as far as is known not ended
	ended                    // results not read yet
	closed
	dropped // never created
)

func (t *turn) begin() error {
	key := "began " + t.round.Name
	at, resumed, err := t.d.kept(key)
	if err != nil {
		return err
	}
	if !resumed {
		at = t.d.now()
		if err := t.d.keep(key, at); err != nil {
			return err
		}
	}
	t.began, t.moved = at, t.d.now()
	for i := range t.round.Lots {
		l := &t.round.Lots[i]
		t.slots = append(t.slots, slot{lot: l, key: t.round.Name + "/" + l.Name})
	}
	if resumed {
		t.late = slices.ContainsFunc(t.slots, t.missed)
	}
	return nil
}

// missed says that an interruption took what a lot is for: it was not created
// in time, or not looked at.
func (t *turn) missed(s slot) bool {
	age := t.d.now().Sub(t.began.Add(s.At))
	if t.d.made(s.key) {
		return s.Looked && age > s.Cut+grace
	}
	return age > grace
}

func (t *turn) over() bool {
	return !slices.ContainsFunc(t.slots, func(s slot) bool { return s.state != closed && s.state != dropped })
}

// next is when there is something to do.
func (t *turn) next() time.Time {
	now := t.d.now()
	at := now.Add(pollEvery)
	for i := range t.slots {
		s := &t.slots[i]
		due := time.Time{}
		switch {
		case s.state == waiting && s.tries == 0:
			due = t.began.Add(s.At)
		case s.state == open && !s.asked:
			due = t.cutAt(s)
		default:
			continue
		}
		if due.After(now) && due.Before(at) {
			at = due
		}
	}
	return at
}

func (t *turn) seen() seen {
	out := seen{Began: t.began, Stalled: t.stalled, Late: t.late, Others: t.others, Doubt: t.doubt}
	for i := range t.slots {
		if t.slots[i].state == closed {
			out.Lots = append(out.Lots, t.slots[i].out)
		}
	}
	return out
}
