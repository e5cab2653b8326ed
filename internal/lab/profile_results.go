package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Chosen are the results that a report is made of.
type Chosen struct {
	Results []*Result // the newest of each experiment and window, of one provider
	Left    []string  // what was left out, and why
}

// Choose keeps the results of one provider: the real one where it was measured,
// else the emulator that was measured last. Of several of one experiment and
// window it keeps the newest.
func Choose(results []*Result) Chosen {
	if len(results) == 0 {
		return Chosen{}
	}
	return ChooseOf(slices.MaxFunc(results, func(a, b *Result) int {
		return cmp.Or(real(a)-real(b), a.Ended.Compare(b.Ended))
	}), results)
}

// ChooseOf is Choose for the provider of one result.
func ChooseOf(best *Result, results []*Result) Chosen {
	var c Chosen
	for _, r := range results {
		if !sameProvider(r, best) {
			c.Left = append(c.Left, fmt.Sprintf("%s of %s: the rest is of %s", r.name(), r.provider(), best.provider()))
			continue
		}
		i := slices.IndexFunc(c.Results, func(o *Result) bool { return o.name() == r.name() })
		switch {
		case i < 0:
			c.Results = append(c.Results, r)
		case r.Ended.After(c.Results[i].Ended):
			c.Results[i] = r
		}
	}
	order := All()
	at := func(r *Result) int {
		return slices.IndexFunc(order, func(x Experiment) bool { return x.Name() == r.Experiment })
	}
	slices.SortStableFunc(c.Results, func(a, b *Result) int {
		return cmp.Or(at(a)-at(b), strings.Compare(a.Window, b.Window))
	})
	return c
}

func real(r *Result) int {
	if r.Emulated == "" {
		return 1
	}
	return 0
}

func sameProvider(a, b *Result) bool {
	if a.Emulated != "" || b.Emulated != "" {
		return a.Emulated == b.Emulated
	}
	return a.BaseURL == b.BaseURL
}

func (r *Result) name() string { return r.Experiment + "-" + r.Window }

func (r *Result) provider() string {
	if r.Emulated != "" {
		return "the emulator (" + r.Emulated + ")"
	}
	return r.BaseURL
}

// Of are the results of one experiment, a window each.
func (c *Chosen) Of(experiment string) []*Result {
	return slices.DeleteFunc(slices.Clone(c.Results), func(r *Result) bool { return r.Experiment != experiment })
}

// Emulated is the mark of the emulator that the results are of; empty: the
// provider's.
func (c *Chosen) Emulated() string {
	if len(c.Results) == 0 {
		return ""
	}
	return c.Results[0].Emulated
}

// Windows are the names of the windows there are.
func (c *Chosen) Windows() []string {
	var out []string
	for _, r := range c.Results {
		if !slices.Contains(out, r.Window) {
			out = append(out, r.Window)
		}
	}
	slices.Sort(out)
	return out
}

// Number is a metric over all windows: its mean, the widest range, and whether
// all is provisional. nil: nobody has measured it.
func (c *Chosen) Number(experiments []string, name, org, of string) *Number {
	var n *Number
	count := 0.0
	for _, experiment := range experiments {
		for _, r := range c.Of(experiment) {
			m, ok := r.Metric(name, org, of)
			if !ok || m.N == 0 || m.Note == "not determined" {
				continue
			}
			count++
			one := Number{
				Value: m.Value, Low: m.Low, High: m.High, Source: cmp.Or(m.Source, "measured"), From: r.name(), At: r.Ended,
				Bound: m.Bound, Windows: 1, Provisional: m.Provisional || r.Stopped != "",
			}
			if n == nil {
				n = &one
				continue
			}
			n.take(&one, count)
		}
		if n != nil {
			break // the first experiment that knows it is the best for it
		}
	}
	return n
}

// take widens a number by one of another window.
func (n *Number) take(o *Number, count float64) {
	n.Value += (o.Value - n.Value) / count
	n.Low, n.High = min(n.Low, o.Low), max(n.High, o.High)
	n.Provisional = n.Provisional && o.Provisional
	n.From += ", " + o.From
	n.Windows++
	if o.At.After(n.At) {
		n.At = o.At
	}
	if n.Bound != o.Bound {
		n.Bound = cmp.Or(n.Bound, o.Bound)
	}
}
