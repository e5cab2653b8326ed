package lab

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/plot"
	"pgregory.net/rapid"
)

// drawn is a figure as SVG.
func drawn(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, name string, f *plot.Figure,
) string {
	t.Helper()
	svg, err := f.SVG()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(svg)
}

func TestEveryExperimentHasAFigure(t *testing.T) {
	for _, x := range All() {
		r := &Result{Experiment: x.Name(), Window: "peak", Emulated: "default/7", Verdict: "Something was found"}
		figures, err := Figures([]*Result{r}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if figures[x.Name()] == nil {
			t.Fatalf("%s has no figure", x.Name())
		}
		for name, f := range figures {
			svg := drawn(t, name, f)
			for _, want := range []string{"nothing to draw", "emulator", "default/7", "Provisional"} {
				if !strings.Contains(svg, want) {
					t.Errorf("%s, of an empty result, lacks %q", name, want)
				}
			}
		}
	}
	figures, err := Figures([]*Result{{Experiment: "tea-leaves", Window: "peak"}, {Experiment: "limits", Window: "peak"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "tea-leaves") || figures["limits"] == nil {
		t.Errorf("an unknown experiment: %v, %v", figures, err)
	}
}

// The experiments that take no time, as they come out of an emulator.
func TestFiguresOfRealResults(t *testing.T) {
	virtual(t, scenario(t, "lying-headers"), func(t *testing.T, env *Env, _ *emulator.Server) {
		for _, c := range []struct {
			x    Experiment
			want []string
		}{
			{Limits(), []string{"All 3 orgs may use up to 2M input tokens", "sonnet", "rows that may be", "3.34M"}},
			{Callable(), []string{"claude-sonnet-4-6", "no permission", "not found", ">yes<"}},
			{AdditivitySync(), []string{"their limits add up", "batch, while high", "above: shared"}},
			{Latency(), []string{"Haiku 4.5 after", "Opus 4.8", "to the first token"}},
		} {
			r, err := Run(t.Context(), env, c.x)
			if err != nil {
				t.Fatal(err)
			}
			figures, err := Figures([]*Result{r}, nil)
			if err != nil {
				t.Fatal(err)
			}
			name := c.x.Name()
			svg := drawn(t, name, figures[name])
			for _, want := range append(c.want, "lying-headers/1", name+"-test.json") {
				if !strings.Contains(svg, want) {
					t.Errorf("%s lacks %q", name, want)
				}
			}
			if strings.Contains(svg, "nothing to draw") {
				t.Errorf("%s draws nothing", name)
			}
		}
	})
}

// bent is a result of knee with one org that bends.
func bent(window string, ended time.Time) *Result {
	of := Metric{Org: "high", Pool: "sonnet-4.x", Model: kneeModel}
	top, conc := of, of
	top.Name, top.Value, top.Low, top.High = "knee_calls_per_min", 980, 970, 990
	conc.Name, conc.Value, conc.Low, conc.High = "knee_concurrency", 28, 27, 29
	return &Result{
		Experiment: "knee", Window: window, Ended: ended, Verdict: "found",
		Metrics: []Metric{top, conc},
		Series:  []Series{{Name: "throughput", Org: "high", Model: kneeModel, Points: [][]float64{{10, 350, 340, 360}, {100, 980, 970, 990}}}},
		Binding: []Bound{{Org: "high", Pool: "sonnet-4.x", Limit: "rpm"}},
	}
}

func TestFigureOfTwoWindows(t *testing.T) {
	figures, err := Figures([]*Result{bent("peak", epoch), bent("off-peak", epoch.Add(time.Hour))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"knee", "knees"} {
		svg := drawn(t, name, figures[name])
		for _, want := range []string{"peak", "off-peak", "knee 28 (27–29)"} {
			if !strings.Contains(svg, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		if strings.Contains(svg, "Provisional") {
			t.Errorf("%s of two windows calls itself provisional", name)
		}
	}
	if got, want := figures["knee"].Title, "high carries 980 calls a minute of Sonnet 4.6: requests a minute bind (off-peak)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCrossoverFigure(t *testing.T) {
	c := Crossing{Model: "claude-haiku-4-5", Balanced: 3000}
	for _, n := range []int{10, 1000, 100_000} {
		sync := time.Duration(n) * 20 * time.Millisecond
		batch := CrossingPoint{N: n, Route: "batch", P5: time.Minute, P50: 5 * time.Minute, P95: Never}
		if n == 10 {
			batch.P50 = Never
		}
		c.Points = append(c.Points, CrossingPoint{N: n, Route: "sync", P5: sync, P50: sync, P95: 2 * sync}, batch)
	}
	c.Find()
	figures, err := Figures(nil, []Crossing{c, {Model: "claude-opus-4-8"}})
	if err != nil {
		t.Fatal(err)
	}
	svg := drawn(t, "crossover", figures["crossover"])
	for _, want := range []string{"batch does not end at 1 of 3 sizes", "Batches end before sync calls from", "even at", "Forecast, not measured", "nothing that could be drawn"} {
		if !strings.Contains(svg, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

// No number that a result may hold keeps a figure from being drawn.
func TestOddResultsAreDrawn(t *testing.T) {
	odd := rapid.SampledFrom([]float64{0, 1, -1, 0.5, 1e-12, 7, 120, 8000, 1e9, math.NaN(), math.Inf(1), math.Inf(-1)})
	metrics := []string{
		"rpm", "itpm", "itpm_shown", "batch_queue", "callable", "felt", "capacity_itpm", "refill_itpm", "header_scale", "hidden_burst", "others_itpm",
		"knee_calls_per_min", "knee_concurrency", "latency", "alone_calls_per_min", "together_calls_per_min", "fanout_calls_per_min", "fanout_sum",
		"batch_time_to_end", "batch_rows_per_s", "batch_succeeded", "batch_effect_depth", "batch_effect_size", "past_effect_hour", "ttft", "output_rate",
	}
	lines := []string{"throughput", "time to end", "rate", "depth 500", "chunk 500, 1", "asked", "passed", "allowed", "latency", "one org", "200 rows on an idle org"}
	names := make([]string, 0, len(drawers))
	for name := range drawers {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		r := &Result{
			Experiment: rapid.SampledFrom(names).Draw(t, "experiment"), Verdict: "found", Confidence: odd.Draw(t, "confidence"),
			Config: map[string]any{"rule": rapid.SampledFrom([]string{ruleNone, ruleAdditive, ruleRatio}).Draw(t, "rule"), "org": "high"},
		}
		text := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "text") }
		for range rapid.IntRange(0, 30).Draw(t, "metrics") {
			r.Metrics = append(r.Metrics, Metric{
				Name: text(metrics...), Org: text("", "high", "low"), Pool: text("", "p"), Model: text("", kneeModel, "x"),
				At:    text("", "spending on high", "concurrency 3, step 1", "size 500", "depth 500", "3 orgs"),
				Value: odd.Draw(t, "value"), Low: odd.Draw(t, "low"), High: odd.Draw(t, "high"),
				Bound: text("", ">="), Note: text("", "headers claim 100", "headers claim 0", "not_found_error: x"),
			})
		}
		for range rapid.IntRange(0, 8).Draw(t, "series") {
			s := Series{Name: text(lines...), Org: text("", "high", "low"), Model: text("", kneeModel), Y: text("", pacePerHour)}
			for range rapid.IntRange(0, 4).Draw(t, "points") {
				s.Points = append(s.Points, rapid.SliceOfN(odd, 0, 4).Draw(t, "point"))
			}
			r.Series = append(r.Series, s)
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "records") {
			r.Raw = append(r.Raw, Record{
				Step: text("dip 1", "rung 1", "jump"), Org: "high", Model: kneeModel, Status: rapid.SampledFrom([]int{200, 429, 0}).Draw(t, "status"), Sent: time.Duration(i) * time.Second,
				Read: &Reading{Input: &Level{Limit: int64(rapid.IntRange(0, 2).Draw(t, "limit")), Remaining: 1}},
			})
		}
		figures, err := Figures([]*Result{r}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range figures {
			drawn(t, name, f)
		}
	})
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		"200000 rows end in 3h37m0s.":                               "200,000 rows end in 3 h 37 min",
		"high haiku-4-5-20251001: ≥ 14206 calls/min":                "high Haiku 4.5: ≥ 14,206 calls/min",
		"high claude-sonnet-4-6: others keep rpm below 10 % of all": "high Sonnet 4.6: others keep rpm below 10 % of all",
	} {
		if got := sentence(in); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
