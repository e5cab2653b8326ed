package plan

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// quiet is a world without draws: every call takes 0.6 s and a second.
func quiet() emulator.Scenario {
	sc := world(emulator.Uniform(2, emulator.Limits{Requests: 60_000, Input: 60_000_000, Output: 60_000_000}))
	sc.Latency = emulator.Latency{TTFT: 600 * time.Millisecond, PerSecond: 75}
	sc.InputNoise = 0
	return sc
}

// second is a call whose answer flows for one second.
func second(seed uint64) func(i int) Call {
	return func(i int) Call {
		c := work{in: 100, out: 75}.calls(seed)(i)
		c.Arrival.Out = 75
		return c
	}
}

func fixedWindow(sc *emulator.Scenario, n, window int) Setting {
	s := setting(sc, work{n: n}, 1)
	s.Brain, s.Calls = newNaive(1, newFixed), second(1)
	for i := range s.Lanes {
		s.Lanes[i].Cap = window
	}
	return s
}

// A window of five in each of two orgs carries ten calls every 1.6 s.
func TestFixedWindow(t *testing.T) {
	sc := quiet()
	o := rehearse(sc, 1, fixedWindow(&sc, 100, 5))
	if want := 16 * time.Second; o.Makespan() != want {
		t.Errorf("took %v, want %v", o.Makespan(), want)
	}
	if o.Succeeded != 100 || o.Attempts != 100 || o.Failures != 0 || o.Stalled {
		t.Errorf("%d of 100 succeeded in %d attempts, %d failures, stalled %v", o.Succeeded, o.Attempts, o.Failures, o.Stalled)
	}
	if o.PeakInFlight != 10 || !cmp.Equal(o.PeakByLane, []int{5, 5}) {
		t.Errorf("peak %d, by lane %v", o.PeakInFlight, o.PeakByLane)
	}
	if o.MinLatency != 1600*time.Millisecond || o.MaxLatency != o.MinLatency || o.Latency != 160*time.Second {
		t.Errorf("latency %v to %v, sum %v", o.MinLatency, o.MaxLatency, o.Latency)
	}
	if o.Input != 10_000 || o.Output != 7_500 || o.Cost != o.Billed || o.Billed != 10_000*3_000+7_500*15_000 {
		t.Errorf("input %d, output %d, cost %d, billed %d", o.Input, o.Output, o.Cost, o.Billed)
	}
}

// A streamed answer's headers come with its first byte, any other's at its end.
func TestHeadersComeWhenTheyDo(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		sc := quiet()
		s := fixedWindow(&sc, 1, 1)
		s.Streamed = streamed
		var headers, ends []time.Duration
		s.Observe = func(now time.Duration, ev sched.Event, _ []sched.Action) {
			switch e := ev.(type) {
			case *sched.Headers:
				headers = append(headers, now)
			case *sched.Done:
				ends = append(ends, now)
				// The request bucket was full but for this call at admission, and
				// Date is that of the first byte that left.
				if e.Reading.Remaining[sched.Requests] != 59_999 || e.Reading.Limit[sched.Requests] != 60_000 {
					t.Errorf("reading %+v", e.Reading)
				}
			}
		}
		rehearse(sc, 1, s)
		var want []time.Duration
		if streamed {
			want = []time.Duration{600 * time.Millisecond}
		}
		if !cmp.Equal(headers, want) || !cmp.Equal(ends, []time.Duration{1600 * time.Millisecond}) {
			t.Errorf("streamed %v: headers at %v, end at %v", streamed, headers, ends)
		}
	}
}

// Equal settings give equal outcomes, down to each send.
func TestRehearsalRepeats(t *testing.T) {
	t.Parallel()
	run := func() []*Outcome {
		sc := world(unequal(2), func(sc *emulator.Scenario) {
			sc.Stragglers = emulator.Stragglers{Share: 0.01, Min: 4, Max: 10}
			sc.Flaky = emulator.Flaky{Before: .02, After: .01, Cut: .01, Reused: .05}
		})
		a := setting(&sc, work{n: 2_000, in: 800, out: 100, salt: 1}, 3, keepSends)
		b := setting(&sc, work{n: 1_000, in: 2_000, out: 50, salt: 2}, 4, keepSends)
		b.Begin, b.Streamed = 7*time.Second, false
		return Rehearse(emulator.NewModel(sc, 3, epoch), day, a, b)
	}
	first, again := run(), run()
	if diff := cmp.Diff(first, again, cmpopts.IgnoreUnexported(Outcome{})); diff != "" {
		t.Errorf("a repeated rehearsal differs:\n%s", diff)
	}
	if first[0].Succeeded < 1_990 || first[1].Succeeded < 990 {
		t.Errorf("%d and %d succeeded", first[0].Succeeded, first[1].Succeeded)
	}
}

// Two jobs on one model feel each other: together they take twice as long.
func TestTwoJobsShareTheModel(t *testing.T) {
	sc := quiet()
	sc.Orgs = sc.Orgs[:1]
	sc.Orgs[0].Concurrency = 10
	a, b := fixedWindow(&sc, 100, 10), fixedWindow(&sc, 100, 10)
	b.Calls = second(2)
	outs := Rehearse(emulator.NewModel(sc, 1, epoch), day, a, b)
	for i, o := range outs {
		if o.Succeeded != 100 {
			t.Errorf("job %d: %d of 100 succeeded", i, o.Succeeded)
		}
	}
	if refused := outs[0].Refused[emulator.Concurrent] + outs[1].Refused[emulator.Concurrent]; refused == 0 {
		t.Error("twenty slots under a server's cap of ten met no refusal")
	}
	if end := max(outs[0].Ended, outs[1].Ended); end < 32*time.Second {
		t.Errorf("200 calls of 1.6 s through ten slots ended after %v", end)
	}
}

// A rehearsal stopped at its limit goes on in another on the same model.
func TestGoesOnAfterItsLimit(t *testing.T) {
	sc := quiet()
	m := emulator.NewModel(sc, 1, epoch)
	s := fixedWindow(&sc, 100, 5)
	o := Rehearse(m, 4*time.Second, s)[0]
	if !o.Stalled || o.Settled != 20 {
		t.Fatalf("stalled %v with %d settled, want 20 after two rounds", o.Stalled, o.Settled)
	}
	s.Brain, s.Begin, s.N = newNaive(1, newFixed), 4*time.Second, 50
	s.Calls = second(2)
	o = Rehearse(m, day, s)[0]
	if o.Stalled || o.Began != 4*time.Second || o.Makespan() != 8*time.Second {
		t.Errorf("the second began at %v and took %v", o.Began, o.Makespan())
	}
	// The first left ten calls in flight: the provider answered and billed them.
	if got := m.Stats(o.Ended).Succeeded; got != 20+10+50 {
		t.Errorf("the provider answered %d calls, want 80", got)
	}
}

// In an outage nothing is sent, what is in flight breaks off, and connections
// are new afterwards.
func TestOutage(t *testing.T) {
	sc := quiet()
	s := fixedWindow(&sc, 40, 5)
	s.Outages = []Outage{{From: 2 * time.Second, Until: 12 * time.Second, Fails: 250 * time.Millisecond}}
	var lost, unsent int
	s.Observe = func(now time.Duration, ev sched.Event, _ []sched.Action) {
		f, ok := ev.(*sched.Failed)
		switch {
		case !ok:
		case f.Failure == sched.Reset || f.Failure == sched.ReusedReset:
			lost++
			if now != 2250*time.Millisecond {
				t.Errorf("a call in flight is lost at %v", now)
			}
		case f.Failure == sched.NotSent:
			unsent++
			if now < 3*time.Second || now >= 12500*time.Millisecond {
				t.Errorf("no network at %v", now)
			}
		}
	}
	m := emulator.NewModel(sc, 1, epoch)
	o := Rehearse(m, day, s)[0]
	if lost != 10 || unsent == 0 || o.Succeeded != 40 || o.Faults != lost+unsent || o.Failures != o.Faults {
		t.Errorf("%d lost, %d unsent, %d succeeded, %d faults", lost, unsent, o.Succeeded, o.Faults)
	}
	if got := m.Stats(o.Ended).Requests; got != 40+10 {
		t.Errorf("the provider saw %d requests, want 50", got)
	}
}

// aborter aborts each first attempt as soon as its headers come, and lets the
// second answer.
type aborter struct{ *naive }

func (a aborter) Step(now time.Duration, ev sched.Event) []sched.Action {
	if h, ok := ev.(*sched.Headers); ok && a.tries[a.attempts[h.Attempt].call] == 0 {
		return []sched.Action{&sched.Abort{Attempt: h.Attempt}}
	}
	return a.naive.Step(now, ev)
}

// An aborted exchange ends at once, is billed for its input and what was
// produced, and is no failure of the provider.
func TestAbort(t *testing.T) {
	sc := quiet()
	s := fixedWindow(&sc, 10, 5)
	s.Brain = aborter{newNaive(1, newFixed)}
	m := emulator.NewModel(sc, 1, epoch)
	o := Rehearse(m, day, s)[0]
	if o.Aborted != 10 || o.Failures != 0 || o.Faults != 0 || o.Succeeded != 10 || o.Attempts != 20 {
		t.Errorf("%d aborted, %d failures, %d faults, %d succeeded, %d attempts", o.Aborted, o.Failures, o.Faults, o.Succeeded, o.Attempts)
	}
	// Aborted at 0.6 s, tried again after a second.
	if want := (600 + 1000 + 1600) * time.Millisecond; o.Makespan() != want {
		t.Errorf("took %v, want %v", o.Makespan(), want)
	}
	if want := int64(10*(2*100*3_000) + 10*75*15_000); o.Billed != want {
		t.Errorf("billed %d, want %d", o.Billed, want)
	}
}

// spinner wants to be woken at once, for ever, and does nothing then.
type spinner struct{}

func (spinner) Step(time.Duration, sched.Event) []sched.Action { return nil }
func (spinner) Next() time.Duration                            { return 0 }

// A brain in a busy loop is found, not followed.
func TestSpinningBrainPanics(t *testing.T) {
	sc := quiet()
	s := fixedWindow(&sc, 1, 1)
	s.Brain = spinner{}
	defer func() {
		if recover() == nil {
			t.Error("a brain that spins was let go on")
		}
	}()
	rehearse(sc, 1, s)
}

// doubler settles its first call twice.
type doubler struct{ *naive }

func (d doubler) Step(now time.Duration, ev sched.Event) []sched.Action {
	acts := d.naive.Step(now, ev)
	for _, act := range acts {
		if s, ok := act.(*sched.Settle); ok {
			return append(acts, s)
		}
	}
	return acts
}

func TestDoubleSettlePanics(t *testing.T) {
	sc := quiet()
	s := fixedWindow(&sc, 2, 1)
	s.Brain = doubler{newNaive(1, newFixed)}
	defer func() {
		if recover() == nil {
			t.Error("a call settled twice")
		}
	}()
	rehearse(sc, 1, s)
}

// A job without calls ends where it begins.
func TestNothingToDo(t *testing.T) {
	sc := quiet()
	s := setting(&sc, work{n: 0}, 1)
	o := rehearse(sc, 1, s)
	if o.Stalled || o.Makespan() != 0 || o.Attempts != 0 {
		t.Errorf("%+v", o)
	}
}
