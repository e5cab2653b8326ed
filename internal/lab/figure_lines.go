package lab

import "github.com/flotilla-llm/flotilla/internal/plot"

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
