package lab

import (
	"fmt"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// footOf says where the numbers come from: who answered, when, how many calls
// at which cost, what could not be shown.
func footOf(windows []*Result) string {
	var said, left []string
	for _, r := range windows {
		said = append(said, r.provenance())
		for _, s := range r.NotShown {
			if len(windows) > 1 {
				s = r.Window + ": " + s
			}
			left = append(left, s)
		}
	}
	if len(windows) == 1 {
		said = append(said, "Provisional: from one window")
	}
	const most = 3 // the rest is in the file
	switch n := len(left) - most; {
	case len(left) > most:
		left = append(left[:most], fmt.Sprintf("and %d more in the file", n))
		fallthrough
	case len(left) > 0:
		said = append(said, "Not shown: "+strings.Join(left, "; "))
	}
	return strings.Join(said, ". ") + "."
}

// provenance names the source of a result, in a sentence without its full stop.
func (r *Result) provenance() string {
	who := "Measured at " + r.BaseURL
	if r.Emulated != "" {
		who = "Measured on the emulator, not on the provider: scenario and seed " + r.Emulated
	}
	s := fmt.Sprintf("%s; window %s, %s to %s UTC", who, r.Window, r.Started.UTC().Format("2006-01-02 15:04"), r.Ended.UTC().Format("15:04"))
	if r.Ended.Sub(r.Started).Hours() >= 24 {
		s = fmt.Sprintf("%s; window %s, %s to %s", who, r.Window, r.Started.UTC().Format("2006-01-02"), r.Ended.UTC().Format("2006-01-02"))
	}
	s += fmt.Sprintf("; %s calls, %s; seed %d; flotilla %s; from %s-%s.json", plot.Plain.Format(float64(r.Totals.Calls)), dollars(float64(r.Cost.Total)/1e9), r.Seed, r.Versions.Flotilla, r.Experiment, r.Window)
	if r.Stopped != "" {
		s += ". Ended early: " + r.Stopped
	}
	return s
}

func dollars(v float64) string { return plot.Dollars.Format(v) }

// sentence begins with a capital, unless it begins with an org's name or a number.
func sentence(s string) string { return strings.TrimSuffix(s, ".") }

// modelName is a model as people say it: "Haiku 4.5" of claude-haiku-4-5-20251001.
func modelName(id string) string {
	parts := strings.Split(strings.TrimPrefix(id, "claude-"), "-")
	if len(parts) > 1 && len(parts[len(parts)-1]) == len("20251001") {
		parts = parts[:len(parts)-1]
	}
	if parts[0] == "" {
		return id
	}
	name := strings.ToUpper(parts[0][:1]) + parts[0][1:]
	if len(parts) == 1 {
		return name
	}
	return name + " " + strings.Join(parts[1:], ".")
}

// limitName is a limit in words.
func limitName(limit string) string {
	if s, ok := limitWords[limit]; ok {
		return s
	}
	return limit
}

var limitWords = map[string]string{
	"rpm": "requests a minute", "itpm": "input tokens a minute", "otpm": "output tokens a minute", "tpd": "tokens a day",
	"cap": "the etiquette cap", "concurrency": "calls at once", "spend": "the spend cap",
}

// series are the result's lines of a name.
func (r *Result) series(name string) []Series {
	var out []Series
	for _, s := range r.Series {
		if s.Name == name && len(s.Points) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// metrics are the result's numbers of a name.
func (r *Result) metrics(name string) []Metric {
	var out []Metric
	for _, m := range r.Metrics {
		if m.Name == name {
			out = append(out, m)
		}
	}
	return out
}

// readings are a line's points with their intervals, whatever each holds of x,
// y, low and high.
func (s *Series) readings() []plot.Reading {
	var out []plot.Reading
	for _, p := range s.Points {
		switch {
		case len(p) >= 4:
			out = append(out, plot.Reading{X: p[0], Y: p[1], Low: p[2], High: p[3]})
		case len(p) >= 2:
			out = append(out, plot.Reading{X: p[0], Y: p[1]})
		}
	}
	return out
}

// line are its points without intervals; where they lie further apart than a
// gap, it is broken. 0: nowhere.
func (s *Series) line(gap float64) []plot.Point {
	var out []plot.Point
	for _, p := range s.readings() {
		if n := len(out); n > 0 && gap > 0 && p.X-out[n-1].X > gap {
			out = append(out, plot.Point{X: (p.X + out[n-1].X) / 2, Y: notANumber})
		}
		out = append(out, plot.Point{X: p.X, Y: p.Y})
	}
	return out
}
