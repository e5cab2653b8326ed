package emulator

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyScenario draws a world of one or two orgs with any of the model's rules.
func anyScenario(rt *rapid.T) Scenario {
	sc := Scenario{
		Name: "any",
		Latency: Latency{
			TTFT:      time.Duration(rapid.Int64Range(0, 3e9).Draw(rt, "ttft")),
			TTFTSD:    rapid.SampledFrom([]float64{0, 0.35}).Draw(rt, "ttft sd"),
			PerSecond: rapid.SampledFrom([]float64{0, 20, 75, 200}).Draw(rt, "per second"),
			Prefill:   40_000,
		},
		InputNoise: rapid.SampledFrom([]float64{0, 0.08, 0.3}).Draw(rt, "noise"),
		Answer:     Answer{SD: 0.3},
		LoadKnee:   float64(rapid.IntRange(0, 20).Draw(rt, "knee")),
		Stragglers: Stragglers{Share: 0.1, Min: 4, Max: 10},
	}
	sc.Flaky = Flaky{Before: 0.05, After: 0.05, Cut: 0.05, Reused: 0.05}
	sc.Storm = Storm{Start: 10 * time.Second, Every: time.Minute, Streams: 0.2, Phases: []StormPhase{{10 * time.Second, 0.5}}}
	for i := range rapid.IntRange(1, 2).Draw(rt, "orgs") {
		o := Org{
			Name:          string(rune('a' + i)),
			Limits:        Limits{rapid.Int64Range(10, 2000).Draw(rt, "rpm"), rapid.Int64Range(2000, 1e6).Draw(rt, "itpm"), rapid.Int64Range(200, 1e5).Draw(rt, "otpm")},
			Capacity:      rapid.SampledFrom([]float64{0, 0.1, 0.3, 1}).Draw(rt, "capacity"),
			ReserveOutput: rapid.Bool().Draw(rt, "reserve"),
			Workspace:     rapid.SampledFrom([]int64{0, 5000}).Draw(rt, "workspace"),
			Concurrency:   rapid.SampledFrom([]int{0, 3}).Draw(rt, "concurrency"),
			Hidden:        rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "hidden"),
			Acceleration:  Acceleration{Kind: rapid.SampledFrom([]string{"", "additive", "ratio"}).Draw(rt, "acceleration")},
		}
		if rapid.Bool().Draw(rt, "colleague") {
			o.Colleagues = []Colleague{{Kind: "poisson", Share: 0.3, In: 500}, {Kind: "aimd", In: 200}, {Kind: "burst", Every: 7 * time.Second}}
		}
		sc.Orgs = append(sc.Orgs, o)
	}
	return sc
}

// driver sends arrivals, finishes and cancels in time order, as any client
// might.
type driver struct {
	m      *Model
	now    time.Duration
	flight []*Exchange
	billed int64
	ended  int
	sent   int
}

func (d *driver) step(rt *rapid.T, sonnet, orgs int) {
	d.now += time.Duration(rapid.Int64Range(0, 2e9).Draw(rt, "gap"))
	for len(d.flight) > 0 && d.flight[0].End <= d.now {
		d.finish()
	}
	if len(d.flight) > 0 && rapid.IntRange(0, 9).Draw(rt, "cancel") == 0 {
		x := d.flight[len(d.flight)-1]
		d.m.Cancel(d.now, x)
		d.take(x)
		d.flight = d.flight[:len(d.flight)-1]
	}
	d.sent++
	x := d.m.Arrive(d.now, Arrival{
		Org: rapid.IntRange(0, orgs-1).Draw(rt, "org"), Model: sonnet,
		Hash: hashOf(rapid.IntRange(0, 20).Draw(rt, "body")), Est: rapid.Int64Range(1, 3000).Draw(rt, "in"),
		MaxTokens: rapid.Int64Range(0, 400).Draw(rt, "max"),
		Stream:    rapid.Bool().Draw(rt, "stream"), Reused: rapid.Bool().Draw(rt, "reused"),
	})
	d.flight = append(d.flight, x)
	slices.SortStableFunc(d.flight, func(a, b *Exchange) int { return int(a.End - b.End) })
}

func (d *driver) finish() {
	x := d.flight[0]
	d.m.Finish(max(d.now, x.End), x)
	d.take(x)
	d.flight = d.flight[1:]
}

func (d *driver) take(x *Exchange) {
	d.billed += x.Cost()
	d.ended++
	d.m.Release(x)
}

// Whatever is sent: no bucket holds more than its capacity, what the stats say
// was billed is what the exchanges cost, every request is counted once, and
// nothing stays behind.
func TestModelKeepsItsBooks(t *testing.T) {
	sonnet := model(t, "claude-sonnet-4-6")
	rapid.Check(t, func(rt *rapid.T) {
		sc := anyScenario(rt)
		d := &driver{m: NewModel(sc, rapid.Uint64().Draw(rt, "seed"), epoch)}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			d.step(rt, sonnet, len(sc.Orgs))
			checkLevels(rt, d.m)
		}
		for len(d.flight) > 0 {
			d.now = max(d.now, d.flight[0].End)
			d.finish()
		}
		st := d.m.Stats(d.now)
		if st.Billed != d.billed {
			rt.Fatalf("billed %d, the exchanges cost %d", st.Billed, d.billed)
		}
		if st.Requests != int64(d.sent) || d.ended != d.sent {
			rt.Fatalf("%d requests counted, %d ended, %d sent", st.Requests, d.ended, d.sent)
		}
		checkEmpty(rt, d.m)
	})
}

func checkLevels(rt *rapid.T, m *Model) {
	for _, lanes := range m.lanes {
		for _, l := range lanes {
			for dim := range l.dims {
				if b := &l.dims[dim]; b.level > b.capacity || math.IsNaN(b.level) {
					rt.Fatalf("%s %s: level %v of %v", l.org.Name, dimText[dim], b.level, b.capacity)
				}
			}
			if l.inFlight < 0 || l.open < 0 || l.drain < 0 || l.workspace.level > l.workspace.capacity {
				rt.Fatalf("in flight %d, open %d, drain %v", l.inFlight, l.open, l.drain)
			}
		}
	}
}

// checkEmpty wants nothing of ours left in flight, nor of anybody once the
// colleagues have stopped.
func checkEmpty(rt *rapid.T, m *Model) {
	for i := range m.orgs {
		if n := m.InFlight(i); n != 0 {
			rt.Fatalf("%d of ours in flight", n)
		}
	}
	m.clients = nil
	m.Advance(m.now + 2*longest)
	for _, lanes := range m.lanes {
		for _, l := range lanes {
			if l.inFlight != 0 || l.open != 0 || l.drain != 0 {
				rt.Fatalf("left behind: in flight %d, open %d, drain %v", l.inFlight, l.open, l.drain)
			}
		}
	}
}

// What the output limit lost is what was produced: the fluid drain charges
// every token once.
func TestOutputIsChargedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := Scenario{Orgs: []Org{{Name: "a", Limits: Limits{Output: 1e9}}}, Latency: Latency{TTFT: time.Second, PerSecond: 80, PerSecondSD: 0.3}}
		m := NewModel(sc, 1, epoch)
		l := m.lanes[0][poolIndex("sonnet-4.x")]
		l.dims[Output].rate = 0 // no refill, so that what is missing is what was charged
		var end time.Duration
		for i := range rapid.IntRange(1, 20).Draw(rt, "n") {
			now := time.Duration(i) * 300 * time.Millisecond
			x := m.Arrive(now, Arrival{Model: model(t, "claude-sonnet-4-6"), Hash: hashOf(i), Est: 10, MaxTokens: 1000, Out: rapid.Int64Range(1, 500).Draw(rt, "out")})
			if rapid.IntRange(0, 3).Draw(rt, "cancel") == 0 {
				m.Cancel(now, x)
				continue
			}
			end = max(end, x.End)
		}
		st := m.Stats(end)
		missing := 1e9 - m.Level(end, 0, "sonnet-4.x", Output)
		if got := float64(st.Orgs[0].Pools[0].OutputTokens); math.Abs(missing-got) > 1e-3 {
			rt.Fatalf("charged %v, produced %v", missing, got)
		}
	})
}

// fate is what must not depend on what else happens.
type fate struct {
	Status        int
	Class         Class
	Fault         Fault
	First, Last   time.Duration // after the arrival
	Usage         Usage
	Answer        uint32
	Stop          Stop
	Cost, Arrived int64
}

func fateOf(x *Exchange) fate {
	return fate{x.Status, x.Class, x.Fault, x.FirstByte - x.At, x.End - x.At, x.Usage, x.Answer, x.Stop, x.Cost(), int64(x.Arrived)}
}

// The same seed gives the same outcome for a body, whatever other bodies do in
// between; another seed gives another.
func TestOutcomesDoNotDependOnOthers(t *testing.T) {
	sc, err := Named("flaky-network")
	if err != nil {
		t.Fatal(err)
	}
	sonnet := model(t, "claude-sonnet-4-6")
	mine := func(seed uint64, others []int) []fate {
		m := NewModel(sc, seed, epoch)
		var out []fate
		for i := range 40 {
			now := time.Duration(i) * 20 * time.Second
			for j := range others[i%len(others)] {
				x := m.Arrive(now, Arrival{Org: j % 3, Model: sonnet, Hash: hashOf(1000 + i*100 + j), Est: 50, MaxTokens: 90})
				if j%5 == 0 {
					m.Cancel(now, x)
				}
				m.Release(x)
			}
			x := m.Arrive(now, Arrival{Org: i % 3, Model: sonnet, Hash: hashOf(i % 7), Est: 300, MaxTokens: 120, Stream: i%2 == 0, Reused: true})
			m.Finish(x.End, x)
			out = append(out, fateOf(x))
			m.Release(x)
		}
		return out
	}
	alone := mine(5, []int{0})
	rapid.Check(t, func(rt *rapid.T) {
		others := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 40).Draw(rt, "others")
		if d := cmp.Diff(alone, mine(5, others)); d != "" {
			rt.Fatal(d)
		}
	})
	if cmp.Equal(alone, mine(6, []int{0})) {
		t.Error("another seed changes nothing")
	}
}

// Neither refusals nor cut streams nor clients that go away change which
// answers a body gets.
func TestAnswersSurviveFailures(t *testing.T) {
	sonnet := model(t, "claude-sonnet-4-6")
	answers := func(sc Scenario, cancel bool) []int64 {
		m := NewModel(sc, 3, epoch)
		var out []int64
		for now := time.Duration(0); len(out) < 6; now += time.Minute {
			x := m.Arrive(now, Arrival{Model: sonnet, Hash: hashOf(1), Est: 300, MaxTokens: 120, Stream: true})
			if cancel && x.Arrived%3 == 0 && x.Class == Admitted && x.Fault == NoFault {
				m.Cancel(now+time.Millisecond, x)
			}
			m.Finish(now+59*time.Second, x)
			if x.Complete() {
				if x.Answer != uint32(len(out)) {
					t.Fatalf("answer %d comes as number %d", x.Answer, len(out))
				}
				out = append(out, x.Usage.Output)
			}
			m.Release(x)
		}
		return out
	}
	calm := base()
	rough := base()
	rough.Flaky = Flaky{Before: 0.2, After: 0.2, Cut: 0.2}
	rough.Storm = Storm{Phases: []StormPhase{{Never, 0.4}}, Streams: 0.3}
	want := answers(calm, false)
	if d := cmp.Diff(want, answers(rough, true)); d != "" {
		t.Error(d)
	}
	if slices.Max(want) == slices.Min(want) {
		t.Errorf("all answers to one body are alike: %v", want)
	}
}

// Steady state allocates nothing.
func TestArriveAllocatesNothing(t *testing.T) {
	m := modelOf(t, "default", 1)
	sonnet := model(t, "claude-sonnet-4-6")
	now, i := time.Duration(0), 0
	one := func() {
		x := m.Arrive(now, Arrival{Model: sonnet, Hash: hashOf(i % 1000), Est: 100, MaxTokens: 120})
		now = x.End
		m.Finish(now, x)
		m.Release(x)
		i++
	}
	for range 5000 { // bodies seen, minutes of use counted
		one()
	}
	if got := testing.AllocsPerRun(2000, one); got > 0.1 { // a minute of use now and then
		t.Errorf("%v allocations a call", got)
	}
}
