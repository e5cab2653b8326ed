package dashboard

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

func TestWhy(t *testing.T) {
	held := &flotilla.Snapshot{Lanes: []flotilla.LaneState{{Org: "high", Pool: "p", Tier: "sync", Waiting: "itpm"}, {Org: "low", Pool: "p", Tier: "sync", Waiting: "work"}}}
	on := func(org string, o flotilla.Observation) *flotilla.Observation {
		o.Org, o.Pool, o.Tier = org, "p", "sync"
		return &o
	}
	for _, c := range []struct {
		o    *flotilla.Observation
		want string
	}{
		{on("high", flotilla.Observation{Class: "succeeded", Attempt: 1, Final: true}), ""},
		{on("high", flotilla.Observation{Class: "succeeded", Attempt: 1, Final: true, Queued: 3200 * time.Millisecond}), "waited 3.20 s, held back by input tokens/min"},
		{on("low", flotilla.Observation{Class: "succeeded", Attempt: 1, Final: true, Queued: time.Second}), "waited 1.00 s"},
		{on("high", flotilla.Observation{Class: "steady", Attempt: 2, Queued: time.Second}), "rate-limited; tried again"},
		{on("high", flotilla.Observation{Class: "invalid", Attempt: 1, Final: true}), "the request was not accepted; given back to the caller"},
		{on("high", flotilla.Observation{Class: "transport", Attempt: 1, InDoubt: true}), "the connection broke off; tried again; it may have been billed"},
		{on("high", flotilla.Observation{Class: "canceled", Attempt: 1, Final: true}), "broken off by us or the caller"},
		{on("high", flotilla.Observation{Class: "of tomorrow", Attempt: 1, Final: true}), "of tomorrow; given back to the caller"},
	} {
		l := newCallLog()
		l.observe(epoch, c.o, held)
		got := ""
		if w := l.newest(1)[0].Why; w != nil {
			got = *w
		}
		if got != c.want {
			t.Errorf("%s of attempt %d: %q, want %q", c.o.Class, c.o.Attempt, got, c.want)
		}
	}
}

func TestRecentCallsAreTheLast(t *testing.T) {
	l := newCallLog()
	for i := range recentKept + 7 {
		l.observe(epoch.Add(time.Duration(i)*time.Second), &flotilla.Observation{Class: "succeeded", Final: i%2 == 0, Attempt: i + 1, Cost: 2, Estimated: i == 0}, nil)
	}
	got := l.newest(3)
	if len(got) != 3 || *got[0].Attempt != recentKept+7 || *got[2].Attempt != recentKept+5 {
		t.Errorf("the newest are %+v", got)
	}
	if all := l.newest(recentKept + 10); len(all) != recentKept || *all[recentKept-1].Attempt != 8 {
		t.Errorf("%d are kept", len(all))
	}
	l.observe(epoch, &flotilla.Observation{Class: "canceled"}, nil) // a row of a batch that was taken back
	if c := l.counted(); c.attempts != recentKept+7 || c.calls != (recentKept+8)/2 || c.succeeded != c.calls || c.cost != 2*(recentKept+7) || c.estimated != 2 {
		t.Errorf("counted: %+v", c)
	}
}
