package job

import (
	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// guessedShare is how much of max_tokens an answer is taken to use where
// nothing is known of it: a guess on the high side, and said as such.
const guessedShare = 0.6

// forecast sums what the calls of a run will cost: at worst, and as expected.
func (r *Run) forecast(pending func(call int) bool) {
	type sums struct{ n, in, room int64 }
	byKind := make([]sums, len(r.x.kinds))
	r.plan.Worst, r.plan.Expected, r.plan.Tokens = 0, 0, 0
	for call := range r.limit {
		if !pending(call) {
			continue
		}
		f := r.factsOf(call)
		k := &byKind[r.x.row(call).kind]
		k.n, k.in, k.room = k.n+1, k.in+int64(f.In), k.room+int64(f.MaxTokens)
		r.plan.Worst += f.Worst
		r.plan.Tokens += int64(f.In)
	}
	for i, k := range byKind {
		m, ok := r.cfg.Prices.Lookup(r.x.kinds[i].model)
		if !ok || k.n == 0 {
			continue
		}
		room := float64(k.room) / float64(k.n)
		out := room * guessedShare
		if mean := float64(r.x.kinds[i].out); mean > 0 {
			out = min(mean, room)
		}
		one := m.Cost(price.Usage{Input: k.in / k.n, Output: int64(out)})
		r.plan.Expected += one * flotilla.Money(k.n)
	}
	r.plan.Expected = min(r.plan.Expected, r.plan.Worst)
}

// factsOf are the facts of the body that a call would be sent with.
func (r *Run) factsOf(call int) flotilla.Facts {
	if r.src != nil {
		return r.src.row(call).Facts
	}
	return r.x.facts(r.x.row(call))
}
