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
		e := r.x.row(call)
		k := &byKind[e.kind]
		k.n, k.in, k.room = k.n+1, k.in+int64(e.in), k.room+int64(e.maxTokens)
		r.plan.Worst += e.worst
		r.plan.Tokens += int64(e.in)
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
