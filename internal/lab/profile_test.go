package lab

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// found is a result of a window with metrics.
func found(experiment, window, emulated string, ended time.Time, metrics ...Metric) *Result {
	for i := range metrics {
		m := &metrics[i]
		m.N = max(m.N, 1)
		if m.Low == 0 && m.High == 0 {
			m.Low, m.High = m.Value, m.Value
		}
	}
	return &Result{
		Schema: schemaVersion, Experiment: experiment, Question: "?", Window: window, Emulated: emulated, BaseURL: "https://api.example.test",
		Started: ended.Add(-time.Minute), Ended: ended, Versions: Versions{Flotilla: "test"}, Orgs: []OrgNote{{Name: "high", ID: "org-1"}},
		Hypothesis: Hypothesis{Text: "?", Binding: "none"}, Config: map[string]any{}, Verdict: "!", Confidence: 0.9, Metrics: metrics,
	}
}

const haiku = "claude-haiku-4-5-20251001"

func limit(name string, v float64) Metric {
	return Metric{Name: name, Org: "high", Pool: "haiku-4.5", Value: v, Unit: "x", Source: sourceAPI}
}

func profileOf(t *testing.T, now time.Time, results ...*Result) *Profile {
	t.Helper()
	c := Choose(results)
	p := MakeProfile(&c, price.Published(), now)
	path := filepath.Join(t.TempDir(), ProfileName)
	if err := p.Store(path); err != nil {
		t.Fatal(err)
	}
	back, err := ReadProfile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("it does not read back as it was written (-made +read):\n%s", diff)
	}
	return back
}

// A queue that was seen to stand still above a depth is held below it, unless
// the experiment that looks harder found another cause.
func TestProfileHoldsTheDepthThatProceeds(t *testing.T) {
	queue := found("limits", "any", "", epoch, limit("rpm", 1000), Metric{Name: "batch_queue", Org: "high", Value: 2e5, Unit: "rows"})
	depth := found("batch-depth", "any", "", epoch, Metric{Name: "batch_depth", Org: "high", Value: 2000, Low: 2000, High: 8000, Unit: "rows"})
	for class, want := range map[string]int64{"": 2500, "depth": 2500, "depth+hour": 2500, "size": 200_000, "none": 200_000} {
		results := []*Result{queue, depth}
		if class != "" {
			mechanism := found("batch-mechanism", "any", "", epoch)
			mechanism.Config["class"] = class
			results = append(results, mechanism)
		}
		o := flotilla.Org{Name: "high"}
		profileOf(t, epoch, results...).Teach(&o, "org-1", epoch)
		if o.BatchQueue != want {
			t.Errorf("class %q: a queue of %d rows, want %d", class, o.BatchQueue, want)
		}
	}
}

func TestProfileTeachesWhatWasMeasured(t *testing.T) {
	p := profileOf(t, epoch,
		found("limits", "any", "", epoch, limit("rpm", 1000), limit("itpm", 2e6), limit("otpm", 4e5), Metric{Name: "batch_queue", Org: "high", Value: 2e5, Unit: "rows"}),
		found("refill", "any", "", epoch,
			Metric{Name: "refill_itpm", Org: "high", Pool: "haiku-4.5", Value: 1.2e6, Low: 1.19e6, High: 1.21e6, Unit: "x"}, // headers lie
			Metric{Name: "refill_rpm", Org: "high", Pool: "haiku-4.5", Value: 1002, Low: 999, High: 1005, Unit: "x"},        // they do not
			Metric{Name: "refill_otpm", Org: "high", Pool: "haiku-4.5", Value: 2e5, Unit: "x", Provisional: true}),          // nobody knows
		found("batch-mechanism", "any", "", epoch,
			Metric{Name: "batch_row_rate", Org: "high", Value: 0.5, Unit: "rows/s"}, Metric{Name: "batch_overhead", Org: "high", Value: 90, Unit: "s"}),
		found("latency", "any", "", epoch,
			Metric{Name: "ttft", Org: "high", Model: haiku, Value: 0.5, Unit: "s"}, Metric{Name: "output_rate", Org: "high", Model: haiku, Value: 150, Unit: "tokens/s"}))
	o := flotilla.Org{Name: "renamed", PerMinute: map[string]flotilla.Limits{"haiku-4.5": {Requests: 50, Input: 50_000, Output: 10_000, Source: "published table"}}}
	if !p.Teach(&o, "org-1", epoch) {
		t.Fatal("it knew nothing")
	}
	l := o.PerMinute["haiku-4.5"]
	l.Source = ""
	if want := (flotilla.Limits{Requests: 1000, Input: 1.2e6, Output: 4e5}); l != want {
		t.Errorf("limits %+v, want %+v", l, want)
	}
	if want := (flotilla.Turnaround{Overhead: 90 * time.Second, RowRate: 0.5}); o.Turnaround != want || o.BatchQueue != 2e5 {
		t.Errorf("turnaround %+v, queue %d; want %+v, 200000", o.Turnaround, o.BatchQueue, want)
	}
	if q := p.PaceOf("claude-haiku-5-5", epoch); q == nil || q.First.Value != 0.5 {
		t.Errorf("pace of a model of the family: %+v", q)
	}
	if p.PaceOf("claude-sonnet-4-6", epoch) != nil {
		t.Error("a family that was not measured has a pace")
	}
	for _, o := range []flotilla.Org{{Name: "other"}, {Name: "high"}} {
		if p.Teach(&o, "org-2", epoch) {
			t.Errorf("%s with another id was taught", o.Name)
		}
	}
}

// What the Rate Limits API tells now is newer than a profile, unless the profile
// had shown that very figure to be wrong.
func TestProfileYieldsToWhatIsSaidNow(t *testing.T) {
	p := profileOf(t, epoch,
		found("limits", "any", "", epoch, limit("rpm", 1000), limit("itpm", 2e6), limit("otpm", 4e5)),
		found("refill", "any", "", epoch, Metric{Name: "refill_itpm", Org: "high", Pool: "haiku-4.5", Value: 1.2e6, Unit: "x"}))
	for _, c := range []struct {
		name      string
		said, got flotilla.Limits
	}{
		{"as it was", flotilla.Limits{Requests: 1000, Input: 2e6, Output: 4e5}, flotilla.Limits{Requests: 1000, Input: 1.2e6, Output: 4e5}},
		{"raised", flotilla.Limits{Requests: 4000, Input: 8e6, Output: 8e5}, flotilla.Limits{Requests: 4000, Input: 8e6, Output: 8e5}},
	} {
		c.said.Source = sourceAPI
		o := flotilla.Org{Name: "high", PerMinute: map[string]flotilla.Limits{"haiku-4.5": c.said}}
		p.Teach(&o, "org-1", epoch)
		l := o.PerMinute["haiku-4.5"]
		if l.Source = ""; l != c.got {
			t.Errorf("%s: %+v, want %+v", c.name, l, c.got)
		}
	}
}

func TestProfileGrowsStale(t *testing.T) {
	p := profileOf(t, epoch, found("limits", "any", "", epoch, limit("rpm", 1000)), found("limits", "old", "", epoch.Add(-20*24*time.Hour), limit("rpm", 500)))
	if p.Stale(epoch.Add(ProfileLife)) || !p.Stale(epoch.Add(ProfileLife+time.Second)) {
		t.Error("it is stale at another time than after 14 days")
	}
	o := flotilla.Org{Name: "high"}
	if p.Teach(&o, "org-1", epoch.Add(ProfileLife+time.Second)) {
		t.Errorf("a stale number was told: %+v", o.PerMinute)
	}
}

// An emulator's profile is of nobody else, and nobody's is of an emulator.
func TestProfileFits(t *testing.T) {
	live := profileOf(t, epoch, found("limits", "any", "", epoch))
	emulated := profileOf(t, epoch, found("limits", "any", "tier-start/1", epoch))
	for _, c := range []struct {
		p          *Profile
		base, mark string
		want       bool
	}{
		{live, "https://api.example.test", "", true},
		{live, "https://elsewhere.test", "", false},
		{live, "https://api.example.test", "tier-start/1", false},
		{emulated, "https://api.example.test", "", false},
		{emulated, "http://127.0.0.1:9", "tier-start/1", true},
		{emulated, "http://127.0.0.1:9", "tier-start/2", false},
	} {
		if got := c.p.Fits(c.base, c.mark); got != c.want {
			t.Errorf("profile of %q fits %s with mark %q: %v", c.p.Emulated, c.base, c.mark, got)
		}
	}
}

func TestChooseKeepsOneProvider(t *testing.T) {
	late := epoch.Add(time.Hour)
	c := Choose([]*Result{
		found("latency", "any", "default/1", late), found("limits", "any", "", epoch), found("knee", "peak", "", epoch), found("limits", "any", "", late), found("limits", "off-peak", "", epoch),
	})
	var got []string
	for _, r := range c.Results {
		got = append(got, r.name()+" "+r.Ended.Format("15"))
	}
	if want := []string{"limits-any 12", "limits-off-peak 11", "knee-peak 11"}; cmp.Diff(want, got) != "" {
		t.Errorf("kept %v, want %v", got, want)
	}
	if len(c.Left) != 1 || !strings.Contains(c.Left[0], "latency-any of the emulator (default/1)") {
		t.Errorf("left out %q", c.Left)
	}
}

// Numbers of several windows are a range, and no longer provisional for being of
// one alone.
func TestWindowsMakeRanges(t *testing.T) {
	rate := func(v, low, high float64) Metric {
		return Metric{Name: "knee_calls_per_min", Org: "high", Model: haiku, Value: v, Low: low, High: high, Unit: "calls/min"}
	}
	c := Choose([]*Result{found("knee", "off-peak", "", epoch, rate(1000, 990, 1010)), found("knee", "peak", "", epoch, rate(800, 700, 850))})
	n := c.Number([]string{"knee"}, "knee_calls_per_min", "high", haiku)
	if n == nil || n.Value != 900 || n.Low != 700 || n.High != 1010 || n.Windows != 2 {
		t.Fatalf("%+v", n)
	}
	if got := ranged(n); got != "900 (700–1,010)" {
		t.Errorf("printed as %q", got)
	}
	n.Windows = 1
	if got := ranged(n); got != "900 (700–1,010) (p)" {
		t.Errorf("of one window printed as %q", got)
	}
}
