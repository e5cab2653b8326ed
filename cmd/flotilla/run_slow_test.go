package main

import (
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/price"
)

// planned is a runner whose plan is known: 9,000 calls of Sonnet over one org.
func planned() *runner {
	tokens := 300
	return &runner{
		flags:    &runFlags{maxTokens: &tokens},
		settings: &Settings{Orgs: []OrgSetting{{Org: flotilla.Org{Name: "high"}}}, Conc: map[string]int{}},
		plan: job.Plan{
			Rows: 9000, Pending: 9000, Models: []string{"claude-sonnet-4-6"}, Tokens: 9000 * 100,
			Classes:  []job.Class{{Model: "claude-sonnet-4-6", Rows: 9000, In: 100, Out: 180, MaxTokens: 300}},
			Expected: 9000 * price.Dollar / 400, Worst: 9000 * price.Dollar / 200,
		},
	}
}

func TestCapThatEndsTheJobIsSaid(t *testing.T) {
	r := planned()
	r.settings.MaxSpend = 15 * price.Dollar
	if got, want := r.slowText(), "the cap of $15 is below the $22.50 expected: about 6,000 of 9,000 rows fit"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.plan.Spent = 14 * price.Dollar
	if got := r.slowText(); !strings.Contains(got, "about 400 of 9,000 rows fit") {
		t.Errorf("with $14 spent before: %q", got)
	}
}

func TestCapThatSlowsTheJobIsSaid(t *testing.T) {
	r := planned()
	r.settings.MaxSpend = r.plan.Expected + price.Dollar/100
	got := r.slowText()
	if !strings.Contains(got, "longer: near it fewer calls can be in flight, each held at its worst case of $0.0050") {
		t.Errorf("%q", got)
	}
	r.settings.MaxSpend = r.plan.Worst
	if got := r.slowText(); got != "" {
		t.Errorf("a cap at the worst case: %q", got)
	}
}

func TestCapOnCallsIsComparedWithLimits(t *testing.T) {
	r := planned()
	if got := r.slowText(); got != "" {
		t.Errorf("limits are not known: %q", got)
	}
	r.settings.Orgs[0].PerMinute = map[string]flotilla.Limits{"sonnet-4.x": {Requests: 30_000, Input: 10e6, Output: 10e6}}
	if got := r.slowText(); !strings.Contains(got, "the cap on calls in flight makes this about") {
		t.Errorf("%q", got)
	}
	r.settings.Conc["sonnet"] = 5000
	if got := r.slowText(); got != "" {
		t.Errorf("no cap to speak of: %q", got)
	}
}

// TestForecastHoldsTheTruth runs the bound both ways: what happens at the
// assumed latency lies in the range.
func TestForecastHoldsTheTruth(t *testing.T) {
	r := planned()
	fc := r.forecast()
	each := 1 + 180.0/75 // seconds an answer
	truth := time.Duration(9000 * each / 100 * float64(time.Second))
	if fc.soonest > truth || fc.latest < truth || fc.latest > 4*truth {
		t.Errorf("the range is %v to %v, at the assumed latency it takes %v", fc.soonest, fc.latest, truth)
	}
}
