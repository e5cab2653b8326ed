package main

import (
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/price"
)

// planned is a runner whose plan is known: 9,000 calls of Sonnet over one org.
func planned() *runner {
	tokens := 300
	return &runner{
		crew:  crew{settings: &Settings{Orgs: []OrgSetting{{Org: flotilla.Org{Name: "high"}}}, Conc: map[string]int{}}},
		flags: &runFlags{maxTokens: &tokens},
		plan: job.Plan{
			Rows: 9000, Pending: 9000, Models: []string{"claude-sonnet-4-6"}, Tokens: 9000 * 100,
			Classes:  []job.Class{{Model: "claude-sonnet-4-6", Rows: 9000, In: 100, Out: 180, MaxTokens: 300}},
			Expected: 9000 * price.Dollar / 400, Worst: 9000 * price.Dollar / 200,
		},
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
