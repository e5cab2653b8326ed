package sched

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// trouble is a world of chance: lanes, streams, ledgers, refusals and failures
// of every kind, people who change their minds. Each draw is a seed of it, so
// that rapid shrinks to few calls and little trouble.
type trouble struct {
	*world
	rng     *rand.Rand
	worst   map[AttemptID]Persist
	share   float64 // of attempts that come to no good
	twin    []ledger
	streams int
	ledgers bool
}

func drawTrouble(t *testing.T, r *rapid.T) *trouble {
	seed := rapid.Uint64().Draw(r, "seed")
	w := &trouble{rng: rand.New(rand.NewPCG(seed, 1)), worst: map[AttemptID]Persist{}}
	w.share = rapid.SampledFrom([]float64{0, 0.02, 0.2, 0.6}).Draw(r, "trouble")
	w.ledgers = rapid.Bool().Draw(r, "ledgers")
	cfg := Config{
		Seed: seed, Hedge: rapid.Bool().Draw(r, "hedge"), Share: ShareMode(rapid.IntRange(0, 2).Draw(r, "share")),
		Ramp: RampMode(rapid.IntRange(0, 2).Draw(r, "ramp")), Epoch: time.Unix(1_800_000_017, 0),
	}
	w.world = newWorld(t, cfg)
	w.stream = rapid.Bool().Draw(r, "stream")
	w.latency = func(Send) time.Duration { return time.Duration((0.2 + w.rng.ExpFloat64()) * 1e9) }
	w.refuse, w.fail, w.record = w.refusal, w.failure, w.account
	if w.ledgers {
		for range 2 {
			w.twin = append(w.twin, ledger{limit: w.rng.Int64N(200_000)})
			w.step(&AddLedger{Ledger: Ledger{Limit: w.twin[len(w.twin)-1].limit}})
		}
	}
	lanes := rapid.IntRange(1, 4).Draw(r, "lanes")
	for i := range lanes {
		x := []float64{1, 0.05, 5}[w.rng.IntN(3)]
		lane := LaneConfig{Org: fmt.Sprint("org", i), Pool: "p", Group: int32(w.rng.IntN(lanes)), Cap: 1 + w.rng.IntN(40)}
		if w.rng.IntN(4) == 0 {
			lane.TokensPerDay = 100_000
		}
		w.lane(lane, 1000*x, 2e6*x, 4e5*x)
		w.lanes[i].silent = w.rng.IntN(5) == 0
	}
	w.streams = rapid.IntRange(1, 3).Draw(r, "streams")
	for range w.streams {
		s := StreamConfig{Priority: Priority(w.rng.IntN(3)), Weight: float64(1 + w.rng.IntN(3))}
		if w.ledgers {
			s.Ledgers = []LedgerID{0, 1}[:1+w.rng.IntN(2)]
		}
		w.step(&AddStream{Stream: s})
	}
	n := rapid.IntRange(1, 200).Draw(r, "calls")
	for i := 0; i < n; {
		k := min(n-i, 1+w.rng.IntN(60))
		w.offer(k, Call{
			Stream: StreamID(w.rng.IntN(w.streams)), In: int32(1 + w.rng.IntN(4000)), MaxOut: 600,
			Out: int32(1 + w.rng.IntN(500)), Worst: 1 + w.rng.Int64N(3000), InDoubt: w.rng.IntN(20) == 0,
			Affinity: []uint32{0, 0, 1, 2, 3}[w.rng.IntN(5)],
		})
		i += k
	}
	for i := range w.streams {
		w.step(&Exhausted{Stream: StreamID(i)})
	}
	return w
}

// refusal turns some attempts away, for no reason that the buckets know.
func (w *trouble) refusal(_ time.Duration, s Send) *Refusal {
	if w.rng.Float64() >= w.share/2 {
		return nil
	}
	rf := &Refusal{Class: []Class{RateLimited, Acceleration, Concurrency, Overloaded, ServerError, Unknown504, Conflict, Daily, Spend, Credit}[w.rng.IntN(10)]}
	switch rf.Class {
	case RateLimited, Acceleration:
		rf.RetryAfter = time.Duration(w.rng.IntN(8)) * time.Second
		rf.Named = w.rng.IntN(2) == 0
		rf.Dim = Dim(w.rng.IntN(3))
		if rf.Class == Acceleration && rf.Named {
			rf.CeilingNow = float64(10_000 * (1 + w.rng.IntN(20)))
			rf.CeilingNext = rf.CeilingNow + 10_000
		}
	case Spend, Daily, Credit:
		if w.rng.IntN(20) > 0 {
			rf.Class = RateLimited
			rf.RetryAfter = time.Second
		}
	}
	return rf
}

func (w *trouble) failure(time.Duration, Send) (Failure, bool) {
	if w.rng.Float64() >= w.share/2 {
		return 0, false
	}
	return []Failure{NotSent, ReusedReset, Reset, Timeout, Cut, StreamError}[w.rng.IntN(6)], true
}

// TestProperties holds every world of chance to what must always be true:
// money within its limits and as a slow twin counts it, one settle per call,
// windows within caps, an honest Next, nothing admissible left pending, and an
// end to it.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := drawTrouble(t, r)
		w.check = func() { w.verify(r) }
		w.wander(r)
		w.run(400 * time.Hour)
		w.over(r)
	})
}

// wander lets the first minutes pass with a person at the controls.
func (w *trouble) wander(r *rapid.T) {
	for range rapid.IntRange(0, 12).Draw(r, "interference") {
		w.run(w.now + time.Duration(w.rng.Int64N(int64(20*time.Second))))
		switch w.rng.IntN(6) {
		case 0:
			w.step(&SetCap{Group: int32(w.rng.IntN(4)), Cap: 1 + w.rng.IntN(20)})
		case 1:
			w.step(&Withdraw{Call: CallID(1 + w.rng.IntN(len(w.calls)))})
		case 2:
			w.step(&PauseStream{Stream: 0, Paused: true})
			w.run(w.now + 5*time.Second)
			w.step(&PauseStream{Stream: 0})
		case 3:
			w.now += time.Hour
			w.step(&Woke{})
		case 4:
			if w.ledgers {
				w.twin[0].limit += w.rng.Int64N(50_000)
				w.step(&SetLedger{Ledger: 0, Limit: w.twin[0].limit})
			}
		case 5:
			w.step(&Learn{Lane: 0, PerMinute: [NumDims]float64{w.lanes[0].r[0] * 60}})
		}
	}
}

// account keeps the slow twin of the ledgers: what each attempt reserved, and
// what became of it (facts/control.md B.10).
func (w *trouble) account(ev Event, acts []Action) {
	switch e := ev.(type) {
	case *Done:
		w.book(e.Attempt, e.Cost)
	case *Refused:
		if e.Refusal.Class == Unknown504 {
			w.book(e.Attempt, w.worst[e.Attempt].Worst)
		} else {
			w.book(e.Attempt, 0)
		}
	case *Failed:
		if e.Failure == NotSent {
			w.book(e.Attempt, 0)
		} else {
			w.book(e.Attempt, w.worst[e.Attempt].Worst)
		}
	}
	for _, a := range acts {
		if p, ok := a.(*Persist); ok {
			w.worst[p.Attempt] = *p
			for _, id := range w.ledgersOf(p.Call) {
				w.twin[id].reserved += p.Worst
			}
		}
	}
}

func (w *trouble) book(id AttemptID, cost int64) {
	p, ok := w.worst[id]
	if !ok {
		w.t.Fatalf("attempt %d ended without an intent, or twice", id)
	}
	delete(w.worst, id)
	for _, l := range w.ledgersOf(p.Call) {
		w.twin[l].reserved -= p.Worst
		w.twin[l].spent += cost
	}
}

func (w *trouble) ledgersOf(id CallID) []LedgerID {
	return w.c.of[w.calls[id].Stream].Ledgers
}

func (w *trouble) verify(r *rapid.T) {
	c := w.c
	for i := range c.ledgers {
		limit, spent, reserved := c.Ledger(LedgerID(i))
		if spent+reserved > limit {
			r.Fatalf("at %v: %d spent and %d reserved of %d", w.now, spent, reserved, limit)
		}
	}
	for i := range w.twin {
		limit, spent, reserved := c.Ledger(LedgerID(i))
		if t := &w.twin[i]; spent != t.spent || reserved != t.reserved || limit != t.limit {
			r.Fatalf("at %v ledger %d: %d spent and %d reserved of %d, the twin has %+v", w.now, i, spent, reserved, limit, *t)
		}
	}
	for _, l := range c.lanes {
		sum := time.Duration(0)
		for _, d := range c.Lane(l.id).Clocks {
			sum += d
		}
		if sum != c.now-l.opened {
			r.Fatalf("at %v the clocks of lane %d sum to %v", w.now, l.id, sum)
		}
	}
	for _, g := range c.groups {
		n := 0
		for _, l := range c.lanes {
			if l.group == g {
				n += l.n
			}
		}
		if n != g.n || g.n < 0 {
			r.Fatalf("at %v: group counts %d in flight, its lanes %d", w.now, g.n, n)
		}
	}
	if next := c.Next(); next <= w.now {
		r.Fatalf("at %v: Next is %v", w.now, next)
	}
	w.verifyBeginnings(r)
	w.honest(r)
}

// honest looks again, as no driver may: at once, and at a moment before Next.
func (w *trouble) honest(r *rapid.T) {
	c := w.c
	next := c.Next()
	early := w.now
	if w.rng.IntN(4) == 0 {
		early = w.now + time.Duration(w.rng.Float64()*float64(min(next, w.now+time.Minute, w.soonest())-w.now-time.Millisecond))
	}
	if early < c.now || early > w.until {
		return
	}
	c.now = early
	why := ""
	for _, l := range c.lanes {
		why += fmt.Sprintf(" %d %s open %v opens %v;", l.id, limitWords[l.waiting], l.open, l.opens)
		for d := range 3 {
			b := &l.b[d]
			why += fmt.Sprintf(" [%d lvl %.6g cap %.6g r %.4g credit %.6g want %.6g g %.3g top %.3g col %.4g cum %.5g]", d, b.lvl, b.cap, b.r, b.credit, b.want, b.g, b.top, b.colNow, b.cum)
		}
		why += fmt.Sprintf(" end %v at %v n %d\n", l.endgame, l.at, l.n)
	}
	for _, q := range c.pools[0].queues {
		why += fmt.Sprintf(" q stream %d prio %d n %d wait %s ledger %d:", q.stream.id, q.stream.Priority, q.n, limitWords[q.wait], q.ledger)
		for _, s := range q.front {
			why += fmt.Sprintf(" %d(%d,%d)", c.calls[s].id, c.calls[s].in, c.calls[s].worst)
		}
	}
	why += fmt.Sprint(" owed ", c.pools[0].owed, c.ledgers)
	c.out.reset()
	c.dispatch()
	for _, a := range c.out.acts {
		if n, ok := a.(*Note); !ok {
			r.Fatalf("at %v, before Next %v: %T %+v; it waited:%s", early, next, a, a, why)
		} else {
			w.notes = append(w.notes, *n)
		}
	}
}

func (w *trouble) soonest() time.Duration {
	if len(w.flow) == 0 {
		return Never
	}
	return max(w.now, w.flow[0].at)
}

// over says that every call has its end, but for those that money or a closed
// account holds.
func (w *trouble) over(r *rapid.T) {
	for i := range w.streams {
		v := w.c.Stream(StreamID(i))
		if v.InFlight > 0 || v.Queued > 0 && !v.BudgetBound && !v.AllClosed {
			r.Fatalf("at %v stream %d stands still: %+v\n%+v", w.now, i, v, w.c.Lanes())
		}
	}
	for i := range w.c.ledgers {
		if _, _, reserved := w.c.Ledger(LedgerID(i)); reserved != 0 {
			r.Fatalf("%d still reserved in ledger %d", reserved, i)
		}
	}
}

// TestReplays: the log of a run through a fresh core gives the same actions.
func TestReplays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var log, acts bytes.Buffer
		w := drawTrouble(t, r)
		cfg := w.c.cfg.Config
		// Run a recorded world anew, for drawTrouble has begun already.
		w2 := &recorder{world: newWorld(t, cfg), log: &log, acts: &acts}
		w2.replayOf(w)
		var again bytes.Buffer
		_, err := Replay(cfg, bytes.NewReader(log.Bytes()), func(now time.Duration, _ Event, a []Action) error {
			b, err := AppendActions(nil, now, a)
			again.Write(b)
			return err
		})
		if err != nil {
			r.Fatal(err)
		}
		if !bytes.Equal(acts.Bytes(), again.Bytes()) {
			r.Fatalf("actions differ: %d bytes, then %d", acts.Len(), again.Len())
		}
	})
}

// recorder keeps what a world told its core, and what that answered.
type recorder struct {
	*world
	log, acts *bytes.Buffer
}

func (w *recorder) replayOf(t *trouble) {
	w.latency, w.refuse, w.fail, w.stream = t.latency, t.refuse, t.fail, t.stream
	w.record = func(ev Event, acts []Action) {
		line, err := AppendEvent(nil, w.now, ev)
		if err != nil {
			w.t.Fatal(err)
		}
		w.log.Write(line)
		if line, err = AppendActions(nil, w.now, acts); err != nil {
			w.t.Fatal(err)
		}
		w.acts.Write(line)
	}
	for i := range t.lanes {
		w.lane(t.c.lanes[i].cfg, t.lanes[i].r[0]*60, t.lanes[i].r[1]*60, t.lanes[i].r[2]*60)
	}
	for _, s := range t.c.streams {
		cfg := s.StreamConfig
		cfg.Ledgers = nil
		w.step(&AddStream{Stream: cfg})
	}
	for id := CallID(1); int(id) <= len(t.calls); id++ {
		w.offer(1, t.calls[id])
	}
	for i := range t.streams {
		w.step(&Exhausted{Stream: StreamID(i)})
	}
	w.run(400 * time.Hour)
}
