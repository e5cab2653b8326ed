package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// batchSize measures the same rows in batches of different sizes.
type batchSize struct{}

// BatchSize is the experiment "batch-size".
func BatchSize() Experiment { return batchSize{} }

func (batchSize) Name() string { return "batch-size" }

func (batchSize) Question() string {
	return "How long do the same rows take, by how large the batches are that they are sent in?"
}

func (batchSize) Speed() float64 { return 1000 }

func (batchSize) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text:    "A batch is worked off at a rate of its own, about two rows a second, and several at once: the same 8,000 rows end sooner in many small batches than in one.",
		Binding: "work",
	}
}

// sizeDepth rows are queued at each size (issue 4: at matched depth).
const sizeDepth = 8000

var sizes = []int{500, 2000, 8000}

// sizeReps is how often each size is measured; the second time in the opposite
// order, so that a steady drift falls on all alike.
const sizeReps = 2

func (x batchSize) rounds(e *Env, o *Org) []round {
	order := slices.Clone(sizes)
	rng := rand.New(rand.NewPCG(e.seedFor(x.Name(), 0), 0))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	var out []round
	for rep := range sizeReps {
		for _, n := range order {
			out = append(out, evenly(fmt.Sprintf("chunk %d, %d", n, rep+1), o.Name, sizeDepth, n))
		}
		slices.Reverse(order)
	}
	return out
}

func (x batchSize) Estimate(e *Env) Estimate {
	o := e.roomiest()
	if o == nil {
		return e.needBatches(Estimate{}, 1)
	}
	return e.needRoom(e.pacedEstimate(o, x.rounds(e, o)), o, sizeDepth)
}

func (x batchSize) Run(ctx context.Context, b *Bench) (*Result, error) {
	o := b.env.roomiest()
	rounds := x.rounds(b.env, o)
	r := &Result{Config: map[string]any{"shape": batchShape, "org": o.Name, "depth": sizeDepth, "sizes": sizes, "repeats": sizeReps}}
	p, err := b.paced(ctx, o.Name, rounds, r, func(i int, done map[int]seen) bool {
		return !stalledBefore(rounds, i, done) // once is enough for a wait of hours
	})
	if err != nil && (len(p.done) == 0 || ctx.Err() != nil) {
		return nil, err
	}
	x.result(b.env, o.Name, rounds, &p, r)
	return r, err
}

// stalledBefore says that the same size has stalled already.
func stalledBefore(rounds []round, i int, done map[int]seen) bool {
	for j, s := range done {
		if s.Stalled && rounds[j].Lots[0].Rows == rounds[i].Lots[0].Rows {
			return true
		}
	}
	return false
}

func (x batchSize) result(e *Env, org string, rounds []round, p *paced, r *Result) {
	model := e.Cheap().ID
	base := baselineOf(p.probes)
	levels := levelsOf(rounds, p, &base)
	r.addBaseline(org, model, p.probes, &base)
	for i := range levels {
		r.addLevel(org, model, &levels[i], base.Overhead)
		r.Series = append(r.Series, levels[i].ends(model))
	}
	line := Series{Name: "time to end", Org: org, Model: model, X: "rows in a batch", Y: "seconds until 8,000 rows have ended"}
	slow := map[int]effect{}
	ends := map[int][]float64{}
	for _, n := range sizes {
		var diffs []float64
		for i := range levels {
			if levels[i].chunk == n && levels[i].told() {
				diffs = append(diffs, levels[i].slow.Log)
				ends[n] = append(ends[n], levels[i].last.Seconds())
			}
		}
		if len(diffs) == 0 {
			r.NotShown = append(r.NotShown, fmt.Sprintf("batches of %s, at an hour that is not slow", group(n)))
			continue
		}
		slow[n] = meanEffect(diffs)
		r.addEffect("batch_effect_chunk_"+fmt.Sprint(n), model, slow[n], "")
		mean, _ := meanSD(ends[n])
		line.Points = append(line.Points, []float64{float64(n), mean, slices.Min(ends[n]), slices.Max(ends[n])})
	}
	r.Series = append([]Series{line}, r.Series...)
	x.verdict(org, slow, ends, &base, r)
}

// verdict weighs size against what all sizes share, which is the depth.
func (batchSize) verdict(org string, slow map[int]effect, ends map[int][]float64, base *baseline, r *Result) {
	least, most := sizes[0], sizes[len(sizes)-1]
	small, large := slow[least], slow[most]
	r.Confidence = min(small.sure(), large.sure())
	mean := func(n int) string {
		v, _ := meanSD(ends[n])
		return took(time.Duration(v * float64(time.Second)))
	}
	switch {
	case base.starved():
		r.slowHour(org, base)
	case small.N == 0 || large.N == 0:
		r.Config["class"], r.Confidence = "undecided", 0
		r.Verdict = "The sizes could not be compared: one of them was not measured"
	case small.there():
		r.Config["class"] = "depth or hour"
		r.Verdict = fmt.Sprintf("With %s rows queued on %s batches are slow whatever their size: batch-mechanism tells why", group(sizeDepth), org)
		r.Binding = append(r.Binding, Bound{Org: org, Tier: Batch, Limit: "batch_queue", Whose: "Anthropic", Signs: []string{"small batches are as slow as large ones"}})
	case large.there():
		r.Config["class"] = "starved"
		from, to := least, most
		for _, n := range sizes {
			if f := slow[n]; f.N > 0 && !f.there() {
				from = n
			} else if f.there() && n < to {
				to = n
			}
		}
		r.Verdict = fmt.Sprintf("Large batches starve on %s: of up to %s rows they proceed, of %s they do not keep up", org, group(from), group(to))
		r.Binding = append(r.Binding, Bound{Org: org, Tier: Batch, Limit: "work", Whose: "Anthropic", Signs: []string{"a large batch is slower a row than small ones at the same depth"}})
	default:
		r.Config["class"] = "parallel"
		r.Verdict = fmt.Sprintf("A row is as quick in a large batch on %s, but batches run side by side: %s rows take %s in batches of %s, %s in one", org, group(sizeDepth), mean(least), group(least), mean(most))
		r.Binding = append(r.Binding, Bound{Org: org, Tier: Batch, Limit: "work", Whose: "Anthropic", Signs: []string{"one batch has a rate of its own, which its size does not change"}})
	}
}
