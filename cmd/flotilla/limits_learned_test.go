package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/journal"
)

// limitsOf runs limits against an emulator with the key of one org, and gives
// its rows by pool.
func limitsOf(t *testing.T, base, journalPath string, environ ...string) map[string]limitRow {
	t.Helper()
	environ = append(environ, "HOME="+t.TempDir(), "ANTHROPIC_API_KEY="+emulator.Key("high"))
	var out, errs bytes.Buffer
	args := []string{"limits", "--json", "--speed", "50", "--base-url", base, "--journal", journalPath}
	if code := Run(t.Context(), args, environ, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var r limitsReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	rows := map[string]limitRow{}
	for _, row := range r.Rows {
		rows[row.Pool] = row
	}
	return rows
}

// What the last runs learned of a lane is shown until the Rate Limits API says
// better, as long as it is young, and of this provider alone.
func TestLimitsShowWhatRunsLearned(t *testing.T) {
	base := newEmulator(t, 50)
	path := filepath.Join(t.TempDir(), "journal.db")
	if rows := limitsOf(t, base, path); rows["haiku-4.5"].Source != sourceUnknown {
		t.Errorf("without a journal: %+v", rows["haiku-4.5"])
	}
	j, err := journal.Open(t.Context(), path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	provider, err := flotilla.Provider(base)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	here, elsewhere := journal.Realm{Provider: provider, Emulated: "default/1"}, journal.Realm{Provider: provider}
	for _, n := range []struct {
		realm journal.Realm
		lane  string
		hints map[string]float64
		at    time.Time
	}{
		{here, "high/haiku-4.5", map[string]float64{"rpm": 1000, "itpm": 2e6, "otpm": 4e5, "tokens_per_day": 9e6}, now},
		{here, "high/sonnet-4.x", map[string]float64{"tokens_per_day": 7e6}, now},
		{here, "high/opus-4.x", map[string]float64{"rpm": 1000, "itpm": 2e6, "otpm": 4e5}, now.Add(-hintLife)},
		{elsewhere, "high/opus-5", map[string]float64{"rpm": 1000, "itpm": 2e6, "otpm": 4e5}, now},
	} {
		if err := j.Notes(t.Context(), n.realm, n.lane, n.hints, n.at); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	rows := limitsOf(t, base, path)
	if r := rows["haiku-4.5"]; r.RPM != 1000 || r.ITPM != 2e6 || r.OTPM != 4e5 || r.TPD != 9e6 ||
		r.Source != "headers, "+now.Local().Format("2006-01-02")+"; tokens/day as refusals told" {
		t.Errorf("learned: %+v", r)
	}
	if r := rows["sonnet-4.x"]; r.RPM != 0 || r.TPD != 7e6 {
		t.Errorf("a cap per day alone: %+v", r)
	}
	for _, pool := range []string{"opus-4.x", "opus-5"} {
		if r := rows[pool]; r.RPM != 0 || r.Source != sourceUnknown {
			t.Errorf("old or of another provider: %+v", r)
		}
	}
	rows = limitsOf(t, base, path, "ANTHROPIC_ADMIN_KEY="+emulator.AdminKey("high"))
	if r := rows["haiku-4.5"]; r.RPM != 30_000 || !strings.HasPrefix(r.Source, sourceRateLimits) {
		t.Errorf("with an admin key: %+v", r)
	}
}

// A cap per day holds for every pool, however the API orders them.
func TestLowestCapPerDayHolds(t *testing.T) {
	api := &rateLimits{pools: map[string]poolLimits{}}
	for pool, n := range map[string]int64{"a": 30, "b": 20, "c": 0, "d": 40, "e": 50} {
		api.pools[pool] = poolLimits{TokensPerDay: n}
	}
	for range 50 { // a map has another order each time
		for configured, want := range map[int64]int64{0: 20, 10: 10, 25: 20} {
			o := OrgSetting{Org: flotilla.Org{TokensPerDay: configured}}
			if o.take(api); o.TokensPerDay != want {
				t.Fatalf("%d configured: %d, want %d", configured, o.TokensPerDay, want)
			}
		}
	}
}
