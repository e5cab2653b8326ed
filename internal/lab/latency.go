package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// latency streams answers of several lengths, one at a time in random order, so
// that hour and load fall on all alike.
type latency struct{}

// Latency is the experiment "latency".
func Latency() Experiment { return latency{} }

func (latency) Name() string { return "latency" }
func (latency) Question() string {
	return "How long until the first token, and how many tokens a second, by model and length?"
}

// At speed 8 the grain of a busy machine's clock, some milliseconds, is a
// twentieth of the shortest time to a first token.
func (latency) Speed() float64 { return 8 }

func (latency) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text:    "Time to the first token does not depend on the length of the answer; the rest takes a constant time a token; Haiku is the fastest.",
		Binding: "latency",
	}
}

// latencyLengths are the max_tokens asked for, and how many answers of each.
var latencyLengths = []int64{16, 128, 512}

const (
	latencyEach  = 40
	latencyDear  = 12 // of an Opus model
	latencyInput = 200
	latencyLong  = 50 // output tokens from which on an answer tells its rate: those of few end at once
	latencyConc  = 4
)

// latencyModels are the newest active model of each family in daily use.
func (latency) models(e *Env) []price.Model {
	var out []price.Model
	for _, name := range []string{"claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-8"} {
		if m, ok := e.Model(name); ok && m.Status != price.Retired {
			out = append(out, m)
		}
	}
	return out
}

func (latency) each(m price.Model) int {
	if m.Family() == "opus" {
		return latencyDear
	}
	return latencyEach
}

func (x latency) Estimate(e *Env) Estimate {
	est := Estimate{Takes: 5 * time.Minute}
	for _, o := range e.Syncing()[:min(1, len(e.Syncing()))] {
		for _, m := range x.models(e) {
			for _, n := range latencyLengths {
				est.Lines = append(est.Lines, Planned{Org: o.Name, Model: m.ID, Tier: Sync, Calls: int64(x.each(m)), In: latencyInput, Out: n})
			}
		}
	}
	return est
}

func (x latency) Run(ctx context.Context, b *Bench) (*Result, error) {
	r := &Result{Config: map[string]any{"prompt_tokens": latencyInput, "max_tokens": latencyLengths, "each": latencyEach, "each_opus": latencyDear, "concurrency": latencyConc}}
	org := b.env.Syncing()[0].Name
	var shots []Shot
	for _, m := range x.models(b.env) {
		for _, n := range latencyLengths {
			for range x.each(m) {
				shots = append(shots, Shot{Org: org, Model: m.ID, Shape: Shape{In: latencyInput, Out: int(n), MaxTokens: n}, Salt: uint64(len(shots) + 1), Stream: true})
			}
		}
	}
	rng := rand.New(rand.NewPCG(b.env.seedFor("latency", 0), 1))
	rng.Shuffle(len(shots), func(i, j int) { shots[i], shots[j] = shots[j], shots[i] })
	const piece = 60 // so that an interruption costs little
	for i := 0; i < len(shots); i += piece {
		part := shots[i:min(i+piece, len(shots))]
		_, err := Step(b, fmt.Sprintf("calls %d", i), func() (nothing, error) {
			_, err := b.Ladder(ctx, latencyConc, len(part), func(i int) Shot { return part[i] })
			return nothing{}, err
		})
		if err != nil {
			return r, err
		}
	}
	r.fromLatency(b.env, org, x.models(b.env), b.Records())
	return r, nil
}

// fromLatency reads the metrics out of the timings.
func (r *Result) fromLatency(e *Env, org string, models []price.Model, records []Record) {
	var said []string
	for _, m := range models {
		var first, rate, tokens, whole []float64
		byLength := map[int64][]float64{}
		for i := range records {
			rec := &records[i]
			if rec.Model != m.ID || !rec.OK() {
				continue
			}
			first = append(first, (rec.FirstByte - rec.Sent).Seconds())
			tokens, whole = append(tokens, float64(rec.Usage.Output)), append(whole, rec.Latency().Seconds())
			if span := (rec.End - rec.FirstByte).Seconds(); span > 0 && rec.Usage.Output >= latencyLong {
				rate = append(rate, float64(rec.Usage.Output)/span)
			}
			length := lengthClass(rec.Usage.Output)
			byLength[length] = append(byLength[length], rec.Latency().Seconds())
		}
		if len(first) == 0 {
			r.NotShown = append(r.NotShown, m.ID+": no answer")
			continue
		}
		r.Metrics = append(r.Metrics,
			medianOf(Metric{Name: "ttft", Org: org, Pool: m.Pool, Model: m.ID, Unit: "s"}, first),
			quantileOf(Metric{Name: "ttft_p95", Org: org, Pool: m.Pool, Model: m.ID, Unit: "s"}, first, 0.95),
			agreed(medianOf(Metric{Name: "output_rate", Org: org, Pool: m.Pool, Model: m.ID, Unit: "tokens/s"}, rate), ols(tokens, whole)))
		series := Series{Name: "latency", Org: org, Model: m.ID, X: "output tokens", Y: "seconds to the end"}
		for _, n := range sortedLengths(byLength) {
			l := medianOf(Metric{Name: "latency", Org: org, Pool: m.Pool, Model: m.ID, Unit: "s", At: fmt.Sprintf("about %d output tokens", n)}, byLength[n])
			r.Metrics = append(r.Metrics, l)
			series.Points = append(series.Points, []float64{float64(n), l.Value, l.Low, l.High})
		}
		r.Series = append(r.Series, series)
		ttft, _ := r.Metric("ttft", org, m.ID)
		speed, _ := r.Metric("output_rate", org, m.ID)
		said = append(said, fmt.Sprintf("%s %.2f s and %.0f tokens/s", strings.TrimPrefix(m.ID, "claude-"), ttft.Value, speed.Value))
	}
	r.Verdict = "First token after, then: " + strings.Join(said, "; ")
	r.Confidence = 0.95
	if len(said) == 0 {
		r.Verdict, r.Confidence = "No model answered", 0
	}
}

// agreed holds a rate of tokens, read from how the bytes of answers came, to how
// much longer longer answers took. Where something on the way hands head and
// body over together (a proxy that buffers, a busy machine at a high --speed),
// the bytes tell a rate that no answer had, and the slope is the better witness.
func agreed(rate Metric, longer regression) Metric {
	surest := longer.slope - 2*longer.slopeSE // seconds a token, at least
	if !(surest > 0) || rate.Value*surest <= 2 {
		return rate
	}
	rate.Value, rate.Low, rate.High = 1/longer.slope, 1/(longer.slope+2*longer.slopeSE), 1/surest
	rate.Provisional, rate.Note = true, "from how much longer longer answers took: the bytes of an answer came together"
	return rate
}

// lengthClass puts answers of about one length together: powers of two.
func lengthClass(out int64) int64 {
	return int64(1) << max(0, int(math.Round(math.Log2(float64(max(1, out))))))
}

func sortedLengths(m map[int64][]float64) []int64 {
	var keys []int64
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// medianOf fills a metric with the median and its 95 % interval.
func medianOf(m Metric, values []float64) Metric { return quantileOf(m, values, 0.5) }

// quantileOf fills a metric with a quantile and its 95 % interval by order
// statistics: the ranks n·p ± 1.96·√(n·p·(1−p)), which hold for any distribution.
func quantileOf(m Metric, values []float64, p float64) Metric {
	m.N = len(values)
	if m.N == 0 {
		m.Provisional, m.Note = true, "no observation"
		return m
	}
	sorted := slices.Sorted(slices.Values(values))
	half := 1.96 * math.Sqrt(float64(m.N)*p*(1-p)) / float64(m.N)
	m.Value = quantile(sorted, p)
	m.Low, m.High = quantile(sorted, max(0, p-half)), quantile(sorted, min(1, p+half+1/float64(m.N)))
	m.Provisional = m.N < 20
	return m
}
