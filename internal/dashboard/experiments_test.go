package dashboard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// aResult is what an experiment might have found.
func aResult(experiment, window string, ended time.Time) *lab.Result {
	return &lab.Result{
		Schema: 1, Experiment: experiment, Question: "How fast <b>is</b> it?", Window: window, BaseURL: "https://api.anthropic.com", Started: ended.Add(-time.Minute), Ended: ended,
		Versions: lab.Versions{Flotilla: "test", Go: "go", API: "2023-06-01", PriceTable: "2026-11-01"}, Orgs: []lab.OrgNote{{Name: "high", ID: "id"}},
		Config: map[string]any{"shape": "small"}, Hypothesis: lab.Hypothesis{Text: "Fast.", Binding: "none"},
		Verdict: "It is <script>fast</script>", Confidence: 0.8, Cost: lab.Bill{Total: 1_500_000_000, Lines: []lab.BillLine{{Org: "high", Model: "claude-haiku-4-5", Tier: "sync", Calls: 1, Sum: 1_500_000_000}}},
		Metrics: []lab.Metric{{Name: "p50", Org: "high", Model: "claude-haiku-4-5", Value: 1, Unit: "s", Low: 0.9, High: 1.1, N: 10}},
	}
}

func storeResult(t testing.TB, dir string, r *lab.Result) {
	t.Helper()
	if err := r.Store(&lab.Env{Dir: dir, Window: r.Window}); err != nil {
		t.Fatal(err)
	}
}

func TestExperiments(t *testing.T) {
	dir, figures := t.TempDir(), t.TempDir()
	s := newShop(t, func(c *Config) { c.LabDir, c.Figures = dir, figures })
	if list := read[[]experimentJSON](s, "experiments"); len(list) != 0 {
		t.Errorf("nothing was measured: %+v", list)
	}
	storeResult(t, dir, aResult("latency", "peak", epoch))
	storeResult(t, dir, aResult("callable", "any", epoch.Add(time.Hour)))
	emulated := aResult("knee", "any", epoch.Add(2*time.Hour))
	emulated.Emulated = "default/1"
	storeResult(t, dir, emulated)
	list := read[[]experimentJSON](s, "experiments")
	if len(list) != 3 || list[0].Name != "knee-any" || *list[0].Emulated != "default/1" || len(list[0].Figures) != 0 || list[2].Name != "latency-peak" ||
		list[2].Title != "How fast <b>is</b> it?" || list[2].USD.Float() != 1.5 || list[2].Figures[0] != "latency" {
		t.Errorf("%+v", list)
	}
	if one := read[lab.Result](s, "experiments/latency-peak"); one.Verdict != "It is <script>fast</script>" || len(one.Metrics) != 1 {
		t.Errorf("%+v", one)
	}
	storeResult(t, dir, func() *lab.Result {
		r := aResult("latency", "peak", epoch.Add(3*time.Hour))
		r.Verdict = "measured anew"
		return r
	}())
	if list := read[[]experimentJSON](s, "experiments"); list[0].Verdict != "measured anew" {
		t.Errorf("a new result is not seen: %+v", list[0])
	}
	if err := os.WriteFile(filepath.Join(figures, "crossover.svg"), []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"experiments/../../secret": 404, "experiments/nothing-any": 404, "figures/latency.svg": 200, "figures/crossover.svg": 200, "figures/nothing.svg": 404,
		"figures/..%2f..%2fsecret.svg": 404, "figures/.svg": 404, "figures/latency.json": 404, "figures/latency.png": 404, "figures/a%00.svg": 404,
	} {
		w := s.ask("GET", "localhost", "/api/"+path, "")
		if w.Code != want && (want != 404 || w.Code != 307) {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
		if p := w.Header().Get("Content-Security-Policy"); strings.HasPrefix(path, "figures") && want == 200 && (!strings.Contains(p, "sandbox") || strings.Contains(p, "script") || w.Header().Get("Content-Type") != "image/svg+xml") {
			t.Errorf("%s: a figure may run something: %q", path, p)
		}
	}
}

func TestGuidelines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guide.md")
	s := newShop(t, func(c *Config) { c.Guidelines = path })
	if got := read[*guidelinesJSON](s, "guidelines"); got != nil {
		t.Errorf("there is none: %+v", got)
	}
	if err := os.WriteFile(path, []byte("# Title\n<script>x</script> \xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read[*guidelinesJSON](s, "guidelines"); got.Text != "# Title\n<script>x</script> \uFFFD" || got.Made == nil || got.Path != path {
		t.Errorf("%+v", got)
	}
	if err := os.Truncate(path, guidelinesMost+1); err != nil {
		t.Fatal(err)
	}
	if w := s.ask("GET", "localhost", "/api/guidelines", ""); w.Code != 500 {
		t.Errorf("a huge one: %d", w.Code)
	}
}
