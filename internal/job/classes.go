package job

import (
	"math"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Class is what the calls of one model have in common that are still to be
// sent: what a forecast is made from. Calls in batches that run already are not
// among them.
type Class struct {
	Model, Pool, Family string

	Rows  int // calls
	Alone int // of them, those that no batch may carry

	In, InDev float64 // estimated input tokens: mean and standard deviation
	MaxTokens float64 // mean
	Bytes     float64 // mean size in the create of a batch
	Out       float64 // expected output tokens, mean
	OutP95    float64 // 95th percentile; 0: unknown
	OutSource OutSource
	OutRows   int64 // answers that OutSource goes by; 0: it is none of answers

	// Prefix is how many tokens of a call, on average, end at a cache_control mark
	// and are enough for a cache; Prefixes how many different beginnings there are;
	// 0: nothing is marked.
	Prefix   float64
	Prefixes int
	Hour     bool // they are kept for an hour, not for five minutes

	Expected flotilla.Money // of all, by sync, each beginning written to a cache once
	Worst    flotilla.Money // of all, by sync
}

// classSum gathers a class.
type classSum struct {
	load
	alone     int
	inSquares float64
	sync      flotilla.Money // worst case by sync
	kind      int            // one of its kinds
}

func (c *classSum) mean(sum int64) float64 { return float64(sum) / float64(c.rows) }

// classes sums the calls that are to be sent, model by model in the order of
// their first rows.
func (r *Run) classes(pending func(call int) bool) (out []Class) {
	at := make([]int, len(r.x.kinds)) // place in sums, of a kind
	models := map[string]int{}
	var sums []classSum
	for i, k := range r.x.kinds {
		if _, ok := models[k.model]; !ok {
			models[k.model] = len(sums)
			sums = append(sums, classSum{kind: i})
		}
		at[i] = models[k.model]
	}
	for call := range r.limit {
		if pending(call) {
			sums[at[r.x.row(call).kind]].count(r.factsOf(call), r.sizeOf(call))
		}
	}
	for i := range sums {
		if sums[i].rows > 0 {
			out = append(out, r.class(&sums[i]))
		}
	}
	return out
}

func (c *classSum) count(f flotilla.Facts, bytes int64) {
	c.add(load{rows: 1, bytes: bytes, in: int64(f.In), room: int64(f.MaxTokens)})
	c.inSquares += float64(f.In) * float64(f.In)
	c.sync += f.Worst
	if f.Alone {
		c.alone++
	}
}

func (r *Run) class(c *classSum) Class {
	k := &r.x.kinds[c.kind]
	k2 := Class{
		Model: k.model, Pool: k.pool, Family: k.family, Rows: c.rows, Alone: c.alone,
		In: c.mean(c.in), MaxTokens: c.mean(c.room), Bytes: c.mean(c.bytes), Worst: c.sync,
	}
	k2.InDev = math.Sqrt(max(c.inSquares/float64(c.rows)-k2.In*k2.In, 0))
	l := r.lengths.of(k.model, k2.MaxTokens)
	k2.Out, k2.OutP95, k2.OutSource, k2.OutRows = l.mean, l.p95, l.source, l.rows
	k2.Expected = c.sync
	if m, ok := r.cfg.Prices.Lookup(k.model); ok {
		one := m.Cost(price.Usage{Input: int64(k2.In + .5), Output: int64(k2.Out + .5)})
		k2.Expected = min(one*flotilla.Money(c.rows), c.sync)
	}
	return k2
}

// forecast sums what the calls of a run will take: at worst, and as expected.
func (r *Run) forecast(pending func(call int) bool) {
	p := &r.plan
	p.Classes, p.Worst, p.Expected, p.Tokens = r.classes(pending), 0, 0, 0
	r.caching()
	for i := range p.Classes {
		c := &p.Classes[i]
		p.Worst += c.Worst
		p.Expected += c.Expected
		p.Tokens += int64(c.In*float64(c.Rows) + .5)
	}
}

// factsOf are the facts of the body that a call would be sent with.
func (r *Run) factsOf(call int) flotilla.Facts {
	if r.src != nil {
		return r.src.row(call).Facts
	}
	return r.x.facts(r.x.row(call))
}

// sizeOf is what that body takes in a create.
func (r *Run) sizeOf(call int) int64 {
	if r.src != nil {
		return r.src.weight(call).bytes
	}
	return itemSize("", call, int(r.x.row(call).size))
}
