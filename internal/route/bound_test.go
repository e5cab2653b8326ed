package route

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// start is an org of the Start tier: 1,000 RPM, 2 M ITPM, 400 k OTPM.
var start = Lane{Cap: 100, PerMinute: [NumDims]float64{1000, 2_000_000, 400_000}}

func near(got time.Duration, want float64) bool { return math.Abs(got.Seconds()-want) < 1e-4 }

// One lane and a constant supply have a closed form (facts/control.md C.1).
func TestClosedForm(t *testing.T) {
	small := Work{Requests: 10_000, Input: 8_000_000, Output: 200_000, Latency: 9000 * time.Second, Shortest: 300 * time.Millisecond, Longest: 4 * time.Second}
	with := func(change func(w *Work)) Work {
		w := small
		change(&w)
		return w
	}
	for _, c := range []struct {
		name             string
		lanes            []Lane
		work             Work
		physical, polite float64
		limit, politeBy  Limit
	}{
		{"requests", []Lane{start}, small, 540.3, 546.3, LimitRPM, LimitRPM},
		{"input", []Lane{start}, with(func(w *Work) { w.Input = 80e6 }), 2340.3, 2346.3, LimitITPM, LimitITPM},
		{"output", []Lane{start}, with(func(w *Work) { w.Output = 7e6 }), 990, 996, LimitOTPM, LimitOTPM},
		{"slots", []Lane{start}, with(func(w *Work) { w.Latency = 100_000 * time.Second }), 1000, 1037.5, LimitCap, LimitCap},
		{"slowest call", []Lane{start}, with(func(w *Work) { w.Longest = time.Hour }), 3600, 3600, LimitLatency, LimitLatency},
		{"nothing to do", []Lane{start}, Work{}, 0, 0, LimitWork, LimitWork},
		{"three lanes", []Lane{start, start, start}, small, (10_000-3000)/50.0 + 0.3, (10_000-2700)/50.0 + 0.3, LimitRPM, LimitRPM},
		{"a lane without cap gives nothing", []Lane{start, {PerMinute: start.PerMinute}}, small, 540.3, 546.3, LimitRPM, LimitRPM},
		{"no limits known", []Lane{{Cap: 10}}, small, 900, 937.5, LimitCap, LimitCap},
		{
			"colleagues take half",
			[]Lane{{Cap: 100, PerMinute: start.PerMinute, Others: [NumDims]float64{1000 / 120.0}}},
			small,
			9000/(1000/120.0) + 0.3, 9100/(1000/120.0) + 0.3, LimitRPM, LimitRPM,
		},
		{
			"a tenth of a minute's bucket, empty",
			[]Lane{{Cap: 100, PerMinute: start.PerMinute, Capacity: [NumDims]float64{100}, Used: [NumDims]float64{100}}},
			small,
			600.3, 600.9, LimitRPM, LimitRPM, // the floor of a small bucket is refilled in .6 s
		},
	} {
		physical, polite := SyncBound(Problem{Lanes: c.lanes, Work: c.work})
		if !near(physical.Time, c.physical) || physical.Limit != c.limit {
			t.Errorf("%s: %s by %s, want %.4f s by %s", c.name, physical.Time, physical.Limit, c.physical, c.limit)
		}
		if !near(polite.Time, c.polite) || polite.Limit != c.politeBy {
			t.Errorf("%s, polite: %s by %s, want %.4f s by %s", c.name, polite.Time, polite.Limit, c.polite, c.politeBy)
		}
	}
}

func TestManners(t *testing.T) {
	p := Problem{Lanes: []Lane{start}, Work: Work{Requests: 1000, Latency: 100_000 * time.Second}}
	for _, c := range []struct {
		name string
		soft float64
		ramp Ramp
		work Work
		want float64
	}{
		{"fast ramp", 0, RampFast, p.Work, 1005},
		{"no ramp", 0, RampOff, p.Work, 1000},
		{"within the first step", 0, RampPolite, Work{Requests: 1, Latency: 500 * time.Second}, 20},
		{"no floor", -1, RampOff, Work{Requests: 2000}, 60},
		{"half the bucket", 0.5, RampOff, Work{Requests: 2000}, 90},
	} {
		p.Soft, p.Ramp, p.Work = c.soft, c.ramp, c.work
		if _, polite := SyncBound(p); !near(polite.Time, c.want) {
			t.Errorf("%s: %s, want %.1f s", c.name, polite.Time, c.want)
		}
	}
}

func TestAccelerated(t *testing.T) {
	l := Lane{PerMinute: [NumDims]float64{Input: 100}, First: 10, Step: 30}
	for at, want := range map[float64]float64{0: 10, 59: 10, 60: 50, 120: 120, 180: 220, 240: 320} {
		if got := l.accelerated(at); got != want {
			t.Errorf("by %.0f s: %.0f, want %.0f", at, got, want)
		}
	}
	l.Step = 0
	if got := l.accelerated(125); got != 30 {
		t.Errorf("a ceiling that stays, by 125 s: %.0f, want 30", got)
	}
}

func TestNever(t *testing.T) {
	full := start
	full.Others[Requests] = 1000 / 60.0
	for name, c := range map[string]struct {
		lanes []Lane
		want  Limit
	}{"no lane": {nil, LimitCap}, "colleagues take all": {[]Lane{full}, LimitRPM}} {
		physical, polite := SyncBound(Problem{Lanes: c.lanes, Work: Work{Requests: 1001, Latency: time.Second}})
		if physical != (Bound{Never, c.want}) || polite.Time != Never {
			t.Errorf("%s: %+v, polite %+v", name, physical, polite)
		}
	}
}

func drawLane(t *rapid.T) Lane {
	l := Lane{Cap: rapid.IntRange(1, 60).Draw(t, "cap")}
	for d := range NumDims {
		l.PerMinute[d] = rapid.SampledFrom([]float64{0, 60, 300, 6000}).Draw(t, "limit") * [NumDims]float64{1, 100, 20}[d]
		l.Capacity[d] = l.PerMinute[d] * rapid.SampledFrom([]float64{0.1, 1}).Draw(t, "capacity")
	}
	return l
}

func drawProblem(t *rapid.T) Problem {
	p := Problem{Lanes: rapid.SliceOfN(rapid.Custom(drawLane), 1, 3).Draw(t, "lanes")}
	p.Soft = rapid.SampledFrom([]float64{-1, 0, 0.3}).Draw(t, "soft")
	p.Ramp = Ramp(rapid.IntRange(0, 2).Draw(t, "ramp"))
	n := rapid.Float64Range(1, 5000).Draw(t, "n")
	p.Work = Work{
		Requests: n, Input: n * rapid.Float64Range(0, 500).Draw(t, "in"), Output: n * rapid.Float64Range(0, 200).Draw(t, "out"),
		Latency: time.Duration(n * rapid.Float64Range(0, 9e9).Draw(t, "latency")), Shortest: time.Second / 4, Longest: 9 * time.Second,
	}
	return p
}

// More work never ends sooner, higher limits never end later, manners cost.
func TestBoundIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		physical, polite := SyncBound(p)
		if polite.Time < physical.Time {
			t.Fatalf("manners gain time: %+v, without %+v", polite, physical)
		}
		more := p
		k := rapid.Float64Range(1, 3).Draw(t, "k")
		w := &more.Work
		switch rapid.IntRange(0, 4).Draw(t, "which") {
		case 0:
			w.Requests *= k
		case 1:
			w.Input *= k
		case 2:
			w.Output *= k
		case 3:
			w.Latency = time.Duration(float64(w.Latency) * k)
		case 4:
			w.Longest = time.Duration(float64(w.Longest) * k)
		}
		if b, q := SyncBound(more); b.Time < physical.Time || q.Time < polite.Time {
			t.Fatalf("more work: %+v, polite %+v; before %+v, %+v", b, q, physical, polite)
		}
		raised := p
		raised.Lanes = append([]Lane{}, p.Lanes...)
		l := &raised.Lanes[rapid.IntRange(0, len(p.Lanes)-1).Draw(t, "lane")]
		d := Dim(rapid.IntRange(0, int(NumDims)-1).Draw(t, "dim"))
		l.PerMinute[d] *= k
		l.Cap++
		if b, q := SyncBound(raised); b.Time > physical.Time || q.Time > polite.Time {
			t.Fatalf("higher limits: %+v, polite %+v; before %+v, %+v", b, q, physical, polite)
		}
	})
}

// No policy beats the physical bound: a greedy one that sends whenever a lane
// has room, on buckets that cap what they hold, ends no sooner.
func TestBoundIsNeverAboveGreedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Problem{Lanes: rapid.SliceOfN(rapid.Custom(drawLane), 1, 3).Draw(t, "lanes")}
		var calls []call
		for range rapid.IntRange(1, 300).Draw(t, "n") {
			calls = append(calls, call{
				in:  rapid.Float64Range(1, 200).Draw(t, "in"),
				out: rapid.Float64Range(1, 80).Draw(t, "out"), seconds: float64(rapid.IntRange(1, 20).Draw(t, "ticks")) * tick,
			})
		}
		p.Work = workOf(calls)
		physical, _ := SyncBound(p)
		if took := greedy(p.Lanes, calls); physical.Time.Seconds() > took+1e-6 {
			t.Fatalf("bound %s by %s, a greedy run took %.3f s", physical.Time, physical.Limit, took)
		}
	})
}

type call struct{ in, out, seconds float64 }

func workOf(calls []call) (w Work) {
	w.Shortest = time.Hour
	for _, c := range calls {
		l := time.Duration(c.seconds * float64(time.Second))
		w.Requests++
		w.Input += c.in
		w.Output += c.out
		w.Latency += l
		w.Shortest, w.Longest = min(w.Shortest, l), max(w.Longest, l)
	}
	return w
}

// tick is the step of the greedy run.
const tick = 0.25

// greedy runs calls over lanes and gives the time the last one ends. Output is
// taken from its bucket when the call is admitted: a server that lets it be
// overdrawn is beyond the bound (see the package's limitations).
func greedy(lanes []Lane, calls []call) (end float64) {
	level := make([][NumDims]float64, len(lanes))
	ends := make([][]float64, len(lanes))
	for i := range lanes {
		level[i] = lanes[i].Capacity
	}
	for now := 0.0; len(calls) > 0; now += tick {
		for i := range lanes {
			l := &lanes[i]
			ends[i] = keep(ends[i], now)
			for len(calls) > 0 && len(ends[i]) < l.Cap && admit(l, &level[i], calls[0]) {
				ends[i] = append(ends[i], now+calls[0].seconds)
				end = max(end, now+calls[0].seconds)
				calls = calls[1:]
			}
			for d := range NumDims {
				level[i][d] = min(l.Capacity[d], level[i][d]+l.PerMinute[d]/60*tick)
			}
		}
	}
	return end
}

// keep drops the calls that have ended.
func keep(ends []float64, now float64) []float64 {
	kept := ends[:0]
	for _, e := range ends {
		if e > now {
			kept = append(kept, e)
		}
	}
	return kept
}

// admit takes a call's cost from the buckets that have a limit, if they hold
// it, or are full when it is more than they can ever hold.
func admit(l *Lane, level *[NumDims]float64, c call) bool {
	cost := [NumDims]float64{1, c.in, c.out}
	for d := range NumDims {
		if l.PerMinute[d] > 0 && level[d] < min(cost[d], l.Capacity[d]) {
			return false
		}
	}
	for d := range NumDims {
		level[d] -= cost[d]
	}
	return true
}
