package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// batchAdditivity sends the same set of batches to one org, and split over all.
type batchAdditivity struct{}

// BatchAdditivity is the experiment "batch-additivity".
func BatchAdditivity() Experiment { return batchAdditivity{} }

func (batchAdditivity) Name() string { return "batch-additivity" }

func (batchAdditivity) Question() string {
	return "Do batches end sooner when they are split over several orgs?"
}

// Speed is low: that many creates take a while of real time.
func (batchAdditivity) Speed() float64 { return 100 }

func (batchAdditivity) Hypothesis(e *Env) Hypothesis {
	return Hypothesis{
		Text:    fmt.Sprintf("Each org's batches are worked off by themselves: split over %d orgs, the same set ends about %d times as fast once it has begun.", len(e.Batching()), len(e.Batching())),
		Binding: "work",
	}
}

// The set is large enough that each org has three times as many batches as it
// works off at once, and small ones, so that they end throughout.
const (
	addChunk  = 100
	addChunks = 24 // for each org
	addPairs  = 3
)

// rounds are pairs of the two ways, in an order that the seed draws for each
// pair; the one org is another in each.
func (x batchAdditivity) rounds(e *Env) []round {
	orgs := e.Batching()
	rng := rand.New(rand.NewPCG(e.seedFor(x.Name(), 0), 0))
	var out []round
	for pair := range addPairs {
		one := x.round(fmt.Sprintf("one org, pair %d", pair+1), orgs, func(int) *Org { return orgs[pair%len(orgs)] })
		split := x.round(fmt.Sprintf("split, pair %d", pair+1), orgs, func(i int) *Org { return orgs[i%len(orgs)] })
		if rng.IntN(2) == 0 {
			one, split = split, one
		}
		out = append(out, one, split)
	}
	return out
}

func (batchAdditivity) round(name string, orgs []*Org, to func(i int) *Org) round {
	r := round{Name: name, Stall: patience(addChunk)}
	for i := range addChunks * len(orgs) {
		r.Lots = append(r.Lots, lot{Name: fmt.Sprintf("part %d", i), Org: to(i).Name, Rows: addChunk, Cut: longestBatch})
	}
	return r
}

func (x batchAdditivity) Estimate(e *Env) Estimate {
	if est := e.needBatches(Estimate{}, 2); est.Refused != "" {
		return est
	}
	var lots []lot
	takes := time.Duration(0)
	for _, r := range x.rounds(e) {
		lots = append(lots, r.Lots...)
		takes += 6 * time.Minute
	}
	est := e.batchEstimate(lots)
	est.Takes = takes
	rows := int64(addChunk * addChunks * len(e.Batching()))
	e.reserveNeeded(&est, rows)
	for _, o := range e.Batching() {
		est = e.needRoom(est, o, rows)
	}
	return est
}

func (x batchAdditivity) Run(ctx context.Context, b *Bench) (*Result, error) {
	orgs := b.env.Batching()
	r := &Result{Config: map[string]any{"shape": batchShape, "orgs": len(orgs), "batches": addChunks * len(orgs), "chunk": addChunk, "pairs": addPairs}}
	rounds := x.rounds(b.env)
	done := map[string]seen{}
	var beside disturbance
	for i := range rounds {
		if stalledAlready(rounds[i].Name, done) {
			continue
		}
		s, why, err := b.ifRoom(ctx, rounds[i].Lots[0].Org, rounds[i], func(p round) (seen, error) { return b.round(ctx, p) })
		if err != nil {
			return nil, err
		}
		if why != "" {
			r.NotShown = append(r.NotShown, rounds[i].Name+": "+why)
			continue
		}
		beside.take(&s)
		done[rounds[i].Name] = s
	}
	r.addDisturbance(&beside)
	x.result(b.env, done, r)
	return r, nil
}

// stalledAlready says that both ways have stalled once: that does not get better
// by waiting for it again.
func stalledAlready(name string, done map[string]seen) bool {
	one, split := false, false
	for n, s := range done {
		if s.Stalled {
			one, split = one || n[0] == 'o', split || n[0] == 's'
		}
	}
	return one && split && name != ""
}

// goodput is rows a second of a round, between the ends of a fifth and of four
// fifths of its batches: neither how long it took to send them is in it, nor
// the overhead, nor the luck of the last. Where it was given up before, it is
// what was done over the whole time.
func goodput(s *seen) float64 {
	parts := s.of("part")
	began, ok := earliest(parts)
	if !ok {
		return math.NaN()
	}
	stop := func(o *outcome) time.Time { return o.Created.Add(o.worked()) }
	slices.SortFunc(parts, func(a, b outcome) int { return stop(&a).Compare(stop(&b)) })
	from, to := len(parts)/5, len(parts)*4/5
	if some := parts[from:to]; from > 0 && len(some) > 0 && allWhole(parts[:to]) {
		span := stop(&parts[to-1]).Sub(stop(&parts[from-1]))
		return float64(answered(some)) / max(span, time.Second).Seconds()
	}
	span := stop(&parts[len(parts)-1]).Sub(began)
	return max(float64(answered(parts)), 0.5) / max(span, time.Second).Seconds()
}

// answered is how many rows of lots were processed.
func answered(lots []outcome) int {
	n := 0
	for i := range lots {
		n += lots[i].done()
	}
	return n
}

func (x batchAdditivity) result(e *Env, done map[string]seen, r *Result) {
	model := e.Cheap().ID
	k := len(e.Batching())
	stalled := 0
	for _, s := range done {
		stalled += pick(s.Stalled)
	}
	var logs []float64
	one := Series{Name: "one org", Model: model, X: "pair", Y: "rows a second"}
	split := Series{Name: fmt.Sprintf("split over %d", k), Model: model, X: "pair", Y: "rows a second"}
	for pair := range addPairs {
		a, okA := done[fmt.Sprintf("one org, pair %d", pair+1)]
		b, okB := done[fmt.Sprintf("split, pair %d", pair+1)]
		if !okA || !okB {
			continue
		}
		ga, gb := goodput(&a), goodput(&b)
		logs = append(logs, math.Log(gb)-math.Log(ga))
		one.Points = append(one.Points, []float64{float64(pair + 1), ga})
		split.Points = append(split.Points, []float64{float64(pair + 1), gb})
	}
	r.Series = []Series{one, split}
	if len(logs) == 0 {
		r.Config["class"] = "undecided"
		r.Verdict = "The two ways could not be compared: no pair was finished"
		return
	}
	f := meanEffect(logs)
	r.addEffect("batch_additivity", model, f, "")
	r.addSpeeds(model, k, one, split)
	x.verdict(k, f, stalled, len(done), r)
}

func (r *Result) addSpeeds(model string, k int, one, split Series) {
	for _, s := range []struct {
		at string
		Series
	}{{"one org", one}, {fmt.Sprintf("%d orgs", k), split}} {
		var v []float64
		for _, p := range s.Points {
			v = append(v, p[1])
		}
		mean, sd := meanSD(v)
		half := 1.96 * max(sd, leastSD*mean) / math.Sqrt(float64(len(v)))
		r.Metrics = append(r.Metrics, Metric{Name: "batch_rows_per_s", Model: model, At: s.at, Value: mean, Unit: "rows/s", Low: max(0, mean-half), High: mean + half, N: len(v)})
	}
}

// fasterBy is a gain in words; from a factor of 100 on the slow side is as good as
// still, and the number says nothing.
func fasterBy(f effect) string {
	if v := math.Exp(f.Log); v < 100 {
		return fmt.Sprintf(", %.1f times as fast", v)
	}
	return " (in one next to nothing was answered)"
}

// verdict compares with half way between no gain and the whole of it, on the
// logarithmic scale.
func (batchAdditivity) verdict(k int, f effect, stalled, rounds int, r *Result) {
	halfway := math.Log(float64(k)) / 2
	r.Confidence = 0.5 * math.Erfc(-math.Abs(f.Log-halfway)/f.SE/math.Sqrt2)
	gain := math.Exp(f.Log)
	switch {
	case stalled == rounds:
		r.Config["class"], r.Confidence = "undecided", 0
		r.Verdict = "Neither way proceeded: whether orgs add up was not shown (batch-mechanism tells what starves them)"
	case f.Log > math.Log(3*float64(k)):
		r.Config["class"] = "more than additive"
		r.Verdict = fmt.Sprintf("Splitting over %d orgs is worth more than %d orgs: in one queue the set starves, split it proceeds%s", k, k, fasterBy(f))
	case f.Log > halfway:
		r.Config["class"] = "additive"
		r.Verdict = fmt.Sprintf("Batches add up over orgs: split over %d, the same set proceeds %.1f times as fast", k, gain)
	default:
		r.Config["class"] = "shared"
		r.Verdict = fmt.Sprintf("Batches do not add up over orgs: split over %d, the same set proceeds %.1f times as fast", k, gain)
	}
	if class := r.Config["class"]; class == "additive" || class == "shared" {
		r.Binding = append(r.Binding, Bound{Tier: Batch, Limit: "work", Whose: "Anthropic", Signs: []string{fmt.Sprintf("%d orgs carry %.1f times what one does", k, gain)}})
	}
}
