package job

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Forecast is what was said of a run before it began.
type Forecast struct {
	Route         string        // its name, such as "hybrid"
	P5, P50, P95  time.Duration // wall-clock from the start, on the scaled clock
	Cost5, Cost50 flotilla.Money
	Cost95        flotilla.Money // of this run, quantiles like the times
}

// ForecastSummary is a forecast beside what came of it.
type ForecastSummary struct {
	Route      string      `json:"route"`
	Started    time.Time   `json:"started"`
	Ended      time.Time   `json:"ended"`
	P5S        float64     `json:"p5_s"`
	P50S       float64     `json:"p50_s"`
	P95S       float64     `json:"p95_s"`
	CostP5USD  price.Nanos `json:"cost_p5_usd"`
	CostP50USD price.Nanos `json:"cost_p50_usd"`
	CostP95USD price.Nanos `json:"cost_p95_usd"`
	WasS       *float64    `json:"was_s"` // null: rows are left, so there is nothing to compare
	WasUSD     price.Nanos `json:"was_usd"`
	TimeWithin *bool       `json:"time_within"` // between p5 and p95
	CostWithin *bool       `json:"cost_within"` // null, too, where batches of earlier runs were collected
}

// Promise takes in the forecast of the route that was chosen, so that the
// summary can hold the outcome against it.
func (r *Run) Promise(f Forecast) { r.promise = &f }

// expected is what the rows that are to be sent are expected to cost: by the
// route that was chosen, else by sync.
func (r *Run) expected() flotilla.Money {
	if r.promise != nil {
		return r.promise.Cost50
	}
	return r.plan.Expected
}

// kept fills in the forecast and what came of it. What earlier runs had reserved
// for their batches is settled in this one, and was no part of the forecast.
func (s *Summary) kept(f *Forecast, p *Plan, report *flotilla.Report) {
	if f == nil {
		return
	}
	before := p.Spent - p.Held
	k := &ForecastSummary{
		Route: f.Route, Started: report.Started, Ended: report.Ended, P5S: f.P5.Seconds(), P50S: f.P50.Seconds(), P95S: f.P95.Seconds(),
		CostP5USD: f.Cost5, CostP50USD: f.Cost50, CostP95USD: f.Cost95, WasUSD: s.CostUSD - before,
	}
	s.Forecast = k
	if s.Pending > 0 {
		return
	}
	was := s.WallS
	within := k.P5S <= was && was <= k.P95S
	k.WasS, k.TimeWithin = &was, &within
	if p.Held == 0 {
		within := k.CostP5USD <= k.WasUSD && k.WasUSD <= k.CostP95USD
		k.CostWithin = &within
	}
}

// forecastText is "forecast 14:02–14:31, was 14:12; $98–$104, was $101.20".
func (s *Summary) forecastText() string {
	f := s.Forecast
	if f == nil {
		return ""
	}
	end := func(seconds float64) time.Time { return f.Started.Add(time.Duration(seconds * float64(time.Second))) }
	first, last := end(f.P5S), end(f.P95S)
	clock := clockFor(f.Started, f.Ended, last)
	text := fmt.Sprintf("forecast %s–%s, ", first.Format(clock), last.Format(clock))
	if f.WasS != nil {
		text += "was " + f.Ended.Format(clock)
	} else {
		text += "not finished"
	}
	return text + fmt.Sprintf("; %s–%s, was %s\n", f.CostP5USD, f.CostP95USD, f.WasUSD)
}

// clockFor is a layout that tells the times apart: with the day where they are
// of several, with seconds where all is within minutes.
func clockFor(from time.Time, until ...time.Time) string {
	clock := "15:04"
	for _, t := range until {
		switch {
		case t.YearDay() != from.YearDay() || t.Year() != from.Year():
			return "Jan 2 15:04"
		case t.Sub(from) < 10*time.Minute:
			clock = "15:04:05"
		}
	}
	return clock
}
