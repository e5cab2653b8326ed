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
		f.inbox.put(message{run: func(now time.Duration) { f.made(now, b, b.provider, b.sure) }})
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
	if id := f.match(b, list); id != "" {
		f.made(now, b, id, false)
		return
	}
	// In a listing that broke off, what is not there may be on a later page.
	f.step(now, &sched.BatchAbsent{Batch: b.id, Asked: ok})
}

// match is the batch of a listing that b is taken for: where several fit, or
// one fits several that are looked for, they go together by the order of their
// creation. Which one it is its results will prove.
func (f *Fleet) match(b *batch, list []wire.Batch) string {
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
			return fitting[i].ID
		default:
			fitting = slices.Delete(fitting, i, i+1)
		}
	}
	return ""
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
