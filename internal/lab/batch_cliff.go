package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// batchCliff sends batches of different sizes at the same moment to one org: the
// hour and the depth are then the same for all.
type batchCliff struct{}

// BatchCliff is the experiment "batch-cliff".
func BatchCliff() Experiment { return batchCliff{} }

func (batchCliff) Name() string { return "batch-cliff" }

func (batchCliff) Question() string {
	return "Is there a size above which a single batch hardly proceeds?"
}

func (batchCliff) Speed() float64 { return 1000 }

func (batchCliff) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text:    "Sent at the same moment, batches of 500, 2,000, 8,000 and 50,000 rows proceed at the same rate each, so that the time to end grows with the size and without a cliff.",
		Binding: "work",
	}
}

var cliffSizes = []int{500, 2000, 8000, 50_000}

// longestCliff is how long a single batch is waited for: the largest takes seven
// hours where nothing starves it.
const longestCliff = 12 * time.Hour

// round is a batch of each size, a canary and a batch of one row, all at once.
// A size that the queue has no room for beside the smaller ones is left out.
func (batchCliff) round(e *Env, o *Org) (r round, left []string) {
	r = round{Name: "cliff"}
	cut := patience(canaryRows)
	if e.Snapshot {
		r.Name, cut = "cliff, looked at", horizon
	}
	room := e.mayQueue(o) - canaryRows - probeOnes
	r.Lots = append(r.Lots, probe(o.Name, cut)[probeCanaries-1:]...)
	for _, n := range cliffSizes {
		if room -= int64(n); room < 0 {
			left = append(left, fmt.Sprintf("a batch of %s: the queue of %s has no room for it", group(n), o.Name))
			continue
		}
		l := lot{Name: fmt.Sprintf("size %d", n), Org: o.Name, Rows: n, Cut: min(patience(n), longestCliff)}
		if e.Snapshot {
			l.Cut, l.Looked = horizon, true
		}
		r.Lots = append(r.Lots, l)
	}
	return r, left
}

func (x batchCliff) Estimate(e *Env) Estimate {
	o := e.roomiest()
	if o == nil {
		return e.needBatches(Estimate{}, 1)
	}
	r, _ := x.round(e, o)
	est := e.batchEstimate(r.Lots)
	est.Takes = 2*time.Minute + healthyTime(r.Lots)
	if e.Snapshot {
		est.Takes = horizon + time.Minute
		est.Warnings = append(est.Warnings, "the batches are canceled after ten minutes: far fewer rows are billed")
	}
	e.reserveNeeded(&est, sumRows(r.Lots))
	return e.needRoom(est, o, int64(cliffSizes[0]+cliffSizes[1]+canaryRows+probeOnes))
}

func (x batchCliff) Run(ctx context.Context, b *Bench) (*Result, error) {
	o := b.env.roomiest()
	plan, left := x.round(b.env, o)
	r := &Result{NotShown: left, Config: map[string]any{"shape": batchShape, "org": o.Name, "sizes": cliffSizes, "snapshot": b.env.Snapshot}}
	if b.env.Snapshot {
		r.Config["looked_at_s"] = horizon.Seconds()
	}
	s, why, err := b.ifRoom(ctx, o.Name, plan, func(p round) (seen, error) { return b.round(ctx, p) })
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, &RefusedError{Experiment: x.Name(), Why: why, Hint: "raise --max-spend, or come back when colleagues' batches have ended"}
	}
	var beside disturbance
	beside.take(&s)
	r.addDisturbance(&beside)
	x.result(b.env, o.Name, &s, r)
	return r, nil
}

func (x batchCliff) result(e *Env, org string, s *seen, r *Result) {
	model := e.Cheap().ID
	overhead, _ := overheadOf(s.Lots)
	// The rate that all are compared with is that of the canary and the smallest.
	small := append(s.of(armIdle), sized(s.of("size "), cliffSizes[0])...)
	base := baseline{Overhead: overhead, Rate: pooledRate(small, overhead)}
	r.addOrgPace(org, model, append(s.of(armIdle), s.of(armOne)...))
	line := Series{Name: "time to end", Org: org, Model: model, X: "rows in the batch", Y: "seconds to its end"}
	rates := Series{Name: "rate", Org: org, Model: model, X: "rows in the batch", Y: "rows a second"}
	r.Confidence = 1
	var slow, fast []int
	for _, o := range s.of("size ") {
		f := base.slower([]outcome{o}, 1)
		v := r.addSingle(org, model, &o, overhead)
		line.Points = append(line.Points, []float64{float64(o.Rows), o.worked().Seconds()})
		rates.Points = append(rates.Points, []float64{float64(o.Rows), v.Value, v.Low, v.High})
		if o.Rows == cliffSizes[0] {
			continue
		}
		r.addEffect("batch_effect_size_"+fmt.Sprint(o.Rows), model, f, "")
		r.Confidence = min(r.Confidence, f.sure())
		if f.there() {
			slow = append(slow, o.Rows)
		} else {
			fast = append(fast, o.Rows)
		}
	}
	r.Series = []Series{line, rates}
	x.verdict(org, &base, s, slow, fast, r)
}

// addSingle adds the numbers of one batch and gives its rate.
func (r *Result) addSingle(org, model string, o *outcome, overhead time.Duration) Metric {
	add := func(name, unit string, value, low, high float64) *Metric {
		r.Metrics = append(r.Metrics, Metric{
			Name: name, Org: org, Model: model, At: fmt.Sprintf("size %d", o.Rows), Value: value, Unit: unit, Low: low, High: high, N: 1, Provisional: true,
		})
		return &r.Metrics[len(r.Metrics)-1]
	}
	took := add("batch_time_to_end", "s", o.worked().Seconds(), o.worked().Seconds(), o.worked().Seconds())
	if !o.whole() {
		took.Bound = ">="
	}
	n := float64(o.Succeeded)
	add("batch_succeeded", "rows", n, n, n).Note = "when it was looked at, or had ended"
	v, wide := pooledRate([]outcome{*o}, overhead), math.Exp(1.96*leastSD)
	return *add("batch_row_rate", "rows/s", v, v/wide, v*wide)
}

func (batchCliff) verdict(org string, base *baseline, s *seen, slow, fast []int, r *Result) {
	smallest := cliffSizes[0]
	switch {
	case math.IsNaN(base.Rate) || len(slow)+len(fast) == 0:
		r.Config["class"], r.Confidence = "undecided", 0
		r.Verdict = "No two sizes could be compared"
	case base.starved():
		r.Config["class"] = "depth or hour"
		r.Verdict = fmt.Sprintf("With %s rows queued on %s, not even small batches proceed (%.2f rows a second): that is no matter of their size", group(total(s.Lots)), org, base.Rate)
		r.Binding = append(r.Binding, Bound{Org: org, Tier: Batch, Limit: "batch_queue", Whose: "Anthropic", Signs: []string{"the smallest batch is as slow as the largest"}})
	case len(slow) > 0:
		r.Config["class"] = "cliff"
		below := smallest
		for _, n := range fast {
			if n < slow[0] {
				below = n
			}
		}
		r.Verdict = fmt.Sprintf("A batch on %s falls off a cliff between %s and %s rows", org, group(below), group(slow[0]))
		r.Binding = append(r.Binding, Bound{Org: org, Tier: Batch, Limit: "work", Whose: "Anthropic", Signs: []string{
			fmt.Sprintf("batches of %s rows are slow while %d proceed in the same queue at the same moment", groups(slow), smallest),
		}})
	default:
		r.Config["class"] = "no cliff"
		r.Verdict = fmt.Sprintf("No cliff on %s: single batches of up to %s rows proceed at %.1f rows a second each", org, group(fast[len(fast)-1]), base.Rate)
	}
}

// sized are the lots of a number of rows. Names do not tell: "size 500" begins
// "size 50000" too.
func sized(lots []outcome, rows int) []outcome {
	return slices.DeleteFunc(slices.Clone(lots), func(o outcome) bool { return o.Rows != rows })
}

func total(lots []outcome) int {
	n := 0
	for i := range lots {
		n += lots[i].Rows
	}
	return n
}

func groups(of []int) string {
	var s []string
	for _, n := range of {
		s = append(s, group(n))
	}
	return strings.Join(s, ", ")
}
