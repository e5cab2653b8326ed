package main

import (
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/gateway"
)

// Rows of batches count however they were answered, calls of lines as calls.
func TestTallyOfRows(t *testing.T) {
	l := newTally()
	l.observe(flotilla.Observation{Class: "succeeded", Tier: "batch", Final: true})
	l.observe(flotilla.Observation{Class: "succeeded", Tier: "sync", Attempt: 1, Final: true})
	l.observe(flotilla.Observation{Class: "succeeded", Tier: "sync", Attempt: 1, Final: true, Line: true})
	if got := strings.Join(l.lines(), "\n"); !strings.Contains(got, ", 2 rows of batches;") {
		t.Error(got)
	}
}

// Calls that a budget refused are told apart from those that failed.
func TestTallyOfRefusals(t *testing.T) {
	l := newTally()
	for _, r := range []gateway.Record{
		{Status: 429, Kind: "billing_error"}, {Status: 429, Kind: "billing_error"}, {Status: 400, Kind: "billing_error", Org: "high"}, {Status: 200},
	} {
		r.Route = "messages"
		l.told(&r)
	}
	if got := strings.Join(l.lines(), "\n"); !strings.HasPrefix(got, "1 call answered, 1 not answered, 2 refused by a budget;") {
		t.Error(got)
	}
}

// What caps keep for answers that broke off is told beside what was spent.
func TestTallyOfDoubt(t *testing.T) {
	l := newTally()
	l.observe(flotilla.Observation{Class: "succeeded", Model: "m", Attempt: 1, Final: true, Line: true, Cost: flotilla.USD(1)})
	if got := strings.Join(l.lines(), "\n"); strings.Contains(got, "doubt") {
		t.Error(got)
	}
	l.observe(flotilla.Observation{Class: "canceled", Model: "m", Attempt: 1, Final: true, Line: true, Cost: flotilla.USD(0.53), Estimated: true, InDoubt: true, Kept: flotilla.USD(0.47)})
	if got := strings.Join(l.lines(), "\n"); !strings.Contains(got, "; $1.53: m $1.53\n$0.47 more in doubt") {
		t.Error(got)
	}
}

// Rows that the fleet took back from a batch, to send them sooner, are no failures
// that anybody was spared.
func TestTallyOfRowsTakenBack(t *testing.T) {
	l := newTally()
	for range 40 {
		l.observe(flotilla.Observation{Class: "canceled", Tier: "batch"})
	}
	l.observe(flotilla.Observation{Class: "succeeded", Final: true, Attempt: 1})
	if got := strings.Join(l.lines(), "\n"); strings.Contains(got, "spared") {
		t.Error(got)
	}
	l.observe(flotilla.Observation{Class: "server", Attempt: 1})
	if got := strings.Join(l.lines(), "\n"); !strings.Contains(got, "and 1 other failures") {
		t.Error(got)
	}
}
