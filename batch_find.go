package flotilla

import (
	"cmp"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// clockSlack is how far the provider's clock may be from ours when a batch is
// looked for by its time.
const clockSlack = 2 * time.Minute

// findBatch looks for a batch whose create may have been carried out.
func (f *Fleet) findBatch(_ time.Duration, a *sched.FindBatch) {
	b := f.batches[a.Batch]
	if b == nil {
		return
	}
	if b.provider != "" { // another's results gave it away
		f.inbox.put(message{run: func(now time.Duration) { f.looked(now, b, nil, false) }})
		return
	}
	org, since := b.org, b.at.Add(b.org.skew-clockSlack)
	f.beside(func() func(time.Duration) {
		list, ok := f.listBatches(f.ctx, org, since)
		return func(now time.Duration) { f.looked(now, b, list, ok) }
	})
}

// looked takes in a listing that was made for a batch.
func (f *Fleet) looked(now time.Duration, b *batch, list []wire.Batch, ok bool) {
	if f.batches[b.id] == nil {
		return
	}
	if b.provider != "" {
		f.made(now, b, b.provider, b.sure)
		return
	}
	id, contested := f.match(b, list)
	if id != "" {
		f.made(now, b, id, false)
		return
	}
	// In a listing that broke off, what is not there may be on a later page; and
	// what another batch is taken for, or will be, may be this one.
	f.step(now, &sched.BatchAbsent{Batch: b.id, Asked: ok && !contested && !f.maybeTaken(b)})
}

// maybeTaken reports whether a batch of b's size was taken for another one that
// it is not proven to be.
func (f *Fleet) maybeTaken(b *batch) bool {
	for _, o := range f.batches {
		if o != b && o.org == b.org && o.sent == b.sent && o.provider != "" && !o.sure && !slices.Contains(b.foreign, o.provider) {
			return true
		}
	}
	return false
}

// match is the batch of a listing that b is taken for: where several fit, or
// one fits several that are looked for, they go together by the order of their
// creation. Which one it is its results will prove. contested says that some
// fit, and none is left for b.
func (f *Fleet) match(b *batch, list []wire.Batch) (id string, contested bool) {
	var fitting []*wire.Batch
	for i := len(list) - 1; i >= 0; i-- { // oldest first
		if c := &list[i]; b.fits(c) && !b.org.known[c.ID] {
			fitting = append(fitting, c)
		}
	}
	slices.SortStableFunc(fitting, func(a, b *wire.Batch) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, rival := range f.lookedFor(b) {
		i := slices.IndexFunc(fitting, rival.fits)
		switch {
		case i < 0:
		case rival == b:
			return fitting[i].ID, false
		default:
			contested = contested || b.fits(fitting[i])
			fitting = slices.Delete(fitting, i, i+1)
		}
	}
	return "", contested
}

// lookedFor are the batches of b's org and size, b among them, whose creates
// are in doubt, in the order of their creation.
func (f *Fleet) lookedFor(b *batch) []*batch {
	var all []*batch
	for _, o := range f.batches {
		if o.org == b.org && o.sent == b.sent && o.provider == "" && !o.unmade && !o.under {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *batch) int { return cmp.Compare(a.number, b.number) })
	return all
}

// fits reports whether a listed batch can be b by its size, its time and what
// is known of it.
func (b *batch) fits(c *wire.Batch) bool {
	created := c.CreatedAt.Add(-b.org.skew)
	return c.Rows() == int64(b.sent) && !slices.Contains(b.foreign, c.ID) &&
		!created.Before(b.at.Add(-clockSlack)) && (b.latest.IsZero() || !created.After(b.latest.Add(clockSlack)))
}
