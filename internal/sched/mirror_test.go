package sched

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// bench is a bucket with a little language: sends and headers at given seconds.
type bench struct {
	t    *testing.T
	b    bucket
	now  time.Duration
	sent []attempt
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, b: newBucket(usual)}
}

func (x *bench) at(s float64) *bench {
	now := span(s)
	dt := secs(now - x.now)
	x.b.advance(dt, math.Exp(-dt/colFade), 0, true, false)
	x.now = now
	return x
}

// send debits w and gives the number of the attempt, from 1.
func (x *bench) send(w float64) *bench {
	x.b.debit(w)
	a := attempt{id: AttemptID(len(x.sent) + 1), sent: x.now}
	a.cum[Input] = x.b.cum
	x.sent = append(x.sent, a)
	return x
}

func (x *bench) headers(id int, limit, rem, reset float64) *bench {
	a := &x.sent[id-1]
	x.b.read(a, x.now, Input, limit, rem, span(reset), a.cum[Input])
	return x
}

func (x *bench) want(what string, got, want, within float64) *bench {
	x.t.Helper()
	if math.Abs(got-want) > within {
		x.t.Errorf("at %v %s is %v, want %v", x.now, what, got, want)
	}
	return x
}

// TestMirrorCarriesForward: a reading is as old as its request; what refilled
// and what we sent since is added to it (facts/control.md B.2.3).
func TestMirrorCarriesForward(t *testing.T) {
	x := newBench(t)
	x.at(0).send(10_000).at(1).send(20_000).at(4).send(30_000).at(5)
	x.headers(1, 600_000, 500_000, 10) // 10,000 a second
	x.want("level", x.b.lvl, 500_000-rounded+5*10_000-50_000, 1)
	x.headers(2, 600_000, 400_000, 20)
	x.want("level", x.b.lvl, 400_000-rounded+4*10_000-30_000, 1)
}

// TestMirrorIgnoresOldReadings: one that was overtaken neither raises nor lowers.
func TestMirrorIgnoresOldReadings(t *testing.T) {
	x := newBench(t)
	x.at(0).send(1000).at(1).send(1000).at(2)
	x.headers(2, 600_000, 300_000, 30)
	lvl := x.b.lvl
	x.headers(1, 600_000, 599_000, 1).want("level", x.b.lvl, lvl, 0)
	x.headers(1, 600_000, 1_000, 59).want("level", x.b.lvl, lvl, 0)
}

// TestCapacity tells a small bucket (little left, full at once) from a used one
// (B.2.4). Soft floor and pace hang on the capacity, not on the limit: measured
// against the limit they starved small buckets to a sixth of their rate.
func TestCapacity(t *testing.T) {
	small := newBench(t)
	small.at(0).send(0).at(0.5).headers(1, 600_000, 60_000, 0)
	small.want("capacity", small.b.cap, 70_000, 1)
	if u := small.b.pace(false); u < small.b.r {
		t.Errorf("a full bucket of a tenth of a minute is paced at %v of its refill", u/small.b.r)
	}
	used := newBench(t)
	used.at(0).send(0).at(0.5).headers(1, 600_000, 60_000, 54)
	used.want("capacity", used.b.cap, 600_000, 1)
}

// TestColleagueFades: the estimate of what others use is for extrapolation, and
// an old one must fade. Where it did not, a level that never rose let nothing
// through, nothing was learned, and two processes that started together stood
// still for ever.
func TestColleagueFades(t *testing.T) {
	x := newBench(t)
	for i := range 20 { // others take more than the refill
		x.at(float64(3*i)).send(0).at(float64(3*i)+0.1).headers(i+1, 600_000, max(1000, 600_000-float64(40_000*i)), 30)
	}
	if x.b.col < 0.9*x.b.r {
		t.Fatalf("others use %v of %v a second", x.b.col, x.b.r)
	}
	low := x.b.lvl
	x.at(62)
	if x.b.lvl > low+0.5*x.b.r*5 {
		t.Errorf("level rose from %v to %v while others were just seen", low, x.b.lvl)
	}
	x.at(120)
	if x.b.lvl < 0.5*x.b.cap {
		t.Errorf("a minute later the level is believed to be %v", x.b.lvl)
	}
}

// TestColleaguesAreSeen: a steady use by others shows in the estimate, none does not.
func TestColleaguesAreSeen(t *testing.T) {
	for _, others := range []float64{0, 4000} {
		x := newBench(t)
		lvl, own := 600_000.0, 7000.0
		for i := range 40 {
			x.at(float64(i)).send(own)
			lvl = min(600_000, lvl+10_000-others) - own
			x.at(float64(i)+0.2).headers(i+1, 600_000, math.Round(lvl/1000)*1000, (600_000-lvl)/10_000)
		}
		x.want("others' use", x.b.col, others, 600)
	}
}

// TestMirrorTwin: with truthful headers the mirror never believes in much more
// than the server has, whatever the order in which they come.
func TestMirrorTwin(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 7))
		x := newBench(t)
		x.b.learn(600_000, true)
		server, last := 600_000.0, 0.0
		type header struct {
			at, rem, reset float64
			id             int
		}
		var under []header
		for now, id := 0.0, 0; now < 300; {
			now += rng.ExpFloat64() * 0.3
			x.at(now)
			server = min(600_000, server+10_000*(now-last))
			last = now
			if w := rng.Float64() * 6000; server > w && x.b.lvl > w {
				id++
				server -= w
				x.send(w)
				under = append(under, header{now + rng.ExpFloat64()*5, math.Round(server/1000) * 1000, math.Floor((600_000 - server) / 10_000), id})
			}
			for i := 0; i < len(under); i++ {
				if h := under[i]; h.at <= now && rng.IntN(3) > 0 {
					x.headers(h.id, 600_000, h.rem, h.reset)
					under[i] = under[len(under)-1]
					under = under[:len(under)-1]
				}
			}
			if x.b.lvl > server+3000 {
				t.Fatalf("seed %d at %.1f: believed %v, the server has %v", seed, now, x.b.lvl, server)
			}
		}
	}
}

// TestEqualShares: n processes that see the same level each get the n-th part
// of the refill, without a message between them and from any start (B.4); with
// the refill less colleagues in the law every split would be an equilibrium.
func TestEqualShares(t *testing.T) {
	for _, n := range []int{2, 5} {
		lvl, got := 600_000.0, make([]float64, n)
		credit := make([]float64, n)
		credit[0] = 100_000
		for step := range 60_000 { // a minute in milliseconds
			b := newBucket(usual)
			b.learn(600_000, true)
			b.lvl = lvl
			sum := 0.0
			for i := range n {
				u := b.pace(false) * 0.001
				if step < 20_000 && i > 0 {
					u = 0 // the others come 20 s later
				}
				sum += u
				if step > 50_000 {
					got[i] += u
				}
			}
			lvl = min(600_000, lvl+10_000*0.001-sum)
		}
		for i := range n {
			if d := got[i]/(10_000*10/float64(n)) - 1; math.Abs(d) > 0.1 {
				t.Errorf("%d processes: the %d-th gets %v of its share", n, i, 1+d)
			}
		}
		if lvl < 0.1*600_000 {
			t.Errorf("%d processes leave %v, below the soft floor", n, lvl)
		}
	}
}
