package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// batchDepth measures how long a queue of a number of rows takes, in batches of
// one size.
type batchDepth struct{}

// BatchDepth is the experiment "batch-depth".
func BatchDepth() Experiment { return batchDepth{} }

func (batchDepth) Name() string { return "batch-depth" }

func (batchDepth) Question() string {
	return "How long do batches take, by how many rows are in the org's queue?"
}

func (batchDepth) Speed() float64 { return 300 }

func (batchDepth) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text: "An org's batches are worked off side by side, a few at once: up to that many batches the time does not depend on the depth, " +
			"beyond it grows in proportion. Above some depth nothing may proceed any more.",
		Binding: "work",
	}
}

// depths are total rows in the queue (issue 4).
var depths = []int{500, 2000, 8000, 50_000, 200_000}

// depthChunk is the size of all batches of all depths.
const depthChunk = 500

// levels are the depths that an org's queue has room for, and the most that it
// has room for in place of those that it has not.
func (batchDepth) levels(e *Env, o *Org) []int {
	most := int(e.mayQueue(o)) / depthChunk * depthChunk
	var out []int
	for _, n := range depths {
		if n > most {
			if len(out) == 0 || most >= 2*out[len(out)-1] {
				out = append(out, most)
			}
			break
		}
		out = append(out, n)
	}
	return slices.DeleteFunc(out, func(n int) bool { return n == 0 })
}

// rounds are one for each level, in an order that the seed fixes.
func (x batchDepth) rounds(e *Env, o *Org) []round {
	levels := x.levels(e, o)
	rng := rand.New(rand.NewPCG(e.seedFor(x.Name(), 0), 0))
	rng.Shuffle(len(levels), func(i, j int) { levels[i], levels[j] = levels[j], levels[i] })
	var out []round
	for _, n := range levels {
		out = append(out, evenly(fmt.Sprintf("depth %d", n), o.Name, n, depthChunk))
	}
	return out
}

// evenly makes batches of one size for a number of rows.
func evenly(name, org string, rows, chunk int) round {
	r := round{Name: name, Stall: patience(chunk)}
	for i := range rows / chunk {
		r.Lots = append(r.Lots, lot{Name: fmt.Sprintf("%d of %d rows", i, chunk), Org: org, Rows: chunk, Cut: longestBatch})
	}
	return r
}

func (x batchDepth) Estimate(e *Env) Estimate {
	o := e.roomiest()
	if o == nil {
		return e.needBatches(Estimate{}, 1)
	}
	return e.needRoom(e.pacedEstimate(o, x.rounds(e, o)), o, 2*depthChunk)
}

// pacedEstimate is of paced rounds, about 16 rows a second (facts/control.md
// C.3).
func (e *Env) pacedEstimate(o *Org, rounds []round) Estimate {
	lots := probe(o.Name, 0)
	most := int64(0)
	takes := 4 * time.Minute
	for i := range rounds {
		lots = append(append(lots, probe(o.Name, 0)...), rounds[i].Lots...)
		most = max(most, sumRows(rounds[i].Lots))
		takes += 5*time.Minute + healthyTime(rounds[i].Lots)
	}
	est := e.batchEstimate(lots)
	est.Takes = takes
	e.reserveNeeded(&est, most)
	if _, known := e.queueCap(o); !known {
		est.Warnings = append(est.Warnings, fmt.Sprintf("the cap of %s's batch queue is not known: %d rows are assumed (measure limits with an admin key)", o.Name, leastQueue))
	}
	return est
}

// healthyTime is about how long lots take that nothing starves: two rows a
// second each, eight at once.
func healthyTime(lots []lot) time.Duration {
	longest := 0
	for i := range lots {
		longest = max(longest, lots[i].Rows)
	}
	seconds := max(float64(longest)/2, float64(sumRows(lots))/16)
	return time.Duration(seconds * float64(time.Second))
}

func (x batchDepth) Run(ctx context.Context, b *Bench) (*Result, error) {
	o := b.env.roomiest()
	rounds := x.rounds(b.env, o)
	r := &Result{Config: map[string]any{"shape": batchShape, "org": o.Name, "chunk": depthChunk, "levels": x.levels(b.env, o)}}
	p, err := b.paced(ctx, o.Name, rounds, r, func(i int, done map[int]seen) bool {
		return !stalledBelow(rounds, i, done)
	})
	if err != nil && (len(p.done) == 0 || ctx.Err() != nil) {
		return nil, err
	}
	x.result(b.env, o.Name, rounds, &p, r)
	return r, err
}

// stalledBelow says that two smaller depths stalled, so that a larger one shows
// nothing new.
func stalledBelow(rounds []round, i int, done map[int]seen) bool {
	n := 0
	for j, s := range done {
		if s.Stalled && sumRows(rounds[j].Lots) < sumRows(rounds[i].Lots) {
			n++
		}
	}
	return n >= 2
}

// pacedLevel is what a round showed beside the probes.
type pacedLevel struct {
	rows, chunk int
	at          string
	seen        seen
	slow        effect // of its quickest batches
	first, last time.Duration
	whole       bool
	hour        bool // a probe beside it was slow: that it is slow tells nothing
}

// told says that a level tells of itself: one that was fast does even where the
// hour beside it was slow, as no hour makes a batch faster.
func (l *pacedLevel) told() bool { return !l.hour || !l.slow.there() }

func levelsOf(rounds []round, p *paced, base *baseline) []pacedLevel {
	var out []pacedLevel
	for i := range rounds {
		s, ok := p.done[i]
		if !ok || len(s.Lots) == 0 {
			continue
		}
		l := pacedLevel{
			rows: int(sumRows(rounds[i].Lots)), chunk: rounds[i].Lots[0].Rows, at: rounds[i].Name, seen: s,
			slow: base.slower(s.Lots, quickLots), whole: allWhole(s.Lots), hour: p.slowHour(i, base),
		}
		l.first, l.last = spanOf(s.Lots)
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b pacedLevel) int {
		if a.rows != b.rows {
			return a.rows - b.rows
		}
		return a.chunk - b.chunk
	})
	return out
}

// addLevel adds a level's numbers.
func (r *Result) addLevel(org, model string, l *pacedLevel, overhead time.Duration) {
	add := func(name string, v float64, unit, bound string) {
		r.Metrics = append(r.Metrics, Metric{Name: name, Org: org, Model: model, At: l.at, Value: v, Unit: unit, Low: v, High: v, N: len(l.seen.Lots), Bound: bound, Provisional: true})
	}
	bound := ""
	if !l.whole {
		bound = ">="
	}
	if firstWhole := slices.ContainsFunc(l.seen.Lots, func(o outcome) bool { return o.whole() }); firstWhole {
		add("batch_first_end", l.first.Seconds(), "s", "")
	} else {
		add("batch_first_end", l.first.Seconds(), "s", ">=")
	}
	add("batch_time_to_end", l.last.Seconds(), "s", bound)
	add("batch_rows_per_s", float64(answered(l.seen.Lots))/max(1, (l.last-overhead).Seconds()), "rows/s", "")
}

// ends is the share of a level's batches that had ended, by time.
func (l *pacedLevel) ends(model string) Series {
	s := Series{Name: l.at, Model: model, X: "minutes since the first was sent", Y: "share of rows answered"}
	sorted := slices.SortedFunc(slices.Values(l.seen.Lots), func(a, b outcome) int { return a.Ended.Compare(b.Ended) })
	began := sorted[0].Created
	for i := range sorted {
		if sorted[i].Created.Before(began) {
			began = sorted[i].Created
		}
	}
	every := max(1, len(sorted)/100)
	n := 0
	for i := range sorted {
		n += sorted[i].done()
		if i%every == 0 || i == len(sorted)-1 {
			s.Points = append(s.Points, []float64{sorted[i].Ended.Sub(began).Minutes(), float64(n) / float64(l.rows)})
		}
	}
	return s
}

func (x batchDepth) result(e *Env, org string, rounds []round, p *paced, r *Result) {
	model := e.Cheap().ID
	base := baselineOf(p.probes)
	levels := levelsOf(rounds, p, &base)
	r.addBaseline(org, model, p.probes, &base)
	line := Series{Name: "time to end", Org: org, Model: model, X: "rows in the queue", Y: "seconds to the end of the last batch"}
	sure, slowFrom, fastTo := 1.0, 0, 0
	for i := range levels {
		l := &levels[i]
		r.addLevel(org, model, l, base.Overhead)
		r.addEffect("batch_effect_at_"+fmt.Sprint(l.rows), model, l.slow, "")
		line.Points = append(line.Points, []float64{float64(l.rows), l.last.Seconds()})
		r.Series = append(r.Series, l.ends(model))
		if !l.told() {
			r.NotShown = append(r.NotShown, l.at+": the hour was slow, the empty queue beside it too")
			continue
		}
		sure = min(sure, l.slow.sure())
		switch {
		case l.slow.there() && slowFrom == 0:
			slowFrom = l.rows
		case !l.slow.there() && slowFrom == 0:
			fastTo = l.rows
		}
	}
	r.Series = append([]Series{line}, r.Series...)
	for j := range rounds {
		if _, ok := p.done[j]; !ok && stalledBelow(rounds, j, p.done) {
			r.NotShown = append(r.NotShown, rounds[j].Name+": two smaller ones had stalled")
		}
	}
	r.addParallel(org, model, levels, &base)
	r.Confidence = sure
	r.Config["class"] = "flat"
	switch {
	case base.starved():
		r.slowHour(org, &base)
	case slowFrom == 0 && fastTo == 0:
		r.Config["class"], r.Confidence = "undecided", 0
		r.Verdict = "No depth could be told from the hour"
	case slowFrom > 0:
		r.Config["class"] = "starved"
		r.Binding = append(r.Binding, Bound{Org: org, Tier: Batch, Limit: "batch_queue", Whose: "Anthropic", Signs: []string{
			fmt.Sprintf("batches of %d rows among %d queued are slower than on the empty queue", depthChunk, slowFrom),
		}})
		if fastTo > 0 {
			r.Metrics = append(r.Metrics, Metric{
				Name: "batch_depth", Org: org, Model: model, Value: float64(fastTo), Unit: "rows", Low: float64(fastTo), High: float64(slowFrom),
				N: len(levels), Provisional: true, Note: "the deepest queue that proceeded; the next deeper one looked at did not",
			})
		}
		r.Verdict = fmt.Sprintf("%s's batches of %d rows slow down or stop somewhere between %s and %s queued rows", org, depthChunk, group(fastTo), group(slowFrom))
	case len(levels) > 0:
		l := &levels[len(levels)-1]
		r.Binding = append(r.Binding, Bound{Org: org, Tier: Batch, Limit: "work", Whose: "Anthropic", Signs: []string{"batches are as quick in a deep queue as in an empty one once they are begun"}})
		r.Verdict = fmt.Sprintf("Depth does not slow %s's batches: %s queued rows end in %s, as quick a row as few", org, group(l.rows), took(l.last))
		if !l.whole {
			r.Verdict = fmt.Sprintf("Depth does not slow %s's batches up to %s queued rows", org, group(l.rows))
		}
	}
}

// slowHour is the verdict where the empty queue was slow throughout.
func (r *Result) slowHour(org string, base *baseline) {
	r.Config["class"], r.Confidence = "hour", 0
	r.Verdict = fmt.Sprintf("All was slow on %s, small batches on the empty queue too (%.2f rows a second): measure at another hour, or run batch-mechanism", org, base.Rate)
}

// addParallel adds how many batches an org has worked off at once: from the
// deepest level that ended.
func (r *Result) addParallel(org, model string, levels []pacedLevel, base *baseline) {
	for i := len(levels) - 1; i >= 0; i-- {
		l := &levels[i]
		if l.slow.there() || l.hour || !l.whole || len(l.seen.Lots) < 16 {
			continue
		}
		v := parallel(l.seen.Lots, base)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		r.Metrics = append(r.Metrics, Metric{
			Name: "batch_parallel", Org: org, Model: model, At: l.at, Value: v, Unit: "batches", Low: 0.7 * v, High: 1.4 * v, N: len(l.seen.Lots), Provisional: true,
		})
		return
	}
}

// parallel is how many batches end in the time that one takes, between a fifth
// and four fifths of them.
func parallel(lots []outcome, base *baseline) float64 {
	sorted := slices.SortedFunc(slices.Values(lots), func(a, b outcome) int { return a.Ended.Compare(b.Ended) })
	from, to := len(sorted)/5, len(sorted)*4/5
	span := sorted[to-1].Ended.Sub(sorted[from-1].Ended).Seconds()
	return float64(to-from) * float64(sorted[0].Rows) / base.Rate / span
}

func earliest(lots []outcome) (at time.Time, ok bool) {
	for i := range lots {
		if i == 0 || lots[i].Created.Before(at) {
			at = lots[i].Created
		}
	}
	return at, len(lots) > 0
}

// group writes a number with commas.
func group(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", group(n/1000), n%1000)
}
