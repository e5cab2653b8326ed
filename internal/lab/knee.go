package lab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
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
	if p.dim < 0 {
		return Shape{}, 0
	}
	shape, ok := drainShape(p.dim)
	if !ok {
		return Shape{}, 0
	}
	l := t.org.about(t.model.Pool)
	return shape, drainCalls([...]float64{l.Requests, l.Input, l.Output}[p.dim] / shape.drainUse(p.dim))
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

// kneeSeen is what one target showed.
type kneeSeen struct {
	target
	probe  probeSeen
	levels []levelSeen
	top    int    // which of levels is at the cap, counted from 1; 0: none
	closed string // why it could not be measured, or not to its end
	drift  string // of the canary
}

// probeSeen is of some calls of the measured shape, few at a time.
type probeSeen struct {
	Latency  float64                 `json:"latency_s"`
	Use      [len(gaugeDims)]float64 `json:"use"`
	N        int                     `json:"n"`
	Closed   string                  `json:"closed,omitempty"`
	ClosedBy string                  `json:"closed_by,omitempty"`
}

// levelDone is what a step of one level keeps.
type levelDone struct {
	Drive    drive      `json:"drive"`
	Hidden   *hiddenTop `json:"hidden,omitempty"`
	Repeated int        `json:"repeated,omitempty"`
}

func (b *Bench) kneeOf(ctx context.Context, t target) (kneeSeen, error) {
	k := kneeSeen{target: t}
	s := b.station(t.org, t.model, kneeShape)
	s.recall()
	var err error
	if k.probe, err = Step(b, t.step("probe"), func() (probeSeen, error) { return s.probe(ctx) }); err != nil {
		return k, err
	}
	if k.closed = k.probe.Closed; k.closed != "" {
		return k, nil
	}
	top := b.env.Cap(t.model.ID)
	p := s.predict(top, k.probe.Latency)
	plan := levelPlan(t, p, top)
	for i, conc := range plan {
		v, err := b.levelOf(ctx, s, &k, i, conc, p)
		if err != nil {
			return k, err
		}
		k.levels = append(k.levels, v)
		if conc == top { // v.conc is lower where the provider allows fewer
			k.top = len(k.levels)
		}
		if k.closed = v.drive.Closed; k.closed != "" || grown(&v) {
			break
		}
	}
	return k, nil
}

// levelPlan is the order of levels: up, the cap, and down again, so that drift
// falls on all alike.
func levelPlan(t target, p predicted, top int) []int {
	var low []int
	if t.full {
		for _, share := range kneeLevels {
			if c := max(1, int(math.Round(share*min(p.conc, float64(top))))); c < top && !slices.Contains(low, c) {
				low = append(low, c)
			}
		}
	}
	plan := append(slices.Clone(low), top)
	slices.Reverse(low)
	return append(plan, low...)
}

// levelOf is one step: a level, again where an overload disturbed it.
func (b *Bench) levelOf(ctx context.Context, s *station, k *kneeSeen, i, conc int, p predicted) (levelSeen, error) {
	top := conc == b.env.Cap(k.model.ID)
	done, err := Step(b, k.step(fmt.Sprintf("level %d, %d in flight", i+1, conc)), func() (levelDone, error) {
		return s.undisturbed(ctx, func() (levelDone, error) { return s.level(ctx, conc, k, p, top) })
	})
	if err != nil {
		return levelSeen{}, err
	}
	if done.Drive.Places > 0 {
		conc = done.Drive.Places
	}
	v := s.seeLevel(done.Drive, conc)
	v.hidden, v.repeated = done.Hidden, done.Repeated
	return v, nil
}

// undisturbed does a level again where an overload disturbed it.
func (s *station) undisturbed(ctx context.Context, level func() (levelDone, error)) (levelDone, error) {
	for try := 0; ; try++ {
		d, err := level()
		d.Repeated = try
		if err != nil || !d.Drive.disturbed() || try+1 == kneeTries {
			return d, err
		}
		if err := s.calm(ctx); err != nil {
			return d, err
		}
	}
}

// disturbed says that an overload of the provider fell into a drive.
func (d *drive) disturbed() bool { return float64(d.Overloaded) > disturbed*float64(d.Sent) }

// probe learns what a call takes and uses.
func (s *station) probe(ctx context.Context) (probeSeen, error) {
	d, err := s.drive(ctx, course{conc: 4, spread: 4 * time.Second, enough: func(d *drive) bool { return d.Sent >= kneeProbes || d.refused() >= kneeUnasked }})
	if err != nil {
		return probeSeen{}, err
	}
	v := s.seeLevel(d, 4)
	latency, _ := robust(v.latencies) // a straggler among few calls would put the levels too high
	p := probeSeen{Latency: latency, Use: s.gauges.use, N: v.latency.n, Closed: d.Closed, ClosedBy: d.ClosedBy}
	if p.N == 0 && p.Closed == "" {
		p.Closed = cmp.Or(d.Text, "no call was answered")
	}
	return p, nil
}

// level drives one level. The cap comes after draining; where a limit refuses
// calls that no header foretold, an even pace finds what it lets pass.
func (s *station) level(ctx context.Context, conc int, k *kneeSeen, p predicted, top bool) (levelDone, error) {
	ramp, latency := cmp.Or(k.ramp, kneeRamp), time.Duration(k.probe.Latency*float64(time.Second))
	c := course{conc: max(1, conc-1), spread: ramp, canary: s.canaryEvery()}
	if !top {
		c.conc, c.spread = conc, latency
		c.enough = func(d *drive) bool {
			return d.Sent >= kneeLow+conc || s.clock.Now()-d.From > kneeShort || d.refused() >= kneeUnasked || d.grown()
		}
		d, err := s.drive(ctx, c)
		return levelDone{Drive: d}, err
	}
	if p.perMin < worthDraining*60*float64(conc)/max(k.probe.Latency, 1e-3) {
		d, err := s.drain(ctx, p, conc)
		if err != nil || d.Closed != "" {
			return levelDone{Drive: d}, err
		}
		if d.Hidden > 0 {
			return s.uneven(ctx, d, conc, k)
		}
	}
	c.enough = s.enoughAtCap(k.calls)
	d, err := s.drive(ctx, c)
	if err != nil || d.Closed != "" || d.Hidden < kneeUnasked {
		return levelDone{Drive: d}, err
	}
	return s.uneven(ctx, d, conc, k)
}

// uneven goes on after refusals that no header foretold: with as many calls in
// flight as are let be, or at an even pace.
func (s *station) uneven(ctx context.Context, d drive, conc int, k *kneeSeen) (levelDone, error) {
	if d.Dim == "concurrency" {
		fewer, err := s.drive(ctx, course{
			conc: max(1, d.Places-1), spread: time.Second, canary: s.canaryEvery(),
			enough: func(d *drive) bool { return d.Sent >= k.calls/2 || s.clock.Now()-d.From > kneeLongest },
		})
		fewer.Dim, fewer.Places, fewer.Text = d.Dim, d.Places, d.Text
		return levelDone{Drive: fewer}, err
	}
	shape, perMin := tinyShape, s.limit(0)
	if i := dimOf(d.Dim); i > 0 { // the text names tokens
		shape, perMin = s.shape, s.limit(i)/s.gauges.use[i]
	}
	hidden, err := s.pacedTop(ctx, perMin, shape, conc)
	return levelDone{Drive: d, Hidden: &hidden}, err
}

// enoughAtCap ends the cap's level: so many calls after a gate has held one
// back, or as many in all where no level falls.
func (s *station) enoughAtCap(calls int) func(d *drive) bool {
	var start [len(gaugeDims)]float64
	return func(d *drive) bool {
		now := s.clock.Now()
		if d.Sent == 0 {
			for i := range start {
				start[i], _ = s.gauges.level(i, now)
			}
		}
		switch {
		case d.Hidden >= kneeUnasked || d.grown():
			return true
		case float64(d.Overloaded) > disturbed*float64(calls):
			return true
		case d.Held > 0:
			return d.Sent-d.HeldAt >= calls || now-d.Held > kneeLongest
		case now-d.From > 2*kneeLongest || d.Sent > 5*calls || d.Full == 0 && d.Sent > 3*calls:
			return true
		case d.Full == 0 || d.Sent-max(d.FullAt, d.FreeAt) < calls:
			return false
		}
		for i := range start {
			if level, ok := s.gauges.level(i, now); ok && level < start[i]-0.03*s.gauges.of[i].full {
				return d.Sent >= 3*calls
			}
		}
		return true
	}
}

// grown says that acceleration holds a level back and not only its beginning:
// the refusal tells a ceiling, which rises by little a minute, or several rises
// in a row were refused.
func (d *drive) grown() bool {
	return d.CeilingNow > 0 || d.Grown+d.Suspect >= kneeUnasked
}

// calm waits until an overload is over: four small calls in a row are answered.
func (s *station) calm(ctx context.Context) error {
	const apart, row, longest = 5 * time.Second, 4, 5 * time.Minute
	began, answered := s.clock.Now(), 0
	for answered < row && s.clock.Now()-began < longest {
		if err := s.clock.Sleep(ctx, apart); err != nil {
			return err
		}
		r, err := s.Send(ctx, Shot{Org: s.org.Name, Model: s.model.ID, Shape: canaryShape, Stream: true})
		if err != nil {
			return err
		}
		if answered++; !r.OK() {
			answered = 0
		}
	}
	s.mu.Lock()
	s.brake, s.notBefore = 0, 0
	s.mu.Unlock()
	return nil
}

// recall learns from records of an earlier invocation.
func (s *station) recall() {
	for _, r := range s.sentFrom(0) {
		s.gauges.take(&r, r.Usage.Output > int64(tinyShape.Out), s.env.soft())
	}
	for i := range s.gauges.of {
		s.gauges.of[i].low = -1
	}
}
