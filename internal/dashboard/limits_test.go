package dashboard

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/journal"
)

// Each limit is shown by its best source, with what the others say.
func TestLimitsAndWhoSaysSo(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	profile := &lab.Profile{
		Schema: 1, Made: now, Measured: now.Add(-time.Hour), BaseURL: "https://api.anthropic.com", From: []lab.Origin{{Experiment: "refill", Window: "any", Confidence: 0.9}},
		Orgs: []lab.OrgProfile{{
			Name: "high", Pools: map[string]lab.PoolProfile{"sonnet-4.x": {Input: &lab.Number{Value: 3e6, Low: 2.9e6, High: 3.1e6, Source: "measured", From: "refill-any", At: now.Add(-time.Hour)}}},
			BatchQueue: &lab.Number{Value: 200_000, Low: 200_000, High: 200_000, Source: "Rate Limits API", From: "limits-any"},
		}},
	}
	path := filepath.Join(dir, "profile.json")
	if err := profile.Store(path); err != nil {
		t.Fatal(err)
	}
	snapshot := flotilla.Snapshot{Lanes: []flotilla.LaneState{
		{Org: "low", Pool: "sonnet-4.x", Tier: "sync", Cap: 100, Limits: flotilla.Limits{Requests: 4000, Input: 2e6}, Others: flotilla.Limits{Input: 5e5}},
		{Org: "high", Pool: "sonnet-4.x", Tier: "sync", Cap: 100, Limits: flotilla.Limits{Input: 5e6}, Others: flotilla.Limits{}},
	}}
	s := newShop(t, func(c *Config) {
		c.Profile, c.Provider, c.Mode = path, "https://api.anthropic.com", "serve"
		c.Snapshot = func(context.Context) (flotilla.Snapshot, error) { return snapshot, nil }
	})
	realm := journal.Realm{Provider: "https://api.anthropic.com"}
	note := func(lane string, at time.Time, values map[string]float64) {
		if err := s.journal.Notes(t.Context(), realm, lane, values, at); err != nil {
			t.Fatal(err)
		}
	}
	note("high/sonnet-4.x", now, map[string]float64{"itpm": 4e6, "rpm": 1000, "tokens_per_day": 2e7, "window": 12})
	note("low/sonnet-4.x", now.Add(-30*24*time.Hour), map[string]float64{"otpm": 4e5})
	s.dash.glance(t.Context())
	got := read[limitsJSON](s, "limits")
	var lines []string
	for _, r := range got.Rows {
		line := strings.Join([]string{r.Org, r.Pool, r.Tier, r.Limit, r.Unit, r.Source}, " ")
		for _, a := range r.Also {
			line += " | " + a.Source
		}
		lines = append(lines, line)
	}
	want := []string{
		"low sonnet-4.x sync rpm requests/min headers",
		"low sonnet-4.x sync itpm tokens/min headers",
		"low sonnet-4.x sync cap calls at once ours, of its family",
		"high sonnet-4.x sync rpm requests/min headers of an earlier run",
		"high sonnet-4.x sync itpm tokens/min measured | headers | headers of an earlier run",
		"high sonnet-4.x sync tpd tokens/day as refusals told",
		"high sonnet-4.x sync cap calls at once ours, of its family",
		"high  batch batch_queue rows Rate Limits API",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error("(-want +got):", diff)
	}
	itpm := got.Rows[4]
	if itpm.Value != 3e6 || *itpm.Low != 2.9e6 || *itpm.Confidence != 0.9 || itpm.Others == nil || *itpm.Others != 0 || itpm.Also[0].Value != 5e6 {
		t.Errorf("input of high: %+v", itpm)
	}
	if o := got.Rows[1].Others; o == nil || *o != 5e5 {
		t.Errorf("others on low: %v", o)
	}
	if got.Rows[3].Others != nil {
		t.Error("what others send is known though no header told a limit")
	}
	if p := got.Profile; p == nil || p.Stale || p.AgeS < 3500 {
		t.Errorf("the profile: %+v", p)
	}
}

// A profile of an emulator, or one that is too old, is not gone by.
func TestAProfileOfSomethingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	number := &lab.Number{Value: 7e6, Source: "measured"}
	store := func(mark string, age time.Duration) {
		p := &lab.Profile{
			Schema: 1, Measured: time.Now().Add(-age), BaseURL: "https://api.anthropic.com", Emulated: mark,
			Orgs: []lab.OrgProfile{{Name: "high", Pools: map[string]lab.PoolProfile{"haiku-4.5": {Input: number}}}},
		}
		if err := p.Store(path); err != nil {
			t.Fatal(err)
		}
	}
	s := newShop(t, func(c *Config) { c.Profile, c.Provider = path, "https://api.anthropic.com" })
	if got := read[limitsJSON](s, "limits"); got.Profile != nil || len(got.Rows) != 0 || len(got.Faults) != 0 {
		t.Errorf("without a profile: %+v", got)
	}
	store("default/1", time.Hour)
	if got := read[limitsJSON](s, "limits"); got.Profile != nil || len(got.Rows) != 0 {
		t.Errorf("an emulator's: %+v", got)
	}
	store("", 15*24*time.Hour)
	if got := read[limitsJSON](s, "limits"); !got.Profile.Stale || len(got.Rows) != 1 || got.Rows[0].rank != 0 {
		t.Errorf("an old one: %+v", got)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read[limitsJSON](s, "limits"); len(got.Faults) != 1 {
		t.Errorf("a broken one: %+v", got)
	}
}
