package main

import (
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
)

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
