package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// accelerate asks, after a long rest, for rising shares of the input limit, and
// after another rest for the largest at once: which calls are refused, and what
// the refusals say, tells the rule (facts/control.md E.2).
type accelerate struct{}

// Acceleration is the experiment "acceleration".
func Acceleration() Experiment { return accelerate{} }

func (accelerate) Name() string { return "acceleration" }
func (accelerate) Question() string {
	return "From which rise on are calls refused below the limits, and by which rule?"
}
func (accelerate) Speed() float64 { return 60 }

func (accelerate) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text:    "Up to 40 % of the input limit nothing is refused, neither step by step after a rest nor at once.",
		Binding: "none",
	}
}

// Of the experiment.
const (
	accelRest    = 20 * time.Minute // before the ladder
	accelBetween = 10 * time.Minute // before the jump: rates over 60 s are forgotten
	accelStep    = 90 * time.Second // of a rung: it crosses a minute boundary or two
	accelJump    = 60 * time.Second
	accelMost    = 5    // refusals in a minute, from which on it rests until the next
	accelEnough  = 12   // refusals of a rung
	accelPrompt  = 4000 // tokens of a call
	accelRoom    = 0.8  // share of its input bucket that the org must have
	accelTokens  = 3e6  // of a limit a minute that rungs are shares of, at most: larger ones cost too much
)

var (
	accelRungs = []float64{0.1, 0.2, 0.4} // of the input limit
	accelShape = Shape{In: accelPrompt, Out: 1, MaxTokens: 1}
	// accelRule expects refusals: they are what is looked for.
	accelRule = Rule{FloorFor: 10 * time.Second, Refusals: 2 * accelMost}
)

// rung is one rate of the experiment.
type rung struct {
	name  string
	share float64
	rest  time.Duration // beforehand
	span  time.Duration
}

func accelPlan() []rung {
	var plan []rung
	for i, share := range accelRungs {
		r := rung{name: fmt.Sprintf("rung %d", i+1), share: share, span: accelStep}
		if i == 0 {
			r.rest = accelRest
		}
		plan = append(plan, r)
	}
	return append(plan, rung{name: "jump", share: accelRungs[len(accelRungs)-1], rest: accelBetween, span: accelJump})
}

// accelOrgs are the orgs by how little they may use: the ceilings seem to scale
// with the limit, so that the smallest costs least.
func (e *Env) accelOrgs() []*Org {
	orgs, pool := e.Syncing(), e.Cheap().Pool
	slices.Reverse(orgs) // of equal ones the last: it is less likely the one that people use
	slices.SortStableFunc(orgs, func(a, b *Org) int { return int(a.about(pool).Input - b.about(pool).Input) })
	return orgs
}

func (accelerate) Estimate(e *Env) Estimate {
	var est Estimate
	orgs, m := e.accelOrgs(), e.Cheap()
	if len(orgs) == 0 {
		return est
	}
	for _, o := range orgs {
		est.add(o.Name, m.ID, 1, int64(canaryShape.In), 1)
	}
	minutes := 0.0
	for _, r := range accelPlan() {
		minutes += r.share * r.span.Minutes()
		est.Takes += r.rest + r.span
	}
	est.add(orgs[0].Name, m.ID, int64(minutes*min(accelTokens, orgs[0].about(m.Pool).Input)/accelPrompt), accelPrompt, 1)
	est.Warnings = append(est.Warnings, "a few calls are meant to be refused: nobody should begin a large job on "+orgs[0].Name+" meanwhile")
	return est
}

func (x accelerate) Run(ctx context.Context, b *Bench) (*Result, error) {
	m := b.env.Cheap()
	r := &Result{Config: map[string]any{
		"model": m.ID, "shape": accelShape, "rungs": accelRungs, "rungs_of_at_most": accelTokens, "rung_s": accelStep.Seconds(), "rest_s": accelRest.Seconds(),
		"rest_before_jump_s": accelBetween.Seconds(), "jump_s": accelJump.Seconds(), "abort_rule": accelRule,
	}}
	b.Expect(accelRule)
	chosen, err := Step(b, "choice", func() (accelChoice, error) { return b.chooseAccel(ctx, r) })
	if err != nil {
		return r, err
	}
	r.Config["org"], r.Config["limit"] = chosen.Org, chosen.Limit
	if chosen.Org == "" {
		r.Config["rule"] = "not told"
		r.Verdict = "No org has room enough to tell"
		r.NotShown = append(r.NotShown, chosen.Why)
		return r, nil
	}
	zeros := map[string]time.Time{}
	for _, g := range accelPlan() {
		zero, err := Step(b, g.name, func() (time.Time, error) {
			err := b.climb(ctx, chosen, g)
			return b.clock.Wall(0), err
		})
		if zeros[g.name] = zero; err != nil {
			r.fromAccel(b, chosen, zeros)
			return r, err
		}
	}
	r.fromAccel(b, chosen, zeros)
	return r, nil
}

// accelChoice is the org that is used.
type accelChoice struct {
	Org   string  `json:"org"`
	Limit float64 `json:"limit"` // input tokens a minute
	Why   string  `json:"why,omitempty"`
}

// asked is what a share stands for, in tokens a minute.
func (c accelChoice) asked(share float64) float64 { return share * min(accelTokens, c.Limit) }

// chooseAccel takes the smallest org whose buckets are nearly full: where others
// are at work, their rise would count as ours.
func (b *Bench) chooseAccel(ctx context.Context, r *Result) (accelChoice, error) {
	m := b.env.Cheap()
	var why []string
	for _, o := range b.env.accelOrgs() {
		rec, err := b.Insist(ctx, Shot{Org: o.Name, Model: m.ID, Shape: canaryShape})
		if err != nil {
			return accelChoice{}, err
		}
		limit := o.about(m.Pool).Input
		l := rec.Read.Of(wire.Input)
		if l != nil && l.Limit > 0 {
			if _, said := o.Limits[m.Pool]; !said {
				limit = float64(l.Limit)
			}
			limit = min(limit, float64(l.Limit))
		}
		switch {
		case !rec.OK():
			why = append(why, o.Name+": "+rec.Err)
		case l != nil && float64(l.Remaining) < accelRoom*limit || crowdedRequests(rec.Read):
			why = append(why, o.Name+": others are at work")
		default:
			return accelChoice{Org: o.Name, Limit: limit}, nil
		}
	}
	return accelChoice{Why: joined(why)}, nil
}

func crowdedRequests(r *Reading) bool {
	l := r.Of(wire.Requests)
	return l != nil && float64(l.Remaining) < accelRoom*float64(l.Limit)
}

// climb asks for a share of the limit for a time. After a refusal it waits as
// it is told to; after several in a minute until the next one begins.
func (b *Bench) climb(ctx context.Context, c accelChoice, g rung) error {
	if err := b.clock.Sleep(ctx, g.rest); err != nil {
		return err
	}
	m, rng := b.env.Cheap(), b.env.seedFor("acceleration "+g.name, 0)
	apart := time.Duration(float64(accelPrompt) / (c.asked(g.share) / 60) * float64(time.Second))
	began := b.clock.Now()
	var refusals []time.Duration
	f := newFlight(ctx)
	for i, next := 0, began; next-began < g.span && len(refusals) < accelEnough; i++ {
		if b.clock.Until(f.ctx, next) != nil {
			break
		}
		hold := make(chan time.Duration, 1)
		f.launch(i, func() (Record, error) {
			r, err := b.send(f.sends, Shot{Org: c.Org, Model: m.ID, Shape: accelShape, Salt: rng + uint64(i), Stream: true}, next, false)
			if r.Refused() {
				hold <- max(time.Second, r.RetryAfter)
			}
			close(hold)
			return r, err
		})
		next += apart
		if wait := b.soon(f.ctx, hold, apart); wait > 0 {
			now := b.clock.Now()
			refusals = append(refusals, now)
			next = max(next, now+wait)
			if n := len(refusals); n >= accelMost && refusals[n-accelMost] > now-time.Minute {
				next = max(next, now+time.Minute-(now-refusals[n-accelMost]))
			}
		}
	}
	_, err := f.land()
	return err
}

// soon waits for a refusal, which comes at once, but no longer than a span.
func (b *Bench) soon(ctx context.Context, hold <-chan time.Duration, span time.Duration) time.Duration {
	t := time.NewTimer(max(b.clock.real(span), time.Microsecond))
	defer t.Stop()
	select {
	case wait := <-hold:
		return wait
	case <-t.C:
	case <-ctx.Done():
	}
	return 0
}

// attempts are the calls that say something of the rule: those that were let
// pass, and those that were refused though the levels shown had room. Overloads
// and broken connections say nothing. zeros are the provider's time at the
// experiment's 0, by rung: an interruption moves it.
func (b *Bench) attempts(c accelChoice, zeros map[string]time.Time) (list []attempt, told []Record, others int) {
	for _, r := range bySend(b.Records(), func(r *Record) bool { return r.Org == c.Org && !zeros[r.Step].IsZero() }) {
		a := attempt{at: r.Sent, minute: zeros[r.Step].Add(r.Sent).Unix() / 60, tokens: float64(r.Usage.Input)}
		switch {
		case r.OK():
		case r.Is(wire.Acceleration), r.Is(wire.RateLimited) && roomLeft(r.Read) && r.Dim == "":
			a.refused, a.tokens = true, accelPrompt
			told = append(told, r)
		case r.Refused():
			others++
			continue
		default:
			continue
		}
		list = append(list, a)
	}
	return list, told, others
}

// roomLeft says that no level that is shown is below a call's need.
func roomLeft(r *Reading) bool {
	req, in := r.Of(wire.Requests), r.Of(wire.Input)
	return (req == nil || req.Remaining > 1) && (in == nil || float64(in.Remaining) > 1.1*accelPrompt)
}

// ceilings are the first number that a refusal told and the rise of a minute; 0
// and 0 where none did.
func ceilings(told []Record) (first, step float64) {
	lowest := math.Inf(1)
	for i := range told {
		if now := told[i].CeilingNow; now > 0 && now < lowest {
			lowest = now
			step = told[i].CeilingNext - now
		}
	}
	if math.IsInf(lowest, 1) {
		return 0, 0
	}
	return lowest, step
}
