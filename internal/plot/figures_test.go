package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The figures of these tests are those that experiments need, drawn from
// made-up numbers of the size that real ones have.

const (
	foot = "Made-up numbers for tests. Emulator tier-start/7, window off-peak, 2026-12-01; seed 7, flotilla 0.4."
	high = 980.0 // calls a minute that the made-up org carries
	bend = 97.0  // calls in flight at which it does
)

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// hinge are readings of throughput by calls in flight, and the fitted line.
func hinge(seed uint64, top, knee float64, at ...float64) (measured []Reading, fitted []Point) {
	r := dice(seed)
	for _, c := range at {
		y := min(c/knee, 1) * top * (1 + .008*r.NormFloat64())
		half := y * (.012 + .01*r.Float64())
		measured = append(measured, Reading{c, y, y - half, y + half})
	}
	last := at[len(at)-1] * 1.04
	bent := min(knee, last)
	return measured, []Point{{0, 0}, {bent, top * bent / knee}, {last, top * bent / knee}}
}

func knee() *Figure {
	dots, fit := hinge(3, high, bend, 10, 20, 40, 60, 80, 100, 120, 140, 160)
	return &Figure{
		Title:    "high carries 980 calls a minute of Sonnet; beyond 97 at once only refusals grow",
		Subtitle: "claude-sonnet-4-6, 2,000 tokens in and 150 out, open arrivals, 2,041 calls; bars are 95 % intervals of batch means",
		Foot:     foot,
		Panels: []Panel{
			{
				X: Axis{Label: "calls in flight"}, Y: Axis{Label: "calls answered a minute"},
				Layers: []Layer{
					Rule{At: bend, Low: 94.1, High: 99.8, Upright: true, Label: "knee 97 (94–100)", Ink: Black},
					Rule{At: 1000, Label: "limit by header: 1,000 requests a minute", Ink: Grey, Dashed: true},
					Line{Points: fit, Ink: Blue, Fine: true, Label: "hinge fit"},
					Dots{Readings: dots, Ink: Blue},
					Note{X: 160, Y: dots[8].Y, Text: "31 of 322 refused, all by requests a minute"},
				},
			},
		},
	}
}

func knees() *Figure {
	f := &Figure{
		Title:    "Four of five bend at or below the cap; low is bound by latency up to it",
		Subtitle: "calls answered a minute by calls in flight; 95 % intervals; dashed: the limit that binds",
		Foot:     foot, SameX: true, SameY: true, Columns: 3,
	}
	for i, c := range []struct {
		name      string
		top, knee float64
		limit     string
	}{
		{"high · Sonnet", 980, 97, "1,000 RPM"},
		{"batch · Sonnet", 612, 58, "400k OTPM"},
		{"low · Sonnet", 1400, 140, ""},
		{"high · Haiku", 1650, 71, "2M ITPM"},
		{"high · Opus", 300, 40, "cap 40"},
	} {
		dots, fit := hinge(uint64(i), c.top, c.knee, 10, 25, 50, 75, 100)
		p := Panel{
			Title: c.name, X: Axis{Label: "calls in flight"}, Y: Axis{Label: "calls a minute"},
		}
		if c.limit != "" {
			p.Layers = append(
				p.Layers,
				Rule{At: c.knee, Upright: true, Label: fmt.Sprintf("knee %.0f", c.knee)},
				Rule{At: c.top, Dashed: true, Ink: Grey, Label: c.limit},
			)
		} else {
			p.Layers = append(p.Layers, Note{X: 100, Y: dots[4].Y, Text: "≥ cap, latency-bound"})
		}
		p.Layers = append(p.Layers, Line{Points: fit, Ink: Blue, Fine: true}, Dots{Readings: dots, Ink: Blue})
		f.Panels = append(f.Panels, p)
	}
	return f
}

func refill() *Figure {
	r := dice(11)
	var points []Reading
	for t := 0.0; t <= 35; t += .55 {
		points = append(points, Reading{X: t, Y: 1.55e6 + t*2_000_364/60 + 900*r.NormFloat64()})
	}
	var residual []Reading
	for _, p := range points {
		residual = append(residual, Reading{X: p.X, Y: p.Y - 1.55e6 - p.X*2_000_364/60})
	}
	return &Figure{
		Title:    "high refills 2,000,364 input tokens a minute, as its header says",
		Subtitle: "claude-haiku-4-5, 66 calls over 35 s at 4 in flight, no refusal; slope by least squares, ± 623 at 95 %",
		Foot:     foot,
		Panels: []Panel{
			{
				X: Axis{Label: "time", Unit: Seconds}, Y: Axis{Label: "remaining + own use, tokens"},
				Layers: []Layer{
					Dots{Readings: points, Ink: Blue, Label: "readings"},
					Line{Points: []Point{{0, 1.55e6}, {35, 1.55e6 + 35*2_000_364/60.}}, Ink: Orange, Fine: true, Label: "slope: 2.000M a minute"},
				},
			},
			{
				X: Axis{Label: "time", Unit: Seconds}, Y: Axis{Label: "residual, tokens"},
				Layers: []Layer{Rule{At: 0, Ink: Black}, Dots{Readings: residual, Ink: Blue}},
			},
		},
		PanelHeight: 240, SameX: true,
	}
}

func additivity() *Figure {
	r := dice(5)
	series := func(end float64) (out []Point) {
		for t := 0.0; t <= 120; t += 2 {
			share := 1.0
			if t > 30 {
				share = 1 - (1-end)*min((t-30)/60, 1)
			}
			out = append(out, Point{t, share + .006*r.NormFloat64()})
		}
		return out
	}
	return &Figure{
		Title:    "Spending on high leaves batch and low untouched: the limits add up",
		Subtitle: "input tokens remaining, share of capacity, Haiku; high spends from second 30 on",
		Foot:     foot,
		Panels: []Panel{{
			X: Axis{Label: "time", Unit: Seconds}, Y: Axis{Label: "remaining", Unit: Percent, Zero: true},
			Layers: []Layer{
				Rule{At: 30, Upright: true, Ink: Grey, Label: "high begins"},
				Line{Points: series(.42), Ink: Blue, Label: "high (spends)"},
				Line{Points: series(1), Ink: Orange, Label: "batch"},
				Line{Points: series(.985), Ink: Violet, Label: "low, with a colleague"},
			},
		}},
	}
}

func acceleration() *Figure {
	ladder := []Point{{0, 2e5}, {90, 4e5}, {180, 8e5}, {270, 1.6e6}, {360, 1.6e6}}
	return &Figure{
		Title:    "Rises are refused above 1.6 times the minute before, and heal within a minute",
		Subtitle: "input tokens a minute by step, Haiku, after 20 minutes idle; 3 repeats, 1,310 calls",
		Foot:     foot,
		Panels: []Panel{{
			X: Axis{Label: "time since the first step", Unit: Seconds},
			Y: Axis{Label: "input tokens a minute", Zero: true},
			Layers: []Layer{
				Line{Points: ladder, Step: true, Ink: Blue, Label: "offered"},
				Line{
					Points: []Point{{0, 3e5}, {60, 3.2e5}, {120, 6.4e5}, {240, 9e5}, {300, 1.3e6}, {360, 1.7e6}},
					Ink:    Orange, Dashed: true, Label: "ceiling by the ratio rule",
				},
				Dots{
					Readings: []Reading{{X: 92, Y: 4e5}, {X: 95, Y: 4e5}, {X: 181, Y: 8e5}, {X: 184, Y: 8e5}, {X: 190, Y: 8e5}, {X: 271, Y: 1.6e6}, {X: 274, Y: 1.6e6}, {X: 279, Y: 1.6e6}, {X: 290, Y: 1.6e6}},
					Ink:      Black, Mark: Cross, Label: "refused: acceleration (9)",
				},
			},
		}},
	}
}

func mechanism() *Figure {
	names := []string{"chunk size: B − A", "depth: idle canary − canary behind A", "hour: range of idle canaries"}
	ln := func(v float64) float64 { return math.Log(v) }
	return &Figure{
		Title:    "Depth starves batches: a canary behind 8,000 rows runs 5.3 times slower than alone",
		Subtitle: "ratio of early rates, 8 paired slots over 2 days, 95 % intervals on the logarithm; confidence 99 %",
		Foot:     foot,
		Panels: []Panel{{
			X: Axis{Label: "times slower", Log: true, Min: .5, Max: 12}, Y: Axis{Names: names},
			Layers: []Layer{
				Rule{At: 1, Upright: true, Ink: Grey},
				Rule{At: 2.5, Upright: true, Ink: Black, Dashed: true, Label: "counts as an effect from 2.5"},
				Dots{Ink: Blue, Readings: []Reading{
					{math.Exp(ln(1.08)), 0, .86, 1.34},
					{5.3, 1, 3.9, 7.2},
					{1.4, 2, 1.05, 1.9},
				}},
				Note{X: 5.3, Y: 1, Text: "5.3 (3.9–7.2)"},
			},
		}},
	}
}

func crossover() *Figure {
	n := []float64{10, 30, 100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6}
	line := func(over, perSecond float64) (l []Point, b []Interval) {
		for _, v := range n {
			t := over + v/perSecond
			l = append(l, Point{v, t})
			b = append(b, Interval{v, over*.6 + v/perSecond*.92, over*2.4 + v/perSecond*1.25})
		}
		return l, b
	}
	panel := func(name string, rate, batch, cross float64) Panel {
		sync, sb := line(6, rate)
		bat, bb := line(840, batch)
		return Panel{
			Title: name,
			X:     Axis{Label: "calls in the job", Log: true}, Y: Axis{Label: "time to the last answer", Log: true, Unit: Seconds},
			Layers: []Layer{
				Band{Intervals: sb, Ink: Blue},
				Band{Intervals: bb, Ink: Orange},
				Line{Points: sync, Ink: Blue, Label: "sync, three orgs"},
				Line{Points: bat, Ink: Orange, Label: "batch"},
				Rule{At: 24 * 3600, Ink: Grey, Dashed: true, Label: "batches expire"},
				Rule{At: cross, Upright: true, Ink: Black, Label: "even at " + Plain.Format(cross)},
			},
		}
	}
	return &Figure{
		Title:    "Batches overtake sync calls at 24k rows of Sonnet and 64k of Haiku",
		Subtitle: "forecast from measured limits; bands are p10 to p90",
		Foot:     foot, SameX: true, SameY: true, Columns: 2, PanelHeight: 360, Width: 1000,
		Panels: []Panel{panel("Sonnet 4.6", 26, 320, 24e3), panel("Haiku 4.5", 61, 320, 64e3)},
	}
}

func callable() *Figure {
	models := []string{"claude-opus-4-8", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-fable-5-2"}
	orgs := []string{"high", "batch", "low"}
	said := map[[2]int]string{{0, 2}: "403 permission", {3, 0}: "404 not found", {3, 1}: "404 not found", {3, 2}: "404 not found"}
	var cells []Cell
	for x := range models {
		for y := range orgs {
			c := Cell{X: x, Y: y, Text: "yes", Shade: .85}
			if text, ok := said[[2]int{x, y}]; ok {
				c.Text, c.Shade = text, .12
			}
			cells = append(cells, c)
		}
	}
	return &Figure{
		Title:    "Every org calls Sonnet and Haiku; nobody has Fable, low has no Opus",
		Subtitle: "one call of one token each, 12 calls, $0.0003",
		Foot:     foot,
		Panels:   []Panel{{X: Axis{Names: models}, Y: Axis{Names: orgs}, Layers: []Layer{Cells{Cells: cells, Ink: Blue}}}},
	}
}

func latency() *Figure {
	r := dice(9)
	boxes := func(base, per float64, at ...float64) (out []Box) {
		for _, n := range at {
			m := base + per*n
			out = append(out, Box{n, m * .72, m * .88, m * (1 + .03*r.NormFloat64()), m * 1.15, m * 1.9})
		}
		return out
	}
	lengths := []float64{10, 50, 200, 800}
	return &Figure{
		Title:    "A token of Haiku takes 6 ms, of Sonnet 14 ms, of Opus 23 ms; the first takes 0.4 to 1.2 s",
		Subtitle: "whole answers by length; boxes hold the middle half, whiskers p5 to p95, 120 calls each",
		Foot:     foot,
		Panels: []Panel{{
			X: Axis{Label: "tokens of the answer", Log: true}, Y: Axis{Label: "time to the last token", Log: true, Unit: Seconds},
			Layers: []Layer{
				Boxes{Boxes: boxes(.4, .006, lengths...), Label: "Haiku", Ink: Green, Shift: -22},
				Boxes{Boxes: boxes(.7, .014, lengths...), Label: "Sonnet", Ink: Blue},
				Boxes{Boxes: boxes(1.2, .023, lengths...), Label: "Opus", Ink: Orange, Shift: 22},
			},
		}},
	}
}

// beside moves readings aside on a logarithmic axis, so that intervals do not lie
// on each other.
func beside(by float64, readings []Reading) []Reading {
	for i := range readings {
		readings[i].X *= by
	}
	return readings
}

func depth() *Figure {
	return &Figure{
		Title:    "Time to the end grows with what is queued, not with how it is cut",
		Subtitle: "Haiku, 25 tokens in and 4 out, org batch; intervals over 3 repeats; hollow: from one window, provisional",
		Foot:     foot,
		Panels: []Panel{{
			X: Axis{Label: "rows in the queue at the start", Log: true}, Y: Axis{Label: "time to the last row", Log: true, Unit: Seconds},
			Layers: []Layer{
				Rule{At: 24 * 3600, Ink: Grey, Dashed: true, Label: "batches expire after 24 h"},
				Rule{At: 1e5, Upright: true, Ink: Grey, Dashed: true, Label: "queue cap of the org"},
				Dots{Ink: Blue, Joined: true, Label: "chunks of 500", Readings: beside(.94, []Reading{{500, 410, 330, 520}, {2000, 700, 560, 900}, {8000, 1900, 1500, 2400}, {5e4, 9800, 8200, 12000}})},
				Dots{Ink: Orange, Joined: true, Label: "chunks of 2,000", Readings: []Reading{{2000, 760, 600, 960}, {8000, 1750, 1400, 2300}, {5e4, 10400, 8600, 12900}}},
				Dots{Ink: Violet, Joined: true, Hollow: true, Label: "chunks of 8,000", Readings: beside(1.06, []Reading{{8000, 2050, 1600, 2600}, {5e4, 9400, 7900, 11800}})},
			},
		}},
	}
}

func fanout() *Figure {
	parts := []float64{980, 612, 870}
	var bars []Bar
	sum := 0.0
	for i, p := range parts {
		bars = append(bars, Bar{At: 0, From: sum, To: sum + p, Ink: Series(i), Name: []string{"high", "batch", "low"}[i]})
		sum += p
	}
	bars[2].Label = "2,462"
	bars = append(bars, Bar{At: 1, To: 2405, Low: 2370, High: 2440, Ink: Black, Label: "2,405 (2,370–2,440)"})
	return &Figure{
		Title:    "Three orgs together carry 98 % of the sum of their parts",
		Subtitle: "Sonnet, one job of 10,000 calls, each org at its knee",
		Foot:     foot,
		Panels: []Panel{{
			X: Axis{Label: "calls answered a minute"}, Y: Axis{Names: []string{"sum of the knees", "measured together"}},
			Layers: []Layer{
				Bars{Bars: bars},
			},
		}},
	}
}

func limits() *Figure {
	names := []string{"high · Sonnet 4.x", "high · Haiku 4.5", "batch · Sonnet 4.x", "low · Sonnet 4.x"}
	panel := func(title string, unit string, header, measured []float64) Panel {
		var h, m []Reading
		for i := range names {
			h = append(h, Reading{X: header[i], Y: float64(i)})
			m = append(m, Reading{measured[i], float64(i), measured[i] * .97, measured[i] * 1.03})
		}
		return Panel{Title: title, X: Axis{Label: unit, Log: true}, Y: Axis{Names: names}, Layers: []Layer{
			Dots{Readings: h, Hollow: true, Mark: Diamond, Ink: Black, Label: "header"},
			Dots{Readings: m, Ink: Blue, Label: "measured"},
		}}
	}
	return &Figure{
		Title:    "The headers tell the truth but for low, which has 60 % of what it is promised",
		Subtitle: "limits a minute by org and pool; bars are 95 % intervals",
		Foot:     foot, Width: 1000, Columns: 2,
		Panels: []Panel{
			panel("requests", "requests a minute", []float64{1000, 4000, 1000, 1000}, []float64{998, 3990, 1003, 602}),
			panel("input tokens", "tokens a minute", []float64{2e6, 4e6, 2e6, 4.5e5}, []float64{2e6, 4.02e6, 1.99e6, 2.7e5}),
		},
	}
}

var figures = map[string]func() *Figure{
	"knee": knee, "knees": knees, "refill": refill, "additivity": additivity, "acceleration": acceleration,
	"mechanism": mechanism, "crossover": crossover, "callable": callable, "latency": latency, "depth": depth,
	"fanout": fanout, "limits": limits,
}
