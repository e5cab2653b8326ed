package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawLimits is the matrix of what is said of each org and pool.
func drawLimits(r *Result) *plot.Figure {
	orgs, pools := placesOf(r.Metrics)
	f := &plot.Figure{
		Title:    limitsFinding(r, orgs),
		Subtitle: "limits of each org and pool of models, as read" + sourcesOf(r.Metrics) + "; darker: more",
		Columns:  3, Width: 1100,
	}
	for _, d := range []struct{ name, title string }{
		{"rpm", "requests a minute"}, {"itpm", "input tokens a minute"}, {"otpm", "output tokens a minute"}, {"tpd", "tokens a day"},
	} {
		of := r.metrics(d.name)
		if len(of) == 0 {
			continue
		}
		shown := r.metrics(d.name + "_shown")
		f.Panels = append(f.Panels, matrix(d.title, pools, orgs, false, func(pool, org string) (Metric, string, bool) {
			m, ok := among(of, org, pool)
			other, contradicts := among(shown, org, pool)
			if contradicts {
				return m, plot.Plain.Format(m.Value) + ", headers show " + plot.Plain.Format(other.Value), ok
			}
			return m, plot.Plain.Format(m.Value), ok
		}))
	}
	if p, ok := batchLimits(r, orgs); ok {
		f.Panels = append(f.Panels, p)
	}
	return f
}

// batchLimits are those that hold for an org as a whole.
func batchLimits(r *Result, orgs []string) (plot.Panel, bool) {
	words := []struct{ name, row string }{{"batch_rpm", "requests a minute to batches"}, {"batch_queue", "rows that may be queued"}}
	var rows []string
	for _, w := range words {
		if len(r.metrics(w.name)) > 0 {
			rows = append(rows, w.row)
		}
	}
	p := matrix("batches", rows, orgs, true, func(row, org string) (Metric, string, bool) {
		for _, w := range words {
			if w.row == row {
				m, ok := among(r.metrics(w.name), org, "")
				return m, plot.Plain.Format(m.Value), ok
			}
		}
		return Metric{}, "", false
	})
	return p, len(rows) > 0
}

// matrix is a table of rows by orgs, the darker the larger within the panel, or
// within its row where each has a unit of its own.
func matrix(title string, rows, orgs []string, apart bool, of func(row, org string) (Metric, string, bool)) plot.Panel {
	p := plot.Panel{Title: title, X: plot.Axis{Names: orgs}, Y: plot.Axis{Names: rows}}
	var cells []plot.Cell
	var values []float64
	for y, row := range rows {
		for x, org := range orgs {
			m, text, ok := of(row, org)
			if !ok || m.Value <= 0 {
				text, m.Value = "not known", 0
			}
			cells, values = append(cells, plot.Cell{X: x, Y: y, Text: text}), append(values, m.Value)
		}
		if apart {
			shade(cells[y*len(orgs):], values[y*len(orgs):])
		}
	}
	if !apart {
		shade(cells, values)
	}
	p.Layers = []plot.Layer{plot.Cells{Cells: cells, Ink: plot.Blue}}
	return p
}

// shade makes cells the darker the larger their values are, by their logarithms;
// those of 0 stay white.
func shade(cells []plot.Cell, values []float64) {
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 {
			least, most = min(least, v), max(most, v)
		}
	}
	for i, v := range values {
		switch {
		case v == 0:
		case least == most:
			cells[i].Shade = .25
		default:
			cells[i].Shade = .15 + .7*math.Log(v/least)/math.Log(most/least)
		}
	}
}

// limitsFinding says what the orgs may do, by input tokens, and which second
// keys were found out.
func limitsFinding(r *Result, orgs []string) string {
	var said []string
	same := true
	for _, org := range orgs {
		most := 0.0
		for _, m := range r.metrics("itpm") {
			if m.Org == org {
				most = max(most, m.Value)
			}
		}
		if most == 0 {
			return sentence(r.Verdict)
		}
		text := plot.Plain.Format(most)
		same = same && (len(said) == 0 || strings.HasSuffix(said[0], " "+text))
		said = append(said, org+" "+text)
	}
	finding := "Input tokens a minute of one pool, at most: " + listed(said)
	if same && len(said) > 1 {
		finding = fmt.Sprintf("All %d orgs may use up to %s input tokens a minute of one pool", len(orgs), strings.TrimPrefix(said[0], orgs[0]+" "))
	}
	if _, keys, ok := strings.Cut(r.Verdict, "; "); ok {
		finding += "; " + keys
	}
	for _, name := range []string{"rpm_shown", "itpm_shown", "otpm_shown"} {
		if len(r.metrics(name)) > 0 {
			return finding + "; some headers show other numbers"
		}
	}
	return finding
}

// among finds the number of an org and a pool.
func among(of []Metric, org, pool string) (Metric, bool) {
	i := slices.IndexFunc(of, func(m Metric) bool { return m.Org == org && m.Pool == pool })
	if i < 0 {
		return Metric{}, false
	}
	return of[i], true
}

// placesOf are the orgs and pools of numbers, orgs in their order, pools sorted.
func placesOf(of []Metric) (orgs, pools []string) {
	for _, m := range of {
		if m.Org != "" && !slices.Contains(orgs, m.Org) {
			orgs = append(orgs, m.Org)
		}
		if m.Pool != "" && !slices.Contains(pools, m.Pool) {
			pools = append(pools, m.Pool)
		}
	}
	slices.Sort(pools)
	return orgs, pools
}

// sourcesOf says who said the numbers.
func sourcesOf(of []Metric) string {
	var names []string
	for _, m := range of {
		if m.Source != "" && !slices.Contains(names, m.Source) {
			names = append(names, m.Source)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
