package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// newEmulator starts an emulator at a speed and returns its base URL.
func newEmulator(t *testing.T, speed float64) string {
	t.Helper()
	server, err := emulator.New(emulator.Options{Seed: 1, Speed: speed})
	if err != nil {
		t.Fatal(err)
	}
	base, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return base
}

// runAgainstEmulator runs a command line against an emulator with the keys of
// its three orgs.
func runAgainstEmulator(t *testing.T, environ []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	base := newEmulator(t, 50)
	t.Chdir(t.TempDir())
	environ = append(environ, "HOME="+filepath.Join(t.TempDir(), "none"), "ANTHROPIC_BASE_URL="+base)
	for _, e := range envOrgs {
		environ = append(environ, e.variable+"="+emulator.Key(e.name))
	}
	var out, errs bytes.Buffer
	code = Run(t.Context(), append(args, "--speed", "50"), environ, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// The emulator publishes what interface.md says of its orgs; limits must show
// it, from the Rate Limits API and from a probe's headers alike.
func TestLimitsOfTheEmulator(t *testing.T) {
	type figures struct{ RPM, ITPM, OTPM float64 }
	want := map[string]figures{"high": {30_000, 10e6, 1e6}, "batch": {90_000, 8e6, 800e3}, "low": {4_000, 2e6, 400e3}}
	queues := map[string]float64{"high": 500_000, "batch": 500_000, "low": 100_000}
	var admin []string
	for org := range want {
		admin = append(admin, "ANTHROPIC_ADMIN_KEY_"+strings.ToUpper(org)+"="+emulator.AdminKey(org))
	}
	for _, c := range []struct {
		name, source string
		environ      []string
		args         []string
	}{
		{"admin keys", sourceRateLimits, admin, []string{"limits", "--json"}},
		{"probes", "headers of a probe", nil, []string{"limits", "--json", "--probe"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, code := runAgainstEmulator(t, c.environ, c.args...)
			var r limitsReport
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
				t.Fatalf("exit code %d, %v: %s", code, err, stderr)
			}
			got, gotQueues := map[string]figures{}, map[string]float64{}
			for _, row := range r.Rows {
				switch {
				case row.Pool == "sonnet-4.x" && row.Source == c.source:
					got[row.Org] = figures{row.RPM, row.ITPM, row.OTPM}
				case row.Pool == batchPool && row.Source == sourceRateLimits:
					gotQueues[row.Org] = row.Queue
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n%s", diff, stdout)
			}
			if diff := cmp.Diff(queues, gotQueues); c.environ != nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A probe costs what it says, and never more than was announced.
func TestProbeCostsWhatItSays(t *testing.T) {
	stdout, stderr, code := runAgainstEmulator(t, nil, "limits", "--json", "--probe", "--orgs", "low")
	var r limitsReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, stderr)
	}
	_, rest, _ := strings.Cut(stderr, "$")
	announced, _, _ := strings.Cut(rest, " ")
	most, err := price.Parse(announced)
	if err != nil {
		t.Fatalf("no announcement in %q", stderr)
	}
	var sum price.Nanos
	for _, row := range r.Rows {
		if row.Cost == "" {
			continue
		}
		cost, err := price.Parse(row.Cost)
		if err != nil {
			t.Fatal(err)
		}
		sum += cost
	}
	if sum <= 0 || sum > most {
		t.Errorf("probes cost $%s, announced at most $%s", sum.Exact(), most.Exact())
	}
}

func TestDoctorOnTheEmulator(t *testing.T) {
	stdout, stderr, code := runAgainstEmulator(t, nil, "doctor")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	for _, org := range []string{"high", "batch", "low"} {
		if !strings.Contains(stdout, "org "+org) {
			t.Errorf("org %s is not mentioned", org)
		}
	}
	if strings.Count(stdout, "emulated: default/1") != 3 {
		t.Errorf("the orgs are not said to be emulated:\n%s", stdout)
	}
}
