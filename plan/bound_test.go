package plan

import (
	"math"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// bounds is facts/control.md C.1 written down slowly, a twin of the fast one
// that forecasts use: the least time in which a job can end, pooled over orgs.
type bounds struct {
	orgs   []supply
	demand [3]float64 // requests, input, output
	sum    float64    // seconds: of all latencies
	least  float64    // the shortest
	most   float64    // the longest
}

// supply is what one org can give.
type supply struct {
	at     [3]float64 // level at the start
	refill [3]float64 // per second
	others [3]float64 // what colleagues use of it, per second
	cap    float64
	// An additive ceiling on input: the first minute's tokens and what each
	// following minute adds; 0: none.
	first, step float64
}

// boundsOf is for a job alone over all orgs of a scenario, from full buckets,
// with the latencies and tokens it realised.
func boundsOf(sc *emulator.Scenario, cap int, o *Outcome) bounds {
	b := bounds{
		demand: [3]float64{float64(o.Succeeded), float64(o.Input), float64(o.Output)},
		sum:    o.Latency.Seconds(), least: o.MinLatency.Seconds(), most: o.MaxLatency.Seconds(),
	}
	for i := range sc.Orgs {
		org := &sc.Orgs[i]
		s := supply{cap: float64(cap), others: othersUse(org)}
		kappa := org.Capacity
		if kappa == 0 {
			kappa = 1
		}
		for d, l := range [3]int64{org.Limits.Requests, org.Limits.Input, org.Limits.Output} {
			s.at[d], s.refill[d] = kappa*float64(l), float64(l)/60
			if l == 0 {
				s.at[d] = math.Inf(1)
			}
		}
		if org.Hidden > 0 { // it holds less than what is stored at the start
			s.at[0] = min(s.at[0], s.refill[0]*org.Hidden.Seconds())
		}
		if org.Acceleration.Kind == "additive" {
			s.first, s.step = additive(org)
		}
		b.orgs = append(b.orgs, s)
	}
	return b
}

// othersUse is the mean use of an org's colleagues, per second.
func othersUse(o *emulator.Org) (use [3]float64) {
	for _, c := range o.Colleagues {
		if c.In == 0 {
			c.In, c.Out = 2_000, 60
		}
		perSecond := c.Share * float64(o.Limits.Input) / 60 / float64(c.In)
		if c.Kind == "burst" {
			perSecond = float64(c.Requests) / c.Every.Seconds()
		}
		use[0] += perSecond
		use[1] += perSecond * float64(c.In)
		use[2] += perSecond * float64(c.Out)
	}
	return use
}

// additive is an org's ceiling, with the emulator's defaults.
func additive(o *emulator.Org) (first, step float64) {
	first, step = o.Acceleration.First, float64(o.Acceleration.Step)
	if first == 0 {
		first = 0.1
	}
	if step == 0 {
		step = 10_000
	}
	return first * float64(o.Limits.Input), step
}

// ceiling is the most that growth limits let pass up to t, each minute's share
// being there at its start.
func (s *supply) ceiling(t float64) float64 {
	sum := 0.0
	for m := range int(t/60) + 1 {
		sum += min(60*s.refill[1], s.first+s.step*float64(m))
	}
	return sum
}

// manners are what T_P grants that T_LB does not.
type manners struct {
	soft  float64                 // share of the buckets left to others
	ramp  bool                    // the polite ramp: a quarter of the cap, doubled every 30 s
	storm func(t float64) float64 // seconds up to t lost to storms; nil: none
}

var physical manners

// polite is the default's manners.
var polite = manners{soft: 0.1, ramp: true}

// slots is the integral of the cap up to t.
func (s *supply) slots(m *manners, t float64) float64 {
	if !m.ramp {
		return s.cap * t
	}
	return s.cap * (0.25*min(t, 30) + 0.5*max(0, min(t-30, 30)) + max(0, t-60))
}

// given is what dimension d of an org gives up to t.
func (s *supply) given(m *manners, d int, t float64) float64 {
	if t < 0 {
		return 0
	}
	// What the soft floor keeps is relative to the capacity.
	got := max(0, s.at[d]*(1-m.soft)+(s.refill[d]-s.others[d])*t)
	if d == 1 && s.first > 0 {
		got = min(got, s.ceiling(t))
	}
	return got
}

// feasible reports whether a job could have ended by t.
func (b *bounds) feasible(m *manners, t float64) bool {
	if t < b.most {
		return false
	}
	if m.storm != nil {
		t -= m.storm(t)
	}
	slots := 0.0
	var got [3]float64
	for i := range b.orgs {
		s := &b.orgs[i]
		slots += s.slots(m, t)
		got[0] += s.given(m, 0, t-b.least)
		got[1] += s.given(m, 1, t-b.least)
		got[2] += s.given(m, 2, t) // output is charged while it is produced
	}
	return slots >= b.sum && got[0] >= b.demand[0] && got[1] >= b.demand[1] && got[2] >= b.demand[2]
}

// time is the least t, by bisection.
func (b *bounds) time(m manners) float64 {
	lo, hi := 0.0, 1.0
	for !b.feasible(&m, hi) {
		hi *= 2
	}
	for range 60 {
		if mid := (lo + hi) / 2; b.feasible(&m, mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// eff is T_LB over the makespan, effP is T_P over it.
func (b *bounds) eff(o *Outcome) float64 { return b.time(physical) / o.Makespan().Seconds() }

func (b *bounds) effP(o *Outcome, m manners) float64 { return b.time(m) / o.Makespan().Seconds() }

// One key and constant supply have a closed form (C.1).
func TestBoundClosedForm(t *testing.T) {
	sc := world(one(startTier))
	o := &Outcome{
		Succeeded: 10_000, Input: 8_000_000, Output: 200_000,
		Latency: 9000 * time.Second, MinLatency: 300 * time.Millisecond, MaxLatency: 4 * time.Second,
	}
	b := boundsOf(&sc, 100, o)
	want := (10_000-1_000)/(1_000.0/60) + 0.3
	if got := b.time(physical); math.Abs(got-want) > 1e-6 {
		t.Errorf("bound by requests %.6f, want %.6f", got, want)
	}
	// A soft floor of a tenth of a minute's bucket costs six seconds.
	if got := b.time(manners{soft: 0.1}); math.Abs(got-want-6) > 1e-6 {
		t.Errorf("polite bound %.6f, want %.6f", got, want+6)
	}
	o.Latency = 100_000 * time.Second
	b = boundsOf(&sc, 100, o)
	if got := b.time(physical); math.Abs(got-1000) > 1e-6 {
		t.Errorf("bound by slots %.6f, want 1000", got)
	}
	// The polite ramp loses 22.5 + 15 s of all slots.
	if got := b.time(manners{ramp: true}); math.Abs(got-1037.5) > 1e-6 {
		t.Errorf("ramped bound %.6f, want 1037.5", got)
	}
}
