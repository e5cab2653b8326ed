package lab

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// refill draws each bucket down a little and watches it fill up again: the slope
// of (remaining + own use) is the refill (facts/control.md E.2). Bursts of tiny
// calls draw requests down, and show buckets that no header shows and limits on
// concurrency; a few long prompts draw input tokens down; long answers draw
// output tokens down.
type refill struct{}

// Refill is the experiment "refill".
func Refill() Experiment { return refill{} }

func (refill) Name() string { return "refill" }
func (refill) Question() string {
	return "How fast does each bucket really refill, what does it hold, and what is enforced that no header shows?"
}
func (refill) Speed() float64 { return 5 }

func (refill) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text:    "Buckets refill at the published rate and hold one minute of it; nothing is enforced below a minute; nobody else is at work.",
		Binding: "none",
	}
}

// The plan of the experiment.
const (
	refillIdle  = 2 * time.Minute        // without own use before the first reading (facts/control.md E.2)
	refillPause = 12 * time.Second       // between bursts
	refillApart = 65 * time.Second       // between dips: a ceiling of acceleration is for a wall-clock minute
	probeEvery  = 100 * time.Millisecond // between readings of a bucket that fills
	leastEvery  = 25 * time.Millisecond
	mostShare   = 0.3     // of what a bucket holds that a dip draws, where that is less than a minute's worth
	longPrompt  = 25_000  // tokens of one call of a dip, at most
	mostDip     = 400_000 // tokens of a dip
	longAnswer  = 600     // max_tokens of calls that draw output down
	outShare    = 0.15    // of the output bucket that they draw
	outRounds   = 3
)

var (
	// refillBursts are sizes of bursts of tiny calls, rising, so that a hidden
	// limit refuses few of them; then as many as the etiquette cap has room for.
	refillBursts = []int{10, 20, 40, 80}
	// refillDips are shares of the input bucket, rising: a ceiling of
	// acceleration shall refuse few calls.
	refillDips = []float64{0.015, 0.04, 0.08, 0.08}
	probeShape = Shape{In: 40, Out: 1, MaxTokens: 1}
)

func (refill) Estimate(e *Env) Estimate {
	est := Estimate{Takes: 10 * time.Minute}
	m := e.Cheap()
	for _, o := range e.Syncing() {
		l := o.about(m.Pool)
		var tiny int64 = 1
		for _, n := range append(refillBursts, e.Cap(m.ID)) {
			tiny += int64(n) + 80
		}
		est.add(o.Name, m.ID, tiny, int64(probeShape.In), 1)
		for _, share := range refillDips {
			n, in := dipCalls(share, l.Input)
			est.add(o.Name, m.ID, int64(n), int64(in), 1)
			est.add(o.Name, m.ID, 60, int64(probeShape.In), 1)
		}
		est.add(o.Name, m.ID, outRounds*int64(outCalls(l.Output, e.Cap(m.ID))), 40, longAnswer)
	}
	return est
}

// add adds a line of sync calls.
func (e *Estimate) add(org, model string, calls, in, out int64) {
	e.Lines = append(e.Lines, Planned{Org: org, Model: model, Tier: Sync, Calls: calls, In: in, Out: out})
}

// about are the limits of a pool as known, else of the lowest usage tier
// (facts/claude-api.md 3.2).
func (o *Org) about(pool string) flotilla.Limits {
	l := o.Limits[pool]
	return flotilla.Limits{Requests: cmp.Or(l.Requests, 1000), Input: cmp.Or(l.Input, 2_000_000), Output: cmp.Or(l.Output, 400_000)}
}

// dipCalls are the calls of a dip into a bucket that holds so much.
func dipCalls(share, holds float64) (n, in int) {
	tokens := min(share*holds, mostDip)
	n = max(5, int(math.Ceil(tokens/longPrompt)))
	return n, max(probeShape.In, int(tokens)/n)
}

func outCalls(holds float64, most int) int {
	return min(most, max(10, int(outShare*holds/longAnswer)))
}

func (x refill) Run(ctx context.Context, b *Bench) (*Result, error) {
	model := b.env.Cheap()
	r := &Result{Config: map[string]any{
		"model": model.ID, "idle_s": refillIdle.Seconds(), "bursts": refillBursts, "dips": refillDips, "probe": probeShape,
		"probe_every_s": probeEvery.Seconds(), "long_prompt": longPrompt, "long_answer": longAnswer, "abort_rule": Polite,
	}}
	w := watch{Bench: b, model: model.ID, pool: model.Pool}
	for _, s := range w.stages() {
		_, err := Step(b, s.name, func() (nothing, error) {
			return nothing{}, together(b.env.Syncing(), func(o *Org) error { return s.do(ctx, o) })
		})
		if err != nil {
			w.report(r)
			return r, err
		}
	}
	w.report(r)
	return r, nil
}

// watch is a run of refill.
type watch struct {
	*Bench
	model, pool string
}

type stage struct {
	name string
	do   func(ctx context.Context, o *Org) error
}

// Names of stages begin with these.
const (
	stageIdle  = "idle"
	stageBurst = "burst "
	stageDip   = "dip "
	stageOut   = "out "
)

func (w *watch) stages() []stage {
	all := []stage{{stageIdle, w.idle}}
	for _, n := range append(refillBursts[:len(refillBursts):len(refillBursts)], w.env.Cap(w.model)) {
		all = append(all, stage{fmt.Sprintf("%s%d", stageBurst, n), func(ctx context.Context, o *Org) error { return w.burst(ctx, o, n) }})
	}
	for i, share := range refillDips {
		all = append(all, stage{fmt.Sprintf("%s%d", stageDip, i+1), func(ctx context.Context, o *Org) error { return w.dip(ctx, o, share) }})
	}
	for i := range outRounds {
		all = append(all, stage{fmt.Sprintf("%s%d", stageOut, i+1), w.output})
	}
	return all
}

func (w *watch) tiny(o *Org) Shot { return Shot{Org: o.Name, Model: w.model, Shape: probeShape} }

func (w *watch) idle(ctx context.Context, o *Org) error {
	if err := w.clock.Sleep(ctx, refillIdle); err != nil {
		return err
	}
	_, err := w.Insist(ctx, w.tiny(o))
	return err
}

// holds is the largest remaining seen of a bucket; 0: no header shows it.
func (w *watch) holds(o *Org, d wire.Dim) float64 {
	most := int64(0)
	for _, r := range w.Records() {
		if l := r.Read.Of(d); r.Org == o.Name && l != nil {
			most = max(most, l.Remaining)
		}
	}
	return float64(most)
}

// perSecond is the refill that the headers' limit claims.
func (w *watch) perSecond(o *Org, d wire.Dim) float64 {
	for _, r := range w.Records() {
		if l := r.Read.Of(d); r.Org == o.Name && l != nil && l.Limit > 0 {
			return float64(l.Limit) / 60
		}
	}
	return 0
}

// refusedIn says that an org was rate-limited in stages of a kind.
func (w *watch) refusedIn(o *Org, kind string) bool {
	for _, r := range w.Records() {
		if r.Org == o.Name && r.Refused() && strings.HasPrefix(r.Step, kind) {
			return true
		}
	}
	return false
}

// burst sends n tiny calls faster than requests refill, then reads on while they
// do. After a refusal only the smallest burst is repeated.
func (w *watch) burst(ctx context.Context, o *Org, n int) error {
	holds, rate := w.holds(o, wire.Requests), w.perSecond(o, wire.Requests)
	if w.refusedIn(o, stageBurst) {
		n = refillBursts[0]
	}
	if rate > 0 && float64(n) > holds/2 {
		return nil
	}
	apart := 2 * time.Millisecond
	if rate > 0 {
		apart = min(apart, time.Duration(0.4/rate*float64(time.Second)))
	}
	probes := 10
	if net := rate - 1/probeEvery.Seconds(); net > 0 {
		probes = min(80, int(float64(n)/net/probeEvery.Seconds())+3)
	}
	_, err := w.Open(ctx, burstThen(n, apart, probes, probeEvery), func(int) Shot { return w.tiny(o) })
	if err != nil {
		return err
	}
	return w.clock.Sleep(ctx, refillPause)
}

// burstThen are n arrivals at once and some probes after them.
func burstThen(n int, apart time.Duration, probes int, every time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		at := time.Duration(0)
		for i := range n + probes {
			if !yield(at) {
				return
			}
			if at += apart; i >= n-1 {
				at += every - apart
			}
		}
	}
}

// dip draws input tokens down with a few long prompts and reads on while they
// refill. After a refusal only the smallest dip is repeated.
func (w *watch) dip(ctx context.Context, o *Org, share float64) error {
	if w.refusedIn(o, stageDip) {
		share = refillDips[0]
	}
	holds, rate := w.holds(o, wire.Input), w.perSecond(o, wire.Input)
	if holds == 0 {
		return nil
	}
	n, in := dipCalls(1, min(share*60*rate, mostShare*holds))
	if _, err := w.Insist(ctx, w.tiny(o)); err != nil {
		return err
	}
	long := Shot{Org: o.Name, Model: w.model, Shape: Shape{In: in, Out: 1, MaxTokens: 1}}
	began := w.clock.Now()
	sent, err := w.Open(ctx, Every(100, n), func(int) Shot { return long })
	if err != nil {
		return err
	}
	if !anyRefused(sent) {
		err = w.recover(ctx, o, float64(n*in)/rate, began)
	}
	if err != nil || share <= refillDips[0] && !w.refusedIn(o, stageDip) {
		return cmp.Or(err, w.clock.Sleep(ctx, refillPause))
	}
	return w.clock.Sleep(ctx, refillApart-(w.clock.Now()-began))
}

// recover reads a bucket until it must be full again: so many seconds after
// began, at most 20. Where that is soon and nothing is enforced on short spans it
// reads more often.
func (w *watch) recover(ctx context.Context, o *Org, seconds float64, began time.Duration) error {
	left := time.Duration(min(20, seconds)*float64(time.Second)) - (w.clock.Now() - began)
	every := probeEvery
	if !w.refusedIn(o, stageBurst) {
		every = min(probeEvery, max(leastEvery, left/40))
	}
	n := max(3, int(left/every))
	_, err := w.Open(ctx, Every(1/every.Seconds(), n), func(int) Shot { return w.tiny(o) })
	return err
}

func anyRefused(records []Record) bool {
	for i := range records {
		if records[i].Refused() {
			return true
		}
	}
	return false
}

// output draws output tokens down with long answers, as many at once as the
// etiquette cap allows, and reads on while they flow and the bucket refills.
func (w *watch) output(ctx context.Context, o *Org) error {
	holds, rate := w.holds(o, wire.Output), w.perSecond(o, wire.Output)
	if holds == 0 || w.refusedIn(o, stageBurst) {
		return nil
	}
	n := outCalls(holds, w.env.Cap(w.model)-10)
	seconds := 2 + float64(n*longAnswer)/rate
	const every = probeEvery / 2 // as remaining is rounded to thousands of few
	long := Shot{Org: o.Name, Model: w.model, Shape: Shape{In: probeShape.In, Out: longAnswer, MaxTokens: longAnswer}, Stream: true}
	_, err := w.Open(ctx, burstThen(n, 5*time.Millisecond, int(seconds/every.Seconds()), every), func(i int) Shot {
		if i < n {
			return long
		}
		return w.tiny(o)
	})
	if err != nil {
		return err
	}
	return w.clock.Sleep(ctx, refillPause)
}
