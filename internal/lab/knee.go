package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// knee holds so many calls in flight and counts what a minute lets through: a
// few levels below the knee that is expected, up and down again, and between
// them the etiquette cap, for which the bucket that is expected to bind is
// drained beforehand with small calls. A full bucket would hide its limit
// (facts/control.md E.2).
type knee struct{}

// Knee is the experiment "knee".
func Knee() Experiment { return knee{} }

func (knee) Name() string { return "knee" }
func (knee) Question() string {
	return "How many calls a minute does each org sustain, from which concurrency on no more, and which limit is it?"
}
func (knee) Speed() float64 { return 8 }

// Of the experiment.
const (
	kneeModel = "claude-sonnet-4-6"

	kneeProbes = 24   // calls that tell latency and use
	kneeLow    = 100  // of a level below the knee, each time
	kneeTop    = 1000 // at the cap, once it is reached, or a limit binds
	kneeHaiku  = 800
	kneeOpus   = 400

	kneeLongest = 4 * time.Minute  // of a level: small limits let few calls pass
	kneeShort   = time.Minute      // of a low level
	kneeTries   = 4                // of a level that an overload disturbed
	kneeUnasked = 3                // refusals that no header foretold which end a level
	kneeRamp    = 20 * time.Second // in which the cap's places are opened: a sharp rise is refused
	beforeHeld  = 0.3              // of what a minute lets pass: calls before the drained bucket holds one back
	disturbed   = 0.02             // share of 529s from which on a level is repeated
)

// kneeShape is of every call that is counted.
var kneeShape = Shape{In: 400, Out: 64, MaxTokens: 64}

// kneeLevels are shares of the knee that is expected.
var kneeLevels = []float64{0.25, 0.5, 0.75}

// kneeRule expects some refusals where limits are enforced that no header shows:
// far fewer would not tell which.
var kneeRule = Rule{FloorFor: 10 * time.Second, Refusals: 40}

// target is one org and model.
type target struct {
	org   *Org
	model price.Model
	calls int           // at the cap
	full  bool          // with levels below
	ramp  time.Duration // to the cap; 0: kneeRamp
}

func (t target) step(what string) string { return t.org.Name + " " + t.model.ID + " " + what }

// targets are the experiment's: the main model on every org, and one point each
// of the other families on the first.
func (knee) targets(e *Env) []target {
	var out []target
	for _, o := range e.Syncing() {
		if m, ok := e.Model(kneeModel); ok {
			out = append(out, target{org: o, model: m, calls: kneeTop, full: true})
		}
	}
	for _, more := range []struct {
		model string
		calls int
	}{{"claude-haiku-4-5", kneeHaiku}, {"claude-opus-4-8", kneeOpus}} {
		if m, ok := e.Model(more.model); ok && len(e.Syncing()) > 0 {
			out = append(out, target{org: e.Syncing()[0], model: m, calls: more.calls})
		}
	}
	return out
}

// typicalLatency is of a call of kneeShape, in seconds, for estimates alone.
func typicalLatency(m price.Model) float64 {
	if m.Family() == "haiku" {
		return 0.7
	}
	return 1.8
}

// expected is what binds a target by what is known beforehand.
func (e *Env) expected(t target) predicted {
	l := t.org.about(t.model.Pool)
	return predict([...]float64{l.Requests, l.Input, l.Output}, [...]float64{1, float64(kneeShape.In), float64(kneeShape.Out)}, e.Cap(t.model.ID), typicalLatency(t.model))
}

func (x knee) Hypothesis(e *Env) Hypothesis {
	h := Hypothesis{Text: "Calls a minute grow with concurrency until a limit binds, and are constant from there on.", Binding: "none"}
	var said []string
	for _, t := range x.targets(e) {
		p := e.expected(t)
		if t.full && h.Binding == "none" {
			h.Binding = p.name()
		}
		said = append(said, fmt.Sprintf("%s %s: %s at about %.0f a minute", t.org.Name, t.model.ID, p.name(), p.perMin))
	}
	if len(said) > 0 {
		h.Text += " Expected: " + joined(said) + "."
	}
	return h
}

func (x knee) Estimate(e *Env) Estimate {
	var est Estimate
	for _, t := range x.targets(e) {
		p := e.expected(t)
		calls := int64(kneeProbes + t.calls)
		if p.dim < 0 {
			calls += int64(p.perMin * kneeRamp.Minutes() / 2)
		} else {
			calls += int64(beforeHeld * p.perMin)
		}
		minutes := float64(calls) / p.perMin
		if t.full {
			conc := min(p.perMin*typicalLatency(t.model)/60, float64(e.Cap(t.model.ID)))
			for _, share := range kneeLevels {
				calls += 2 * (kneeLow + int64(share*conc))
			}
			minutes += 2 * kneeLow * 4 / p.perMin
		}
		minutes = min(minutes, (kneeLongest + 4*kneeShort).Minutes())
		est.add(t.org.Name, t.model.ID, min(calls, int64(kneeProbes+p.perMin*minutes)), int64(kneeShape.In), int64(kneeShape.Out))
		est.add(t.org.Name, t.model.ID, int64(60*minutes), int64(canaryShape.In), 1)
		if shape, n := e.draining(t, p); n > 0 {
			est.add(t.org.Name, t.model.ID, int64(n), int64(shape.In), 1)
			minutes++
		}
		est.Takes += time.Duration((minutes + 1) * float64(time.Minute))
	}
	return est
}

// draining is what drains the bucket that is expected to bind; 0 calls: nothing
// has to be.
func (e *Env) draining(t target, p predicted) (Shape, int) {
	if p.drain < 0 {
		return Shape{}, 0
	}
	shape, ok := drainShape(p.drain)
	if !ok {
		return Shape{}, 0
	}
	l := t.org.about(t.model.Pool)
	return shape, drainCalls([...]float64{l.Requests, l.Input, l.Output}[p.drain] / shape.drainUse(p.drain))
}

func (x knee) Run(ctx context.Context, b *Bench) (*Result, error) {
	r := &Result{Config: map[string]any{
		"shape": kneeShape, "levels": kneeLevels, "calls_a_level": kneeLow, "calls_at_the_cap": kneeTop, "probes": kneeProbes,
		"canary": canaryShape, "floor": b.env.soft() + floorMargin, "abort_rule": kneeRule, "seed_of_order": "levels up, the cap, levels down",
	}}
	b.Expect(kneeRule)
	var seen []kneeSeen
	for _, t := range x.targets(b.env) {
		k, err := b.kneeOf(ctx, t)
		seen = append(seen, k)
		if err != nil {
			r.fromKnees(b.env, seen)
			return r, err
		}
	}
	r.fromKnees(b.env, seen)
	return r, nil
}
