package plan

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/route"
)

// problem is what route is told of the same job.
func (b *bounds) problem() route.Problem {
	p := route.Problem{Work: route.Work{
		Requests: b.demand[0], Input: b.demand[1], Output: b.demand[2],
		Latency: span(b.sum), Shortest: span(b.least), Longest: span(b.most),
	}}
	for i := range b.orgs {
		s := &b.orgs[i]
		l := route.Lane{Cap: int(s.cap), First: s.first, Step: s.step}
		for d := range s.at {
			if !math.IsInf(s.at[d], 1) {
				l.PerMinute[d], l.Capacity[d], l.Others[d] = 60*s.refill[d], s.at[d], s.others[d]
			}
		}
		p.Lanes = append(p.Lanes, l)
	}
	return p
}

func span(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// The slow bounds here and the fast ones of route are the same function.
func TestBoundsAgreeWithRoute(t *testing.T) {
	for i := range uint64(2_000) {
		rng := rand.New(rand.NewPCG(i, 77))
		sc, _ := randomWorld(rng)
		w := randomWork(rng, &sc)
		n := between(rng, 1, 200_000)
		shortest := between(rng, .2, 5)
		mean := shortest * between(rng, 1, 4)
		o := &Outcome{
			Succeeded: int(n), Input: int64(n * float64(w.in)), Output: int64(n * float64(w.out)),
			Latency: span(mean * n), MinLatency: span(shortest), MaxLatency: span(mean * between(rng, 1, 10)),
		}
		b := boundsOf(&sc, 1+rng.IntN(120), o)
		physicalBound, politeBound := route.SyncBound(b.problem())
		for _, c := range []struct {
			name string
			slow float64
			fast route.Bound
		}{{"physical", b.time(physical), physicalBound}, {"polite", b.time(polite), politeBound}} {
			if got := c.fast.Time.Seconds(); math.Abs(got-c.slow) > 1e-6+1e-9*c.slow {
				t.Fatalf("world %d: the %s bound is %.9f s by route (%v), %.9f s slowly", i, c.name, got, c.fast.Limit, c.slow)
			}
		}
	}
}
