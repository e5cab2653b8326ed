package lab

import (
	"math"
	"strings"
	"testing"
	"time"
)

// What is said of 30,000 rows goes on from what was said before it: they are no
// slower than "neither" only where nothing is slow.
func TestBeyondIsSaidByClass(t *testing.T) {
	began := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	healthy := seen{Lots: []outcome{
		{lot: lot{Name: armBig, Rows: beyondRows}, Created: began, Ended: began.Add(time.Minute + 15_000*time.Second), Succeeded: beyondRows},
		{lot: lot{Name: armBehind, Rows: canaryRows}, Created: began, Ended: began.Add(time.Minute + 100*time.Second), Succeeded: canaryRows},
	}}
	still := effect{Log: math.Log(56), SE: 0.2, N: 4}
	for _, c := range []struct {
		m    mechanism
		want string
	}{
		{mechanism{Class: "none", Overhead: time.Minute}, "Nothing starves batches: neither 8,000 rows in a queue or a batch nor the hour slows them by more than 2.5 (at most 1.0); nor do 30,000"},
		{mechanism{Class: "hour", Overhead: time.Minute, Hour: still, Fast: []int{3, 21}}, "The hour slows all batches 56.0 times (fast: 03, 21 UTC); at a fast hour neither a batch of 30,000 rows nor one behind it is slow"},
	} {
		r := &Result{Verdict: c.m.verdict(), Metrics: []Metric{{Name: "batch_row_rate", Value: 2}}}
		batchMechanism{}.addBeyond(&healthy, &c.m, r)
		if r.Verdict != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.m.Class, r.Verdict, c.want)
		}
	}
}

// A gain that is a matter of one side standing still is no number.
func TestGainThatIsNoNumber(t *testing.T) {
	for _, c := range []struct {
		factor float64
		want   string
	}{
		{20, "Splitting over 3 orgs is worth more than 3 orgs: in one queue the set starves, split it proceeds, 20.0 times as fast"},
		{5000, "Splitting over 3 orgs is worth more than 3 orgs: in one queue the set starves, split it proceeds (in one next to nothing was answered)"},
	} {
		r := &Result{Config: map[string]any{}}
		batchAdditivity{}.verdict(3, effect{Log: math.Log(c.factor), SE: 0.2, N: 3}, 0, 6, r)
		if r.Verdict != c.want {
			t.Errorf("%s\nwant\n%s", r.Verdict, c.want)
		}
	}
}

// Times in a verdict are for people: no 56m0s.
func TestVerdictTimesAreForPeople(t *testing.T) {
	began := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	canaries := func() seen {
		var s seen
		for _, l := range probe("high", time.Hour) {
			s.Lots = append(s.Lots, outcome{lot: l, Created: began, Ended: began.Add(time.Minute + time.Duration(l.Rows)*time.Second/2), Succeeded: l.Rows})
		}
		return s
	}
	rounds := []round{evenly("depth 500", "high", 500, depthChunk)}
	done := seen{Lots: []outcome{{lot: rounds[0].Lots[0], Created: began, Ended: began.Add(56 * time.Minute), Succeeded: 500}}}
	done.Lots[0].Ended = began.Add(5 * time.Minute)
	p := &paced{probes: []seen{canaries(), canaries()}, done: map[int]seen{0: done}, before: map[int]int{0: 0}}
	r := &Result{Config: map[string]any{}}
	env := &Env{}
	batchDepth{}.result(env, "high", rounds, p, r)
	if !strings.Contains(r.Verdict, "500 queued rows end in 5.0 min,") {
		t.Error(r.Verdict)
	}
}
