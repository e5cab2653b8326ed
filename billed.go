package flotilla

import (
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// billed is what an answer has cost by its usage, and the usage that is gone by.
// A call's worst case bounds both by construction: every byte of its text a
// token, all of its max_tokens written, each at its dearest price. What says more
// cannot be right, and one such figure would close a cap, or a day's limit, for
// all calls that follow. So no more is believed than the worst case pays, which
// is never below what may be billed; beyond is what was said, 0 where it could
// be. worst 0 bounds nothing.
func billed(m price.Model, said price.Usage, worst Money) (u price.Usage, cost, beyond Money) {
	cost = m.Cost(said)
	if worst <= 0 || cost <= worst {
		return said, cost, 0
	}
	u = said
	part := float64(worst) / float64(cost)
	for _, n := range [...]*int64{&u.Input, &u.CacheWrite5m, &u.CacheWrite1h, &u.CacheRead, &u.Output} {
		*n = int64(float64(max(*n, 0)) * part)
	}
	return u, worst, cost
}

// bound is the worst case of a row as billed goes by it: none, where a tool is
// billed per use, or reads as much as it likes.
func (r *Row) bound() Money {
	if r.Facts.Metered != "" {
		return 0
	}
	return r.Facts.Worst
}

// tellBeyond tells people of usage that cannot be right, of one lane once an hour:
// whoever says it once says it of every call.
func (f *Fleet) tellBeyond(now time.Duration, l *laneState, beyond Money) {
	if beyond == 0 || l.told != 0 && now-l.told < time.Hour {
		return
	}
	l.told = max(now, 1)
	f.notify(Notice{At: f.clock.wall(now), Kind: UsageBeyond, Org: l.org.Name, Pool: l.pool.name, Value: beyond.Float()})
}
