package plan

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Tests here are named after the rows of facts/peer-faults.md.

// meddler is the scheduler behind something that changes what it hears.
type meddler struct {
	*sched.Core
	change func(now time.Duration, ev sched.Event) sched.Event
}

func (m meddler) Step(now time.Duration, ev sched.Event) []sched.Action {
	return m.Core.Step(now, m.change(now, ev))
}

// meddle puts a meddler in and gives the core inside.
func meddle(s *Setting, change func(now time.Duration, ev sched.Event) sched.Event) *sched.Core {
	s.Core.Epoch = epoch
	core := sched.New(s.Core)
	for _, l := range s.Lanes {
		core.Pool(l.Pool)
	}
	s.Brain = meddler{core, change}
	return core
}

// ended is the attempt of an event that ends one.
func ended(ev sched.Event) (id sched.AttemptID, ok bool) {
	switch e := ev.(type) {
	case *sched.Done:
		return e.Attempt, true
	case *sched.Refused:
		return e.Attempt, true
	case *sched.Failed:
		return e.Attempt, true
	}
	return 0, false
}

// pulse watches when calls are sent, and how many are in flight.
type pulse struct {
	flying  []int // by lane
	lane    map[sched.AttemptID]sched.LaneID
	last    time.Duration
	longest time.Duration // between sends
	watch   func(now time.Duration)
}

func newPulse(lanes int) *pulse {
	return &pulse{flying: make([]int, lanes), lane: map[sched.AttemptID]sched.LaneID{}}
}

func (p *pulse) see(now time.Duration, ev sched.Event, acts []sched.Action) {
	if id, ok := ended(ev); ok {
		p.flying[p.lane[id]]--
		delete(p.lane, id)
	}
	for _, act := range acts {
		if a, ok := act.(*sched.Send); ok {
			p.longest = max(p.longest, now-p.last)
			p.last = now
			p.lane[a.Attempt] = a.Lane
			p.flying[a.Lane]++
		}
	}
	if p.watch != nil {
		p.watch(now)
	}
}

func noneErrored(t *testing.T, o *Outcome) {
	t.Helper()
	if o.Succeeded != o.N || o.Outcomes[sched.Errored] > 0 {
		t.Errorf("%d of %d succeeded, %d errored, stalled %v", o.Succeeded, o.N, o.Outcomes[sched.Errored], o.Stalled)
	}
}

// A drizzle of 429s with a long retry-after: the cooldown is never longer than
// the longest retry-after, and recovery goes on below it.
func TestPeerFault01DrizzleOfLongRetryAfter(t *testing.T) {
	t.Parallel()
	const over, wait = 10 * time.Minute, 30 * time.Second
	sc := world(one(scaleTier))
	s := setting(&sc, work{n: 30_000, in: 500, out: 100}, 1)
	n, refused := 0, time.Duration(0)
	meddle(&s, func(now time.Duration, ev sched.Event) sched.Event {
		if d, ok := ev.(*sched.Done); ok && now < over {
			if n++; n%100 == 0 {
				refused = now
				return &sched.Refused{Attempt: d.Attempt, Reading: d.Reading, Refusal: sched.Refusal{Class: sched.RateLimited, RetryAfter: wait}}
			}
		}
		return ev
	})
	p := newPulse(1)
	full := time.Duration(0)
	p.watch = func(now time.Duration) {
		if now > refused+wait && n > 0 && now > over && full == 0 && p.flying[0] >= 90 {
			full = now
		}
	}
	s.Observe = p.see
	o := rehearse(sc, 1, s)
	noneErrored(t, o)
	if most := wait + wait/10 + time.Second; p.longest > most {
		t.Errorf("nothing was sent for %v, longer than the longest retry-after", p.longest)
	}
	if back := full - refused; full == 0 || back > wait+wait/10+2*time.Minute {
		t.Errorf("90 %% of the cap again %v after the last refusal", back)
	}
}

// A token limit that others have used up costs no row an attempt of its own.
func TestPeerFault04ExhaustedTokenLimit(t *testing.T) {
	t.Parallel()
	const leaves = 10 * time.Minute
	sc := world(one(startTier, func(o *emulator.Org) {
		o.Headers.Constant = true // so that we cannot see it
		o.Colleagues = []emulator.Colleague{{Kind: "poisson", Share: 1.5, In: 2_000, Out: 20, Until: leaves}}
	}))
	s := setting(&sc, work{n: 3_000, in: 2_000, out: 20}, 1)
	calls, tries := map[sched.AttemptID]sched.CallID{}, map[sched.CallID]int{}
	most := 0
	s.Observe = func(_ time.Duration, ev sched.Event, acts []sched.Action) {
		if r, ok := ev.(*sched.Refused); ok {
			tries[calls[r.Attempt]]++
			most = max(most, tries[calls[r.Attempt]])
		}
		for _, act := range acts {
			if a, ok := act.(*sched.Send); ok {
				calls[a.Attempt] = a.Call
			}
		}
	}
	o := rehearse(sc, 1, s)
	noneErrored(t, o)
	if most <= 3 {
		t.Errorf("no row was refused more than %d times: the test shows nothing", most)
	}
	// Twenty a minute and what successes earn (facts/control.md B.7).
	if budget := 20 + 20*int(leaves/time.Minute) + o.Succeeded/10; o.RateLimited() > budget {
		t.Errorf("%d refusals, the retry budget allows %d", o.RateLimited(), budget)
	}
}

// Sustained refusals end nothing: rows wait, and go on when the provider does.
func TestPeerFault05SustainedRefusals(t *testing.T) {
	t.Parallel()
	const from, until = 30 * time.Second, 10 * time.Minute
	sc := world(one(scaleTier))
	s := setting(&sc, work{n: 6_000, in: 500, out: 100}, 1)
	refused := 0
	meddle(&s, func(now time.Duration, ev sched.Event) sched.Event {
		if d, ok := ev.(*sched.Done); ok && from <= now && now < until {
			refused++
			return &sched.Refused{Attempt: d.Attempt, Refusal: sched.Refusal{Class: sched.RateLimited, RetryAfter: time.Second}}
		}
		return ev
	})
	o := rehearse(sc, 1, s)
	noneErrored(t, o)
	if refused < 20 || refused > 25+20+20*10 {
		t.Errorf("%d refusals while everything was refused", refused)
	}
	if limit := until + 15*time.Minute; o.Ended > limit {
		t.Errorf("ended at %v, the refusals were over at %v", o.Ended, until)
	}
}

// Waits that lie in the past are waits of nothing.
func TestPeerFault06NegativeWaits(t *testing.T) {
	t.Parallel()
	sc := world(one(startTier))
	s := setting(&sc, rpmWork, 1)
	s.N = 2_000
	n := 0
	core := meddle(&s, func(now time.Duration, ev sched.Event) sched.Event {
		d, ok := ev.(*sched.Done)
		if !ok {
			return ev
		}
		for i := range d.Reading.ResetIn {
			d.Reading.ResetIn[i] -= time.Hour
		}
		if n++; n%50 != 0 {
			return d
		}
		class := []sched.Class{sched.RateLimited, sched.Overloaded, sched.Concurrency, sched.Acceleration}[n/50%4]
		return &sched.Refused{Attempt: d.Attempt, Reading: d.Reading, Refusal: sched.Refusal{
			Class: class, RetryAfter: -10 * time.Minute, ReopensAt: now - time.Hour, CeilingNow: -1, CeilingNext: -2,
		}}
	})
	s.Observe = func(now time.Duration, _ sched.Event, _ []sched.Action) {
		if next := core.Next(); next < now {
			t.Fatalf("at %v it wants to be woken at %v", now, next)
		}
	}
	noneErrored(t, rehearse(sc, 1, s))
}

// A usage limit of the account closes the org and fails no row.
func TestPeerFault07UsageLimitPauses(t *testing.T) {
	t.Parallel()
	sc, err := emulator.Named("spend-cap")
	if err != nil {
		t.Fatal(err)
	}
	sc.Orgs = sc.Orgs[:1]
	s := setting(&sc, short, 1)
	core := meddle(&s, func(_ time.Duration, ev sched.Event) sched.Event { return ev })
	o := Rehearse(emulator.NewModel(sc, 1, epoch), 30*time.Minute, s)[0]
	if o.Outcomes[sched.Errored] > 0 || o.Succeeded == 0 || !o.Stalled {
		t.Errorf("%d succeeded, %d errored, stalled %v", o.Succeeded, o.Outcomes[sched.Errored], o.Stalled)
	}
	if got := o.Refused[emulator.SpendLimit]; got < 1 || got > 3 {
		t.Errorf("%d attempts against a closed account", got)
	}
	if v := core.Stream(0); !v.AllClosed || v.ClosedFor != sched.Spend || v.Queued == 0 {
		t.Errorf("the stream says %+v", v)
	}
}

// After an outage of 17 s on one org it is back within seconds of recovery, and
// the other did not carry its load for minutes.
func TestPeerFault08ShortOutageOfOneOrg(t *testing.T) {
	t.Parallel()
	const from, until = 2 * time.Minute, 2*time.Minute + 17*time.Second
	sc := world(emulator.Uniform(2, scaleTier))
	s := setting(&sc, work{n: 25_000, in: 500, out: 300}, 1)
	lane := map[sched.AttemptID]sched.LaneID{}
	meddle(&s, func(now time.Duration, ev sched.Event) sched.Event {
		id, ok := ended(ev)
		if !ok || lane[id] != 0 || now < from || now >= until {
			return ev
		}
		return &sched.Refused{Attempt: id, Refusal: sched.Refusal{Class: sched.Overloaded}}
	})
	p := newPulse(2)
	first, full := time.Duration(0), time.Duration(0)
	s.Observe = func(now time.Duration, ev sched.Event, acts []sched.Action) {
		if d, ok := ev.(*sched.Done); ok && first == 0 && now >= until && lane[d.Attempt] == 0 {
			first = now
		}
		for _, act := range acts {
			if a, ok := act.(*sched.Send); ok {
				lane[a.Attempt] = a.Lane
			}
		}
		p.see(now, ev, acts)
		if full == 0 && now >= until && p.flying[0] >= 90 {
			full = now
		}
	}
	noneErrored(t, rehearse(sc, 1, s))
	if after := first - until; first == 0 || after > 15*time.Second {
		t.Errorf("first answer %v after the outage", after)
	}
	if after := full - until; full == 0 || after > 40*time.Second {
		t.Errorf("90 %% of the cap %v after the outage", after)
	}
}

// A steady limit that a colleague's burst has emptied keeps the lane no longer
// than it takes to refill.
func TestPeerFault08SteadyLimitEmptied(t *testing.T) {
	t.Parallel()
	const burst = 3 * time.Minute
	sc := world(one(startTier, func(o *emulator.Org) {
		o.Colleagues = []emulator.Colleague{{Kind: "burst", Requests: 1_000, In: 10, Out: 1, Over: time.Second, Every: 2 * burst, Until: 2 * burst}}
	}))
	s := setting(&sc, work{n: 6_000, in: 500, out: 100}, 1)
	p := newPulse(1)
	s.Observe = p.see
	o := rehearse(sc, 1, s)
	noneErrored(t, o)
	// Half the soft floor is there again after three seconds.
	if p.longest > 10*time.Second {
		t.Errorf("nothing was sent for %v", p.longest)
	}
	if o.RateLimited() > 20 {
		t.Errorf("%d refusals after one burst", o.RateLimited())
	}
}

// Ten minutes without network cost time and nothing else.
func TestTenMinutesWithoutNetwork(t *testing.T) {
	t.Parallel()
	for _, fails := range []time.Duration{0, 5 * time.Second} {
		sc, err := emulator.Named("default")
		if err != nil {
			t.Fatal(err)
		}
		s := setting(&sc, work{n: 40_000, in: 400, out: 60, maxTokens: 120}, 1)
		usual := rehearse(sc, 1, s)
		s.Outages = []Outage{{From: time.Minute, Until: 11 * time.Minute, Fails: fails}}
		o := rehearse(sc, 1, s)
		noneErrored(t, o)
		if most := usual.Makespan() + 12*time.Minute; o.Makespan() > most {
			t.Errorf("took %v, %v without the outage", o.Makespan(), usual.Makespan())
		}
		// 300 broke off; then what the pool's retry budget has (20 and 20 a
		// minute), single probes of three lanes every 15 s, and some to notice.
		if o.Failures > 300+20+10*(20+3*4)+60 {
			t.Errorf("%d failures in ten minutes without network", o.Failures)
		}
	}
}

// A storm of 529s, whole and by half, with streams that break off in overload
// errors: no row errored.
func TestOverloadStormErrsNoRow(t *testing.T) {
	t.Parallel()
	sc := world(emulator.Uniform(2, scaleTier), func(sc *emulator.Scenario) {
		sc.Storm = emulator.Storm{Start: time.Minute, Every: 4 * time.Minute, Streams: 0.5, Phases: []emulator.StormPhase{
			{For: time.Minute, Share: 1}, {For: time.Minute, Share: 0.5},
		}}
	})
	o := rehearse(sc, 1, setting(&sc, work{n: 20_000, in: 500, out: 300}, 1))
	noneErrored(t, o)
	if o.Refused[emulator.Overload] == 0 || o.Faults == 0 {
		t.Errorf("%d refused, %d broke off: there was no storm", o.Refused[emulator.Overload], o.Faults)
	}
}

// Servers that answer 500 for minutes err no row: answers that come meanwhile
// to slow calls sent before do not prove that the lane works.
func TestServerErrorsEverywhereErrNoRow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		from := 40*time.Second + time.Duration(seed)*7*time.Second
		until := from + 200*time.Second
		sc := world(emulator.Uniform(3, scaleTier), func(sc *emulator.Scenario) {
			sc.Stragglers = emulator.Stragglers{Share: 0.3, Min: 4, Max: 10}
		})
		s := setting(&sc, work{n: 12_000, in: 500, out: 60}, seed)
		sent := map[sched.AttemptID]time.Duration{}
		meddle(&s, func(_ time.Duration, ev sched.Event) sched.Event {
			// Whatever is sent in the span is answered with 500.
			if id, ok := ended(ev); ok && from <= sent[id] && sent[id] < until {
				return &sched.Refused{Attempt: id, Refusal: sched.Refusal{Class: sched.ServerError}}
			}
			return ev
		})
		s.Observe = func(now time.Duration, _ sched.Event, acts []sched.Action) {
			for _, act := range acts {
				if a, ok := act.(*sched.Send); ok {
					sent[a.Attempt] = now
				}
			}
		}
		noneErrored(t, rehearse(sc, seed, s))
	}
}

// A row that alone meets a 500 every time is errored after three attempts, and
// holds nobody up.
func TestPoisonRowErrs(t *testing.T) {
	t.Parallel()
	sc, err := emulator.Named("default")
	if err != nil {
		t.Fatal(err)
	}
	s := setting(&sc, short, 1)
	const poison = 5_000
	call := map[sched.AttemptID]sched.CallID{}
	tries := 0
	meddle(&s, func(_ time.Duration, ev sched.Event) sched.Event {
		if id, ok := ended(ev); ok && call[id] == poison {
			tries++
			return &sched.Refused{Attempt: id, Refusal: sched.Refusal{Class: sched.ServerError}}
		}
		return ev
	})
	s.Observe = func(_ time.Duration, _ sched.Event, acts []sched.Action) {
		for _, act := range acts {
			if a, ok := act.(*sched.Send); ok {
				call[a.Attempt] = a.Call
			}
		}
	}
	o := rehearse(sc, 1, s)
	if o.Outcomes[sched.Errored] != 1 || o.Succeeded != o.N-1 {
		t.Errorf("%d of %d succeeded, %d errored", o.Succeeded, o.N, o.Outcomes[sched.Errored])
	}
	if tries != 3 {
		t.Errorf("the poison row was tried %d times", tries)
	}
}
