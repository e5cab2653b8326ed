package lab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

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
	return s.atCap(ctx, c, k, p.drain)
}

// atCap drives the highest level. A bucket that falls although none was expected
// to bind is drained then, and the level done again.
func (s *station) atCap(ctx context.Context, c course, k *kneeSeen, drain int) (levelDone, error) {
	top := s.env.Cap(k.model.ID)
	for try := 0; ; try++ {
		d, err := s.drain(ctx, drain, top)
		if err != nil || d.Closed != "" {
			return levelDone{Drive: d}, err
		}
		if d.Hidden > 0 {
			return s.uneven(ctx, d, top, k)
		}
		falls := -1
		c.enough = s.enoughAtCap(k.calls, drain, &falls)
		d, err = s.drive(ctx, c)
		switch {
		case err != nil || d.Closed != "":
			return levelDone{Drive: d}, err
		case d.Hidden >= kneeUnasked:
			return s.uneven(ctx, d, top, k)
		}
		if falls < 0 || !drainable(falls) || try > 0 {
			return levelDone{Drive: d}, nil
		}
		drain, c.spread = falls, c.spread/4 // it has been up there before
	}
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
// back, or as many with all places open. A bucket that fell meanwhile is
// told by falls, and ends it if it was not drained before.
func (s *station) enoughAtCap(calls, drained int, falls *int) func(d *drive) bool {
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
				*falls = i
				return drainable(i) && i != drained || d.Sent >= 4*calls
			}
		}
		return true
	}
}

// drainable says that a bucket can be drained faster than it is measured.
func drainable(i int) bool {
	_, ok := drainShape(i)
	return ok
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
