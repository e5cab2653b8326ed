package job

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
)

// The outcome is held against the forecast, as clock times and dollars.
func TestPromise(t *testing.T) {
	start := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	f := &Forecast{
		Route: "hybrid", P5: 2 * time.Minute, P50: 10 * time.Minute, P95: 31 * time.Minute,
		Cost5: flotilla.USD(98), Cost50: flotilla.USD(101), Cost95: flotilla.USD(104),
	}
	sum := func(took time.Duration, cost float64, pending int, held flotilla.Money) Summary {
		s := Summary{N: 10, Pending: pending, CostUSD: flotilla.USD(cost), WallS: took.Seconds()}
		s.kept(f, &Plan{Spent: flotilla.USD(5), Held: held}, &flotilla.Report{Started: start, Ended: start.Add(took)})
		return s
	}
	for _, c := range []struct {
		name, text   string
		s            Summary
		time, within string // as JSON
	}{
		{"kept", "forecast 14:02–14:31, was 14:12; $98.00–$104.00, was $101.20\n", sum(12*time.Minute, 106.2, 0, 0), "true", "true"},
		{"late and dear", "forecast 14:02–14:31, was 14:40; $98.00–$104.00, was $120.00\n", sum(40*time.Minute, 125, 0, 0), "false", "false"},
		{"over midnight", "forecast Nov 30 14:02–Nov 30 14:31, was Dec 1 02:00; $98.00–$104.00, was $100.00\n", sum(12*time.Hour, 105, 0, 0), "false", "true"},
		{"rows left", "forecast 14:02–14:31, not finished; $98.00–$104.00, was $50.00\n", sum(12*time.Minute, 55, 3, 0), "null", "null"},
		{
			"batches of earlier runs", "forecast 14:02–14:31, was 14:12; $98.00–$104.00, was $101.00\n",
			sum(12*time.Minute, 104, 0, flotilla.USD(2)), "true", "null",
		},
	} {
		if got := c.s.forecastText(); got != c.text {
			t.Errorf("%s: %q, want %q", c.name, got, c.text)
		}
		text, err := json.Marshal(c.s)
		if err != nil {
			t.Fatal(err)
		}
		v := gjson.GetBytes(text, "forecast")
		if v.Get("time_within").Raw != c.time || v.Get("cost_within").Raw != c.within || v.Get("p95_s").Int() != 1860 {
			t.Errorf("%s: %s", c.name, v.Raw)
		}
	}
	var none Summary
	none.kept(nil, &Plan{}, &flotilla.Report{})
	if none.Forecast != nil || none.forecastText() != "" {
		t.Errorf("%+v", none.Forecast)
	}
}

// A run's summary carries the promise, and takes its figure as what was expected.
func TestPromiseInSummary(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 5)}
	run, err := Open(t.Context(), b.fleet(), b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Begin(t.Context(), books{b.j}); err != nil {
		t.Fatal(err)
	}
	run.Promise(Forecast{Route: "sync", P5: 50 * time.Second, P50: time.Minute, P95: 70 * time.Second, Cost50: flotilla.USD(2), Cost95: flotilla.USD(3)})
	s, _, err := run.Carry(t.Context())
	if err != nil || s.ExpectedUSD != flotilla.USD(2) || s.Forecast == nil || !*s.Forecast.TimeWithin || !*s.Forecast.CostWithin {
		t.Errorf("%+v, %v", s.Forecast, err)
	}
}
