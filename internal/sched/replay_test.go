package sched

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEventsRoundTrip: every kind of event survives its line of a log.
func TestEventsRoundTrip(t *testing.T) {
	events := []Event{
		&Tick{}, &AddLane{Lane: LaneConfig{Org: "a", Pool: "p", Cap: 3, DayUse: []DayUse{{Start: -time.Hour, Tokens: 5}}}},
		&AddStream{Stream: StreamConfig{Priority: Interactive, Ledgers: []LedgerID{1}}}, &AddLedger{Ledger: Ledger{Limit: -1}},
		&Offer{Calls: []Call{{ID: 7, Worst: 9, InDoubt: true}}}, &Exhausted{Stream: 1}, &Withdraw{Call: 2}, &CloseStream{Stream: 1},
		&PauseStream{Stream: 1, Paused: true}, &PauseLane{Lane: 1, Paused: true},
		&Headers{Attempt: 3, Reading: Reading{Known: 1, Limit: [NumDims]float64{5}, ResetIn: [NumDims]time.Duration{-time.Second}}},
		&Progress{Attempt: 3, Out: 4}, &Done{Attempt: 3, Usage: Usage{Input: 1, Output: 2}, Cost: 3},
		&Refused{Attempt: 3, Refusal: Refusal{Class: Acceleration, CeilingNow: 1, CeilingNext: 2}}, &Failed{Attempt: 3, Failure: Cut},
		&Learn{Lane: 1, TokensPerDay: 5, Source: "api"}, &SetCap{Group: 1, Cap: 2}, &SetLedger{Ledger: 1, Limit: 2}, &Woke{},
		&SetRoute{Stream: 1, Route: Route{Batch: true, Target: time.Hour}}, &Backlog{Stream: 1, Pool: 2, Rows: 3, Worst: 4.5},
		&Gathered{Batch: 1, Rows: 2, Bytes: 3, Worst: 4}, &BatchCreated{Batch: 1, Sure: true},
		&BatchRefused{Batch: 1, Refusal: Refusal{Class: QueueFull}, TooBig: true}, &BatchFailed{Batch: 1, Failure: Reset},
		&BatchAbsent{Batch: 1, Asked: true}, &BatchPolled{Batch: 1, State: BatchUnknown, Refusal: &Refusal{Class: Auth}},
		&BatchCollected{Batch: 1, Succeeded: 2, Back: 3, Cost: 4, Usage: Usage{Output: 5}}, &BatchUncollected{Batch: 1},
		&AdoptBatch{Stream: 1, Rows: 2, CreatedAt: -time.Hour, Known: true}, &QueueSeen{Lane: 1, Others: 2, Cap: 3},
	}
	if len(events) != len(eventKinds) {
		t.Errorf("%d events here, %d kinds", len(events), len(eventKinds))
	}
	for _, ev := range events {
		line, err := AppendEvent(nil, 5*time.Second, ev)
		if err != nil {
			t.Fatal(err)
		}
		now, got, err := DecodeEvent(line)
		if err != nil || now != 5*time.Second {
			t.Fatalf("%s: %v, %v", line, now, err)
		}
		if d := cmp.Diff(ev, got); d != "" {
			t.Errorf("%T: %s", ev, d)
		}
	}
}

// TestReplayNamesTheLine: a torn log says where.
func TestReplayNamesTheLine(t *testing.T) {
	_, err := Replay(Config{}, strings.NewReader("{\"t\":1,\"k\":\"tick\"}\n{\"t\":2,\"k\":\"ti"), func(time.Duration, Event, []Action) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error is %v", err)
	}
}

// FuzzDecodeEvent: no line makes the reader or a core panic, and what is read
// is written the same again.
func FuzzDecodeEvent(f *testing.F) {
	for _, s := range []string{
		`{"t":0,"k":"add_lane","e":{"Lane":{"Org":"a","Pool":"p","Cap":2}}}`,
		`{"t":1,"k":"add_stream","e":{"Stream":{"Ledgers":[0]}}}`,
		`{"t":2,"k":"offer","e":{"Calls":[{"ID":1,"Stream":0,"Pool":0,"In":5,"MaxOut":5,"Worst":9}]}}`,
		`{"t":3,"k":"done","e":{"Attempt":1,"Usage":{"Output":3}}}`,
		`{"t":4,"k":"refused","e":{"Attempt":1,"Refusal":{"Class":1,"Dim":2,"Named":true,"RetryAfter":1000000000}}}`,
		`{"t":5,"k":"backlog","e":{"Rows":500,"Bytes":1e300,"Worst":-1}}`,
		`{"t":5,"k":"gathered","e":{"Batch":1,"Rows":90,"Worst":100}}`, `{"t":5,"k":"batch_created","e":{"Batch":2,"Sure":true}}`,
		`{"t":5,"k":"batch_polled","e":{"Batch":2,"State":4,"Refusal":{"Class":5}}}`, `{"t":5,"k":"batch_collected","e":{"Batch":1,"Succeeded":9}}`,
		`{"t":5,"k":"adopt_batch","e":{"Lane":1,"Rows":9,"CreatedAt":-9000000000000000000,"Known":true}}`,
		`{"t":5,"k":"set_route","e":{"Route":{"Batch":true,"Target":-5}}}`, `{"t":5,"k":"queue_seen","e":{"Lane":1,"Others":-1,"Cap":3}}`,
		`{"t":5,"k":"woke"}`, `{"t":6,"k":"nothing"}`, `{`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		now, ev, err := DecodeEvent(line)
		if err != nil {
			return
		}
		again, err := AppendEvent(nil, now, ev)
		if err != nil {
			t.Fatal(err)
		}
		_, same, err := DecodeEvent(bytes.TrimSpace(again))
		if err != nil || reflect.TypeOf(ev) != reflect.TypeOf(same) {
			t.Fatalf("%s: %v", again, err)
		}
		c := New(Config{})
		c.Step(0, &AddLane{Lane: LaneConfig{Org: "a", Pool: "p", Cap: 2}})
		c.Step(0, &AddStream{})
		c.Step(0, &Offer{Calls: []Call{{ID: 1, In: 5, MaxOut: 5, Worst: 9}}})
		c.Step(0, &AddLane{Lane: LaneConfig{Org: "a", Pool: "p", Tier: Batch}})
		c.Step(0, &SetRoute{Route: Route{Batch: true, Target: time.Hour}})
		c.Step(0, &Backlog{Rows: 300, Bytes: 10, Worst: 1})
		c.Step(0, &QueueSeen{Lane: 1})
		c.Step(0, &Gathered{Batch: 2, Rows: 20, Worst: 5})
		c.Step(now, ev)
		for range 3 {
			c.Step(min(max(c.Next(), now), 1<<50), &Tick{})
			for _, s := range c.streams {
				c.Stream(s.id)
			}
			c.Lanes()
			c.Batches()
		}
	})
}
