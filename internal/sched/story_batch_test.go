package sched

import (
	"fmt"
	"math"

	"github.com/cockroachdb/datadriven"
)

// The part of the little language that is about batches.

func (s *story) batchEvent(d *datadriven.TestData) Event {
	switch d.Cmd {
	case "batch-lane":
		return &AddLane{Lane: LaneConfig{
			Org: s.arg(d, "org", "high"), Pool: s.arg(d, "pool", "p"), Tier: Batch, Queue: s.int(d, "queue", 0),
			BatchRPM: float64(s.int(d, "rpm", 4000)), Others: s.int(d, "others", 0), Parallel: int(s.int(d, "parallel", 0)),
		}}
	case "route":
		return &SetRoute{Stream: StreamID(s.int(d, "stream", 0)), Route: s.route(d)}
	case "backlog":
		return &Backlog{
			Stream: StreamID(s.int(d, "stream", 0)), Pool: s.c.Pool(s.arg(d, "pool", "p")), Rows: s.int(d, "n", 0),
			Bytes: float64(s.int(d, "bytes", 1000)), Worst: float64(s.int(d, "worst", 10)), In: 100, Out: 20, MaxOut: 100,
		}
	case "gathered":
		return &Gathered{Batch: s.batch(d), Rows: s.int(d, "n", 0), Bytes: s.int(d, "bytes", 0), Worst: s.int(d, "worst", 0)}
	case "adopt":
		return &AdoptBatch{
			Stream: StreamID(s.int(d, "stream", 0)), Lane: LaneID(s.int(d, "lane", 1)), Rows: s.int(d, "n", 0), Worst: s.int(d, "worst", 0),
			CreatedAt: s.now - s.duration(s.arg(d, "age", "0s")), Known: !d.HasArg("unknown"), Sure: !d.HasArg("unsure"), Canceling: d.HasArg("canceling"),
		}
	case "queue-seen":
		return &QueueSeen{Lane: LaneID(s.int(d, "lane", 1)), Others: s.int(d, "others", 0), Cap: s.int(d, "cap", 0)}
	}
	return s.batchAnswer(d)
}

func (s *story) batchAnswer(d *datadriven.TestData) Event {
	switch d.Cmd {
	case "created":
		return &BatchCreated{Batch: s.batch(d), Sure: !d.HasArg("unsure")}
	case "create-refused":
		return &BatchRefused{Batch: s.batch(d), Refusal: s.refusal(d), TooBig: d.HasArg("too-big")}
	case "create-failed":
		return &BatchFailed{Batch: s.batch(d), Failure: Failure(s.word(failureNames, s.arg(d, "how", "")))}
	case "absent":
		return &BatchAbsent{Batch: s.batch(d), Asked: !d.HasArg("unanswered")}
	case "polled":
		e := &BatchPolled{Batch: s.batch(d), State: BatchState(s.word(batchStates, s.arg(d, "state", "running")))}
		if after := s.arg(d, "after", ""); after != "" {
			e.RetryAfter = s.duration(after)
		}
		if s.arg(d, "class", "") != "" {
			rf := s.refusal(d)
			e.Refusal = &rf
		}
		return e
	case "collected":
		n := s.int(d, "ok", 0)
		return &BatchCollected{
			Batch: s.batch(d), Succeeded: n, Back: s.int(d, "back", 0), Cost: s.int(d, "cost", 0), Doubt: s.int(d, "doubt", 0),
			Expired: s.int(d, "expired", 0), Usage: Usage{Output: 20 * n}, Foreign: d.HasArg("foreign"),
		}
	case "uncollected":
		return &BatchUncollected{Batch: s.batch(d)}
	}
	s.t.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
	return nil
}

var batchStates = []string{"running", "canceling", "ended", "missing", "unknown"}

func (s *story) batch(d *datadriven.TestData) BatchID {
	return BatchID(s.number(d.CmdArgs[0].Key))
}

// route takes hybrid, alone, or a target.
func (s *story) route(d *datadriven.TestData) Route {
	switch r := s.arg(d, "route", ""); r {
	case "":
		return Route{}
	case "hybrid":
		return Route{Batch: true}
	case "alone":
		return Route{Batch: true, NoSync: true}
	case "patient":
		return Route{Batch: true, Target: Never}
	default:
		return Route{Batch: true, Target: s.duration(r)}
	}
}

func (s *story) printBatch(a Action) {
	w, now := &s.out, when(s.now)
	switch a := a.(type) {
	case *Gather:
		fmt.Fprintf(w, "%s gather batch %d for stream %d on lane %d, %d rows, worst %d\n", now, a.Batch, a.Stream, a.Lane, a.Rows, a.Worst)
		s.gathered = append(s.gathered, *a)
	case *PersistBatch:
		fmt.Fprintf(w, "%s persist batch %d, worst %d\n", now, a.Batch, a.Worst)
	case *SubmitBatch:
		fmt.Fprintf(w, "%s create batch %d on lane %d, try %d%s\n", now, a.Batch, a.Lane, a.Try, flag(a.Probe, ", a probe"))
	case *FindBatch:
		fmt.Fprintf(w, "%s find batch %d\n", now, a.Batch)
	case *PollBatch:
		fmt.Fprintf(w, "%s poll batch %d\n", now, a.Batch)
	case *CancelBatch:
		fmt.Fprintf(w, "%s cancel batch %d%s\n", now, a.Batch, [...]string{"", ", which is late", ", sync will be sooner", ", which is stalled"}[a.Why])
	case *CollectBatch:
		fmt.Fprintf(w, "%s collect batch %d\n", now, a.Batch)
	case *ReleaseBatch:
		fmt.Fprintf(w, "%s release batch %d%s%s\n", now, a.Batch, flag(a.Refused, " for "+classNames[a.Why]), flag(a.Lost, ", lost"))
	case *ListBatches:
		fmt.Fprintf(w, "%s list the queue of lane %d\n", now, a.Lane)
	}
}

// gatherAll answers the Gathers of the last event in full, one after the other,
// as a source does that has all the rows.
func (s *story) gatherAll() {
	for len(s.gathered) > 0 {
		g := s.gathered[0]
		s.gathered = s.gathered[1:]
		s.step(&Gathered{Batch: g.Batch, Rows: g.Rows, Bytes: 1000 * g.Rows, Worst: g.Worst})
	}
}

// seeRunning lets time pass while every batch that is asked about still runs,
// its cancel included.
func (s *story) seeRunning(d *datadriven.TestData) {
	end := s.duration(d.CmdArgs[0].Key)
	for n := 0; s.c.Next() <= end; n++ {
		if n > 10_000 {
			s.t.Fatalf("still ticking at %v", s.now)
		}
		s.now = s.c.Next()
		for _, a := range s.c.Step(s.now, &Tick{}) {
			s.print(a)
			switch a := a.(type) {
			case *PollBatch:
				s.polled = append(s.polled, a.Batch)
			case *CancelBatch:
				s.polled = append(s.polled, -a.Batch)
			case *ListBatches:
				s.listed = append(s.listed, a.Lane)
			}
		}
		for ; len(s.polled) > 0; s.polled = s.polled[1:] {
			if id := s.polled[0]; id < 0 {
				s.step(&BatchPolled{Batch: -id, State: BatchCanceling})
			} else {
				s.step(&BatchPolled{Batch: id})
			}
		}
		for ; len(s.listed) > 0; s.listed = s.listed[1:] {
			s.step(&QueueSeen{Lane: s.listed[0]})
		}
	}
	s.now = end
}

func (s *story) batchViews() {
	for _, b := range s.c.Batches() {
		fmt.Fprintf(&s.out, "%d: %d rows on lane %d, %s%s%s%s%s\n", b.Batch, b.Rows, b.Lane, batchStates[b.State], flag(!b.Placed, ", not placed"),
			flag(b.Placed && !b.Sure, ", not sure"), flag(b.Stalled, ", stalled"), flag(b.Canceling, ", canceling"))
	}
	for i, v := range s.c.Lanes() {
		if v.Tier == Batch {
			fmt.Fprintf(&s.out, "lane %d: %d batches of %.4g, %d rows queued of %d, waits for %s%s\n", i, v.InFlight, math.Floor(v.Window), v.Queued, v.Queue,
				limitWords[v.Waiting], flag(v.Closed, ", closed for "+classNames[v.Class]))
		}
	}
	for i := range s.c.nextID {
		v := s.c.Stream(StreamID(i))
		fmt.Fprintf(&s.out, "stream %d: %d rows in %d batches%s%s%s%s\n", i, v.Batched, v.Batches, flag(v.Rescuing, ", rescuing"),
			flag(v.OnlyIneligible, ", wants only what no batch may carry"), flag(v.BudgetBound, fmt.Sprintf(", stopped by ledger %d", v.Ledger)), flag(v.AllClosed, ", all lanes closed"))
	}
}
