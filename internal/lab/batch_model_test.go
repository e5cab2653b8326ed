package lab

import (
	"context"
	"strconv"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// modelDesk hands batches in to an emulator's model, on virtual time. What it
// shows is what the API shows.
type modelDesk struct {
	m       *emulator.Model
	at      time.Duration
	keys    map[string]*emulator.Batch
	times   map[string]time.Time
	arrival emulator.Arrival
}

func newModelDesk(sc emulator.Scenario, seed uint64, start time.Time) *modelDesk {
	haiku, _ := emulator.ModelIndex("claude-haiku-4-5")
	return &modelDesk{
		m: emulator.NewModel(sc, seed, start), keys: map[string]*emulator.Batch{}, times: map[string]time.Time{},
		arrival: emulator.Arrival{Model: haiku, Est: 25, In: 25, MaxTokens: 4, Out: 4},
	}
}

func (d *modelDesk) now() time.Time { return d.m.Start().Add(d.at) }

func (d *modelDesk) until(ctx context.Context, at time.Time) error {
	d.at = max(d.at, at.Sub(d.m.Start()))
	return ctx.Err()
}

func (d *modelDesk) create(_ context.Context, key string, l *lot) (wire.Batch, error) {
	if b := d.keys[key]; b != nil {
		return d.shown(b), nil
	}
	org, _ := d.m.OrgIndex(l.Org)
	b, refused := d.m.Submit(d.at, org, l.Rows, 1, func(i int) emulator.Arrival {
		a := d.arrival
		a.Org = org
		return a
	})
	if b == nil {
		return wire.Batch{}, &BatchRefusedError{Status: refused.Status, Refusal: wire.Refusal{Class: wire.QueueFull}}
	}
	d.keys[key] = b
	return d.shown(b), nil
}

func (d *modelDesk) shown(b *emulator.Batch) wire.Batch {
	at := func(t time.Duration) time.Time {
		if t == emulator.Never {
			return time.Time{}
		}
		return d.m.Start().Add(t)
	}
	c := b.Counts(d.at)
	out := wire.Batch{
		ID: b.ID, Status: wire.BatchInProgress, CreatedAt: at(b.Created), ExpiresAt: at(b.Expires),
		CancelInitiatedAt: at(b.CancelAt), EndedAt: at(b.EndedAt),
		Processing: c.Processing, Succeeded: c.Succeeded, Errored: c.Errored, Canceled: c.Canceled, Expired: c.Expired,
	}
	if b.Status(d.at) == emulator.Ended {
		out.Status = wire.BatchEnded
	}
	return out
}

func (d *modelDesk) made(key string) bool { return d.keys[key] != nil }

func (d *modelDesk) find(org, id string) *emulator.Batch {
	i, _ := d.m.OrgIndex(org)
	return d.m.BatchByID(d.at, i, id)
}

func (d *modelDesk) cancel(_ context.Context, org, id string) error {
	d.m.CancelBatch(d.at, d.find(org, id))
	return nil
}

func (d *modelDesk) poll(_ context.Context, org, id string) (wire.Batch, error) {
	return d.shown(d.find(org, id)), nil
}

func (d *modelDesk) list(_ context.Context, org string, each func(wire.Batch) bool) error {
	i, _ := d.m.OrgIndex(org)
	for _, b := range d.m.Batches(d.at, i) {
		if !each(d.shown(b)) {
			return nil
		}
	}
	return nil
}

func (d *modelDesk) collect(_ context.Context, org, id string) (BatchCounts, error) {
	b := d.shown(d.find(org, id))
	return BatchCounts{Succeeded: int(b.Succeeded), Errored: int(b.Errored), Canceled: int(b.Canceled), Expired: int(b.Expired)}, nil
}

func (d *modelDesk) keep(key string, at time.Time) error { d.times[key] = at; return nil }

func (d *modelDesk) kept(key string) (time.Time, bool, error) {
	at, ok := d.times[key]
	return at, ok, nil
}

func (d *modelDesk) width() int { return 1 }

func orgNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, "org"+strconv.Itoa(i))
	}
	return names
}
