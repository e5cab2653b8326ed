package flotilla_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

func TestNewRefusesWhatWouldLeakAKey(t *testing.T) {
	for _, c := range []struct {
		cfg  flotilla.Config
		says string
	}{
		{flotilla.Config{BaseURL: "http://example.com", Orgs: orgs("high")}, "plain http"},
		{flotilla.Config{BaseURL: "https://u:p@example.com", Orgs: orgs("high")}, "no user name"},
		{flotilla.Config{BaseURL: "https://example.com?x=1", Orgs: orgs("high")}, "no query"},
		{flotilla.Config{Orgs: []flotilla.Org{{Name: "a", Key: "k", BaseURL: "http://example.com"}}}, "plain http"},
		{flotilla.Config{Orgs: []flotilla.Org{{Name: "a", Key: "k\nx: y"}}}, "line break"},
		{flotilla.Config{Orgs: orgs("high"), Version: "2023-06-01\r\nx: y"}, "single words"},
		{flotilla.Config{Orgs: orgs("high"), Betas: []string{"a\nb"}}, "single words"},
	} {
		if _, err := flotilla.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.says)
		}
	}
	for _, base := range []string{"", "https://example.com/", "http://127.0.0.1:4010", "http://localhost:1", "http://[::1]:2"} {
		if _, err := flotilla.New(flotilla.Config{BaseURL: base, Orgs: orgs("high")}); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// A Dispatch that ends with requests left says so.
func TestDispatchSaysThatItIsIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		fleet := newFleet(t, w.config())
		var last flotilla.Result
		n := 0
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(50_000)), flotilla.Options{Deadline: time.Now().Add(5 * time.Second)}) {
			last = res
			n++
		}
		var incomplete *flotilla.IncompleteError
		if !errors.As(last.Err, &incomplete) || incomplete.Cause != flotilla.DeadlinePassed || n < 10 {
			t.Errorf("%d results, the last is %+v", n, last)
		}
	})
}

// Over plain http each call in flight needs a connection: MaxConns bounds both.
func TestMaxConnsBoundsWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		cfg := w.config()
		cfg.MaxConns = 7
		fleet := newFleet(t, cfg)
		report, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(300)}, flotilla.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range report.Lanes {
			if l.Peak > 7 {
				t.Errorf("%s: %d in flight", l.Org, l.Peak)
			}
		}
	})
}
