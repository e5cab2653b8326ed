package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// fanout drives every org at its knee, first one by one, then all at once, then
// one by one again: whether the sum of the parts is what they do together.
type fanout struct{}

// Fanout is the experiment "fanout".
func Fanout() Experiment { return fanout{} }

func (fanout) Name() string { return "fanout" }
func (fanout) Question() string {
	return "Do all orgs at their knees together carry the sum of what each does alone?"
}
func (fanout) Speed() float64 { return 5 }

func (fanout) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text:    "Orgs have limits of their own: together they carry the sum of the parts, and each is bound by what binds it alone.",
		Binding: "none",
	}
}

// Of the experiment.
const (
	fanoutCalls   = 10_000 // in all
	fanoutAlone   = 250    // of one org alone, each time, at full speed
	fanoutRamp    = 10 * time.Second
	fanoutLeast   = 20 * time.Second // of all at once
	fanoutLongest = 10 * time.Minute
	fanoutUnder   = 0.98 // of a limit that no header shows: calls are paced so far below it
)

func (fanout) model(e *Env) (price.Model, bool) { return e.Model(kneeModel) }

func (x fanout) targets(e *Env) []target {
	var out []target
	if m, ok := x.model(e); ok {
		for _, o := range e.Syncing() {
			out = append(out, target{org: o, model: m, calls: fanoutAlone, ramp: fanoutRamp})
		}
	}
	return out
}

func (x fanout) Estimate(e *Env) Estimate {
	var est Estimate
	targets := x.targets(e)
	if len(targets) < 2 {
		est.Refused = "there is one org: nothing to add up"
		est.Hint = "name more orgs in flotilla.yaml"
		return est
	}
	sum, together := 0.0, float64(fanoutCalls-2*fanoutAlone*len(targets))
	for _, t := range targets {
		p := e.expected(t)
		sum += p.perMin
		if p.dim < 0 {
			together -= p.perMin * fanoutRamp.Minutes()
		}
	}
	for _, t := range targets {
		p := e.expected(t)
		ramps := 0.0
		if p.dim < 0 {
			ramps = p.perMin * fanoutRamp.Minutes()
		}
		est.add(t.org.Name, t.model.ID, int64(kneeProbes+2*fanoutAlone+ramps+max(p.perMin*fanoutLeast.Minutes(), together*p.perMin/sum)), int64(kneeShape.In), int64(kneeShape.Out))
		if shape, n := e.draining(t, p); n > 0 {
			est.add(t.org.Name, t.model.ID, 3*int64(n), int64(shape.In), 1)
		}
		est.Takes += time.Duration(2 * (fanoutAlone/p.perMin + 1) * float64(time.Minute))
	}
	est.Takes += time.Duration((together/sum + 1) * float64(time.Minute))
	return est
}

// part is one org of the fan-out.
type part struct {
	kneeSeen
	s     *station
	p     predicted
	alone []levelSeen
	whole *levelSeen
	pace  float64 // calls a minute where no header shows the limit; 0: gates pace
	cap   int
}

func (x fanout) Run(ctx context.Context, b *Bench) (*Result, error) {
	r := &Result{Config: map[string]any{
		"model": kneeModel, "shape": kneeShape, "calls": fanoutCalls, "calls_alone": fanoutAlone, "floor": b.env.soft() + floorMargin, "abort_rule": kneeRule,
	}}
	b.Expect(kneeRule)
	parts, err := b.parts(ctx, x.targets(b.env))
	if err == nil && usable(parts) >= 2 {
		if err = b.eachAlone(ctx, parts, 1); err == nil && usable(parts) >= 2 {
			err = b.allAtOnce(ctx, parts)
		}
		if err == nil {
			slices.Reverse(parts)
			err = b.eachAlone(ctx, parts, 2)
			slices.Reverse(parts)
		}
	}
	r.fromFanout(b.env, parts)
	return r, err
}

// usable counts the orgs that can be used.
func usable(parts []*part) (n int) {
	for _, p := range parts {
		if p.closed == "" {
			n++
		}
	}
	return n
}

// parts probes every org.
func (b *Bench) parts(ctx context.Context, targets []target) ([]*part, error) {
	var parts []*part
	for _, t := range targets {
		p := &part{kneeSeen: kneeSeen{target: t}, s: b.station(t.org, t.model, kneeShape), cap: b.env.Cap(t.model.ID)}
		p.s.recall()
		parts = append(parts, p)
		var err error
		if p.probe, err = Step(b, t.step("probe"), func() (probeSeen, error) { return p.s.probe(ctx) }); err != nil {
			return parts, err
		}
		p.closed = p.probe.Closed
		p.p = p.s.predict(p.cap, p.probe.Latency)
	}
	return parts, nil
}

// eachAlone drives one org after the other as the knee's highest level.
func (b *Bench) eachAlone(ctx context.Context, parts []*part, round int) error {
	for _, p := range parts {
		if p.closed != "" || p.pace > 0 && round > 1 {
			continue // its pace is what it does alone
		}
		done, err := Step(b, p.step(fmt.Sprintf("alone %d", round)), func() (levelDone, error) {
			return p.s.undisturbed(ctx, func() (levelDone, error) { return p.s.level(ctx, p.cap, &p.kneeSeen, p.p, true) })
		})
		if err != nil {
			return err
		}
		if places := done.Drive.Places; places > 0 {
			p.cap = places
		}
		v := p.s.seeLevel(done.Drive, p.cap)
		v.hidden = done.Hidden
		p.alone = append(p.alone, v)
		if p.closed = done.Drive.Closed; p.closed != "" {
			continue
		}
		switch c, use := v.drive.CeilingNow, p.probe.Use[dimInput]; {
		case v.hidden != nil && v.hidden.PerMin > 0:
			p.pace = fanoutUnder * v.hidden.PerMin
		case grown(&v) && c > 0:
			p.pace = 0.9 * c / use // a minute may begin with some of it used
		case grown(&v):
			p.closed = "acceleration refuses it: " + v.drive.Text
		}
	}
	return nil
}

// expected is what an org does alone, in calls a minute.
func (p *part) expected() interval {
	if p.pace > 0 {
		return interval{p.pace, p.pace, p.pace, 1}
	}
	return meanOf(p.alone)
}

// meanOf is the mean of measurements of the same thing.
func meanOf(seen []levelSeen) interval {
	var m interval
	spread := 0.0
	for i := range seen {
		v := seen[i].rate.interval
		m.value += v.value / float64(len(seen))
		m.n += v.n
		spread += math.Pow((v.high-v.low)/2/float64(len(seen)), 2)
	}
	m.low, m.high = m.value-math.Sqrt(spread), m.value+math.Sqrt(spread)
	return m
}

// allAtOnce drains what binds, everywhere at once, and drives all orgs for as
// long as the rest of the calls lasts.
func (b *Bench) allAtOnce(ctx context.Context, parts []*part) error {
	sum, left := 0.0, float64(fanoutCalls)
	for _, p := range parts {
		if p.closed == "" {
			sum += p.expected().value
		}
		for _, v := range p.alone {
			left -= float64(2 * v.drive.Sent)
		}
	}
	if sum <= 0 {
		return nil
	}
	span := min(fanoutLongest, max(fanoutLeast, time.Duration(left/sum*float64(time.Minute))-fanoutRamp/2))
	drives, err := Step(b, "together", func() (map[string]drive, error) {
		for try := 1; ; try++ {
			drives, rough, err := b.atOnce(ctx, parts, span)
			if err != nil || rough == nil || try == kneeTries {
				return drives, err
			}
			if err := rough.calm(ctx); err != nil {
				return nil, err
			}
		}
	})
	if err != nil {
		return err
	}
	for _, p := range parts {
		if d, ok := drives[p.org.Name]; ok {
			v := p.s.seeLevel(d, p.cap)
			p.whole, p.closed = &v, d.Closed
		}
	}
	return nil
}

// atOnce is one try; rough is a station that an overload disturbed.
func (b *Bench) atOnce(ctx context.Context, parts []*part, span time.Duration) (map[string]drive, *station, error) {
	var orgs []*Org
	of := map[string]*part{}
	for _, p := range parts {
		if p.closed == "" {
			orgs = append(orgs, p.org)
			of[p.org.Name] = p
		}
	}
	err := together(orgs, func(o *Org) error { return of[o.Name].ready(ctx) })
	if err != nil {
		return nil, nil, err
	}
	found := make([]drive, len(parts))
	err = together(orgs, func(o *Org) (err error) {
		p := of[o.Name]
		found[slices.Index(parts, p)], err = p.s.drive(ctx, course{
			conc: p.cap, pace: p.pace / 60, spread: fanoutRamp,
			enough: func(d *drive) bool {
				since := max(d.From+fanoutRamp, d.Held)
				return p.s.clock.Now()-since > span || p.s.clock.Now()-d.From > 2*span+fanoutRamp || d.refused() > 2*kneeUnasked
			},
		})
		return err
	})
	var rough *station
	drives := map[string]drive{}
	for i, p := range parts {
		if of[p.org.Name] == nil {
			continue
		}
		if drives[p.org.Name] = found[i]; found[i].disturbed() {
			rough = p.s
		}
	}
	return drives, rough, err
}

// ready drains the bucket that binds, so that what is stored is not counted.
func (p *part) ready(ctx context.Context) error {
	if p.pace > 0 {
		return nil
	}
	_, err := p.s.drain(ctx, p.p.drain, p.cap)
	return err
}
