package sched

import (
	"container/heap"
	"math"
	"testing"
	"time"
)

// world is a dumb server for tests: buckets that hold a minute, admission by
// level, truthful headers stamped at admission and delivered with the answer
// (or with the first byte when streaming). It is no imitation of the provider;
// package plan has tests against that.
type world struct {
	t     *testing.T
	c     *Core
	now   time.Duration
	lanes []serverLane
	calls map[CallID]Call
	flow  events
	seq   int

	stream  bool
	latency func(Send) time.Duration
	refuse  func(time.Duration, Send) *Refusal // nil: admit as the buckets say
	fail    func(time.Duration, Send) (Failure, bool)

	sends    int
	refused  int
	settled  map[CallID]Settle
	inFlight map[AttemptID]Send
	notes    []Note
	wants    []Want
	steps    int
	end      time.Duration // of the last settle
	check    func()
	until    time.Duration // end of the running run
	record   func(Event, []Action)
}

type serverLane struct {
	b      [NumDims]float64
	r      [NumDims]float64
	at     time.Duration
	silent bool // no headers
}

type happening struct {
	at  time.Duration
	seq int
	ev  Event
	att AttemptID
}

type events []happening

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(happening)) }
func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

func newWorld(t *testing.T, cfg Config) *world {
	return &world{
		t: t, c: New(cfg), calls: map[CallID]Call{},
		settled: map[CallID]Settle{}, inFlight: map[AttemptID]Send{},
		latency: func(Send) time.Duration { return time.Second },
	}
}

// lane opens a lane on a server lane with these limits a minute (0: none).
func (w *world) lane(cfg LaneConfig, rpm, itpm, otpm float64) {
	s := serverLane{at: w.now}
	for d, v := range []float64{rpm, itpm, otpm, 0} {
		s.b[d], s.r[d] = v, v/60
		if v == 0 {
			s.b[d] = math.Inf(1)
		}
	}
	w.lanes = append(w.lanes, s)
	w.step(&AddLane{Lane: cfg})
}

func (w *world) step(ev Event) {
	w.steps++
	acts := w.c.Step(w.now, ev)
	if w.record != nil {
		w.record(ev, acts)
	}
	for _, a := range acts {
		w.do(a)
	}
	if w.check != nil {
		w.check()
	}
}

func (w *world) do(a Action) {
	switch a := a.(type) {
	case *Send:
		w.sends++
		w.inFlight[a.Attempt] = *a
		w.arrive(*a)
	case *Settle:
		if old, ok := w.settled[a.Call]; ok {
			w.t.Fatalf("call %d settled twice: %+v, then %+v", a.Call, old, *a)
		}
		w.settled[a.Call] = *a
		w.end = w.now
	case *Abort:
		delete(w.inFlight, a.Attempt)
		w.at(w.now, a.Attempt, &Failed{Attempt: a.Attempt, Failure: Aborted})
	case *Note:
		w.notes = append(w.notes, *a)
	case *Want:
		w.wants = append(w.wants, *a)
	}
}

func (w *world) at(t time.Duration, id AttemptID, ev Event) {
	w.seq++
	heap.Push(&w.flow, happening{at: t, seq: w.seq, ev: ev, att: id})
}

func (l *serverLane) advance(now time.Duration) {
	dt := (now - l.at).Seconds()
	l.at = now
	for d := range l.b {
		if l.r[d] > 0 {
			l.b[d] = min(60*l.r[d], l.b[d]+l.r[d]*dt)
		}
	}
}

func (l *serverLane) reading() Reading {
	var rd Reading
	if l.silent {
		return rd
	}
	for d := range l.b {
		if l.r[d] > 0 {
			rd.Known |= 1 << d
			rd.Limit[d] = 60 * l.r[d]
			rd.Remaining[d] = math.Floor(max(0, l.b[d]))
			rd.ResetIn[d] = time.Duration((60*l.r[d] - l.b[d]) / l.r[d] * 1e9).Truncate(time.Second)
		}
	}
	return rd
}

func (w *world) arrive(s Send) {
	call := w.calls[s.Call]
	l := &w.lanes[s.Lane]
	l.advance(w.now)
	if w.fail != nil {
		if f, ok := w.fail(w.now, s); ok {
			w.at(w.now+w.latency(s), s.Attempt, &Failed{Attempt: s.Attempt, Failure: f})
			return
		}
	}
	rf := (*Refusal)(nil)
	if w.refuse != nil {
		rf = w.refuse(w.now, s)
	}
	need := [NumDims]float64{1, float64(call.In), 1, 0}
	for d := range need {
		if rf == nil && l.b[d] < need[d] {
			wait := time.Duration(math.Ceil((need[d]-l.b[d])/l.r[d])) * time.Second
			rf = &Refusal{Class: RateLimited, Dim: Dim(d), Named: true, RetryAfter: max(time.Second, wait)}
		}
	}
	if rf != nil {
		w.refused++
		w.at(w.now+20*time.Millisecond, s.Attempt, &Refused{Attempt: s.Attempt, Refusal: *rf, Reading: l.reading()})
		return
	}
	l.b[Requests]--
	l.b[Input] -= float64(call.In)
	l.b[Output] -= float64(call.Out)
	end := w.now + w.latency(s)
	if w.stream {
		w.at(w.now+(end-w.now)/4, s.Attempt, &Headers{Attempt: s.Attempt, Reading: l.reading()})
	}
	w.at(end, s.Attempt, &Done{
		Attempt: s.Attempt, Reading: l.reading(), Cost: call.Worst / 2,
		Usage: Usage{Input: int64(call.In), Output: int64(call.Out)},
	})
}

// offer hands n equal calls to a stream.
func (w *world) offer(n int, k Call) {
	calls := make([]Call, n)
	for i := range calls {
		k.ID = CallID(len(w.calls) + 1)
		calls[i] = k
		w.calls[k.ID] = k
	}
	w.step(&Offer{Calls: calls})
}

// run lets events and ticks happen until the end of them, or until.
func (w *world) run(until time.Duration) {
	w.until = until
	for ticks := 0; ; ticks++ {
		if ticks > 200_000 {
			w.t.Fatalf("at %v still ticking, for %v next: %+v", w.now, w.c.Next(), w.c.Lanes())
		}
		next := w.c.Next()
		if next <= w.now {
			w.t.Fatalf("Next %v is not after %v", next, w.now)
		}
		if len(w.flow) > 0 && w.flow[0].at <= next {
			if w.flow[0].at > until {
				break
			}
			h := heap.Pop(&w.flow).(happening)
			w.now = max(w.now, h.at)
			if _, ok := w.inFlight[h.att]; !ok {
				if f, ok := h.ev.(*Failed); !ok || f.Failure != Aborted {
					continue // aborted meanwhile
				}
			}
			if _, ok := h.ev.(*Headers); !ok {
				delete(w.inFlight, h.att)
			}
			w.step(h.ev)
			continue
		}
		if next == Never || next > until {
			break
		}
		w.now = next
		w.step(&Tick{})
	}
	if until < Never {
		w.now = until
	}
}

func (w *world) want(outcome Outcome, n int) {
	w.t.Helper()
	got := 0
	for _, s := range w.settled {
		if s.Outcome == outcome {
			got++
		}
	}
	if got != n {
		w.t.Fatalf("%d calls settled with outcome %d, want %d (of %d settled)", got, outcome, n, len(w.settled))
	}
}
