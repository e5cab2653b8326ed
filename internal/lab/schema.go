package lab

import (
	"errors"
	"fmt"
)

// Check holds a result to what its file promises.
func (r *Result) Check() error {
	var bad []error
	say := func(format string, args ...any) { bad = append(bad, fmt.Errorf(format, args...)) }
	if r.Schema != schemaVersion {
		say("schema %d, this program reads %d", r.Schema, schemaVersion)
	}
	for _, field := range []struct{ what, text string }{
		{"experiment", r.Experiment},
		{"question", r.Question},
		{"window", r.Window},
		{"verdict", r.Verdict},
		{"hypothesis", r.Hypothesis.Text},
		{"predicted binding", r.Hypothesis.Binding},
		{"version", r.Versions.Flotilla},
	} {
		if field.text == "" {
			say("%s is missing", field.what)
		}
	}
	if r.Confidence < 0 || r.Confidence > 1 {
		say("confidence %g is not a share", r.Confidence)
	}
	if r.Ended.Before(r.Started) {
		say("it ended before it began")
	}
	for _, m := range r.Metrics {
		if m.Name == "" || m.Unit == "" || m.Low > m.High {
			say("metric %q (%s): no name, no unit, or %g above %g", m.Name, m.Unit, m.Low, m.High)
		}
	}
	var sum int64
	for _, l := range r.Cost.Lines {
		sum += int64(l.Sum)
	}
	if sum != int64(r.Cost.Total) {
		say("the lines of the bill add up to %d nano-dollars, the total is %d", sum, int64(r.Cost.Total))
	}
	return errors.Join(bad...)
}
