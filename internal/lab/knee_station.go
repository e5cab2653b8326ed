package lab

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// station drives one org and model with so many calls in flight, and holds every
// bucket that headers show above a floor: what colleagues need stays there, and
// nothing is refused that the headers foretell. It is the closed loop of C.5
// with the polite gate of B.3 (facts/control.md).
type station struct {
	*Bench
	org   *Org
	model price.Model
	shape Shape
	floor float64 // share of a bucket below which nothing is sent

	mu        sync.Mutex
	gauges    gauges
	flying    int
	salt      uint64
	notBefore time.Duration
	brake     time.Duration // the last pause after an overload
	rise      rise
	cut       time.Duration // when a rise was last refused: calls sent until then are of the same episode
	closed    string        // why the org cannot be measured any more
	closedBy  string        // the limit that is to blame; empty: no limit
	freed     chan struct{}
}

// Margins of a station.
const (
	floorMargin  = 0.05            // held above the soft floor: readings are late, and others at work
	crowdedAfter = 5 * time.Second // half of what the abort rule bears (facts/control.md E.1)
	mostBrake    = 8 * time.Second
	lookAgain    = 250 * time.Millisecond // at gates and levels while a call waits
	jitter       = 50 * time.Millisecond  // that a pace makes up for
)

func (b *Bench) station(o *Org, m price.Model, shape Shape) *station {
	s := &station{Bench: b, org: o, model: m, shape: shape, floor: b.env.soft() + floorMargin, freed: make(chan struct{}, 1)}
	s.gauges.use = [...]float64{1, float64(shape.In), float64(shape.Out)}
	s.salt = b.env.seedFor("station "+o.Name+" "+m.ID, 0)
	return s
}

// take learns from an answer or a refusal. mu is held.
func (s *station) take(r *Record, d *drive, full, open bool) {
	s.gauges.take(r, full, s.env.soft())
	if r.OK() {
		s.brake = 0
		return
	}
	hold := time.Second
	switch {
	case r.Is(wire.Overloaded) || r.Status >= 500:
		d.Overloaded++
		s.brake = min(mostBrake, max(time.Second, 2*s.brake))
		hold = s.brake
	case s.sameRise(r):
		d.Again++
	case r.Is(wire.Acceleration):
		d.Grown++
		d.CeilingNow, d.Ceiling = r.CeilingNow, r.CeilingNext
	case r.Is(wire.Concurrency):
		d.Hidden++
		if d.Dim != "concurrency" || s.flying < d.Places {
			d.Places = s.flying
		}
		d.Dim = "concurrency"
	case r.Is(wire.RateLimited) && !s.gauges.roomyIn(r):
		d.Steady++
	case r.Is(wire.RateLimited) && r.Dim != "":
		d.Hidden++
		d.Dim = r.Dim
	case r.Is(wire.RateLimited):
		d.Suspect++
	case r.Refused() || r.Status >= 400:
		s.closed, s.closedBy = r.Err, closers[r.Class.Class]
	default:
		d.Failed++
		return
	}
	if r.Refused() && d.Text == "" {
		d.Text = r.Err
	}
	if open && r.Refused() && d.Grown == 0 {
		return // what passes between refusals is what is looked for
	}
	s.notBefore = max(s.notBefore, s.clock.Now()+max(hold, r.RetryAfter))
	if d.Grown+d.Suspect > 0 && r.Refused() && r.Sent > s.cut {
		s.cut = s.clock.Now()
		s.rise = rise{from: s.notBefore, base: max(1, riseAgain*s.gauges.rateUntil(r.Sent))}
	}
}

// rise lets calls grow slowly again after a rise that was too sharp: from a pace
// of base calls a second. The zero value is no limit.
type rise struct {
	from time.Duration
	base float64
}

const (
	riseAgain = 0.8  // of what went before the refusal
	riseBy    = 0.03 // a second: doubled in 23 s
	riseSpan  = 10 * time.Second
)

// at is the pace at an instant; 0: any.
func (r rise) at(now time.Duration) float64 {
	if r.base == 0 {
		return 0
	}
	return r.base * math.Exp(riseBy*max(0, (now-r.from).Seconds()))
}

// sameRise says that a refusal is of a rise that was refused already: one cut an
// episode (facts/control.md B.6).
func (s *station) sameRise(r *Record) bool {
	return s.cut > 0 && r.Sent <= s.cut && (r.Is(wire.Acceleration) || r.Is(wire.RateLimited) && r.Dim == "" && s.gauges.roomyIn(r))
}

// closers are limits that end the use of an org for longer than a measurement.
var closers = map[wire.Class]string{wire.Spend: "spend", wire.Credit: "spend", wire.Daily: "tpd"}

// canaryShape is a fixed small call.
var canaryShape = Shape{In: 40, Out: 1, MaxTokens: 1}

// watch sends the control of drift (facts/control.md E.1) until quiet ends.
func (s *station) watch(quiet context.Context, f *trip) {
	for s.clock.Sleep(quiet, f.canary) == nil {
		s.mu.Lock()
		held := s.closed != "" || s.clock.Now() < s.notBefore
		if !held {
			s.gauges.sent(s.clock.Now(), false).end = s.clock.Now() // of its answer nothing is counted
		}
		s.mu.Unlock()
		if held {
			continue
		}
		f.wg.Go(func() {
			r, err := s.send(f.ctx, Shot{Org: s.org.Name, Model: s.model.ID, Shape: canaryShape, Stream: true}, s.clock.Now(), true)
			if err != nil {
				f.cancel(err)
				return
			}
			s.mu.Lock()
			s.take(&r, f.d, false, false)
			s.mu.Unlock()
		})
	}
}

// canaryEvery is a second, or as much as takes 3 % of a small limit.
func (s *station) canaryEvery() time.Duration {
	rpm := s.limit(0)
	return max(time.Second, time.Duration(60/(0.03*rpm)*float64(time.Second)))
}

// limit is a limit a minute: as the headers claim or as is known otherwise,
// whichever is lower.
func (s *station) limit(i int) float64 {
	about := s.org.about(s.model.Pool)
	known := [...]float64{about.Requests, about.Input, about.Output}[i]
	if g := &s.gauges.of[i]; g.seen && g.rate > 0 {
		if _, said := s.org.Limits[s.model.Pool]; !said {
			return 60 * g.rate
		}
		return min(known, 60*g.rate)
	}
	return known
}
