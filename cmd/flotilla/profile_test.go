package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/plan"
	"github.com/flotilla-llm/flotilla/price"
)

// slowProvider is unlike every table: half the requests of the lowest usage tier,
// and batches that proceed at an eighth of the usual rate.
const slowProvider = `
name: slow
base: tier-start
orgs:
  - {name: high, limits: {requests: 500, input: 1000000, output: 200000}, batch_queue: 4000, batch_rpm: 1000}
  - {name: batch, limits: {requests: 500, input: 1000000, output: 200000}, batch_queue: 4000, batch_rpm: 1000}
  - {name: low, limits: {requests: 500, input: 1000000, output: 200000}, batch_queue: 4000, batch_rpm: 1000}
batches: {rows_per_second: 0.25}
`

// TestProfileBeatsAssumptions measures a provider that is unlike the tables, and
// holds what plan says and what auto chooses, with the profile and without it,
// against rehearsals in the true provider, which neither of them sees.
func TestProfileBeatsAssumptions(t *testing.T) {
	if testing.Short() {
		t.Skip("measures batches for a quarter of a minute")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("slow.yaml", []byte(slowProvider), 0o600); err != nil {
		t.Fatal(err)
	}
	programAt(t, "http://127.0.0.1:1", "measure", "limits", "batch-depth", "--emulate", "slow.yaml")
	keepProfile(t)

	with, without := forecastAt(t, "http://127.0.0.1:1"), forecastAt(t, "https://api.anthropic.com")
	truth := trueRoutes(t)
	t.Logf("%-16s %-8s %12s %12s %12s", "plan", "takes", "says p50", "truth p50", "says p5–p95")
	for _, c := range []struct {
		name string
		p    *planReport
	}{{"with profile", with}, {"without", without}} {
		r := c.p.chosen()
		t.Logf("%-16s %-8s %12.0f %12.0f %6.0f–%.0f s", c.name, r.Name, r.P50S, truth[r.Name].P50.Seconds(), r.P5S, r.P95S)
	}
	if off, offWithout := offBy(with.chosen(), truth), offBy(without.chosen(), truth); off > 0.2 || off > offWithout/3 {
		t.Errorf("the forecast is off by a factor of %.2f with the profile, %.2f without", math.Exp(off), math.Exp(offWithout))
	}
	took, tookWithout := truth[with.Chosen].P50, truth[without.Chosen].P50
	if took > time.Hour || tookWithout < time.Hour {
		t.Errorf("balanced takes %s in truth with the profile (%s), %s without (%s): want within an hour, and beyond", took, with.Chosen, tookWithout, without.Chosen)
	}
}

func offBy(r *planRoute, truth map[string]*plan.Candidate) float64 {
	return math.Abs(math.Log(r.P50S / truth[r.Name].P50.Seconds()))
}

// keepProfile makes the profile as report does.
func keepProfile(t *testing.T) {
	t.Helper()
	results, err := lab.ReadAll(defaultResults)
	if err != nil {
		t.Fatal(err)
	}
	c := lab.Choose(results)
	if err := lab.MakeProfile(&c, price.Published(), time.Now()).Store(filepath.Join(".flotilla", lab.ProfileName)); err != nil {
		t.Fatal(err)
	}
}

// programAt runs the command where calls go to a base URL, and gives what it
// printed.
func programAt(t *testing.T, base string, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Run(t.Context(), args, []string{"ANTHROPIC_BASE_URL=" + base}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("flotilla %s: exit code %d\n%s%s", strings.Join(args, " "), code, &out, &errs)
	}
	return out.Bytes()
}

// The job that is planned: its batches alone would take two hours in truth.
const plannedRows, plannedIn, plannedOut = 40_000, 400, 60

// forecastAt is what plan says of it where calls go to a base URL.
func forecastAt(t *testing.T, base string) *planReport {
	t.Helper()
	var p planReport
	data := programAt(t, base, "plan", "--n", "40000", "--in-tokens", "400", "--out-tokens", "60", "--model", "claude-haiku-4-5", "--json")
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	if p.chosen() == nil {
		t.Fatalf("nothing was chosen: %s", data)
	}
	return &p
}

// trueRoutes are the job's routes in the provider itself.
func trueRoutes(t *testing.T) map[string]*plan.Candidate {
	t.Helper()
	sc, err := emulator.Load(strings.NewReader(slowProvider))
	if err != nil {
		t.Fatal(err)
	}
	j := plan.Job{World: &sc, Start: time.Now(), Seed: 7, Classes: []plan.Class{{
		Model: "claude-haiku-4-5-20251001", Pool: "haiku-4.5", Family: "haiku", Rows: plannedRows, In: plannedIn, Out: plannedOut, MaxTokens: 4 * plannedOut,
	}}}
	for i := range sc.Orgs {
		o := &sc.Orgs[i]
		j.Fleet.Orgs = append(j.Fleet.Orgs, flotilla.Org{Name: o.Name, BatchQueue: o.BatchQueue, BatchRPM: float64(o.BatchRPM)})
	}
	f, err := plan.Foresee(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	truth := map[string]*plan.Candidate{}
	for i := range f.Candidates {
		truth[f.Candidates[i].Name] = &f.Candidates[i]
	}
	return truth
}
