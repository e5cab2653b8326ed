package lab

import (
	"context"
	"fmt"
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

// course is one drive.
type course struct {
	conc   int
	shape  Shape         // zero: the station's
	spread time.Duration // over which the places in flight are opened: a warm-up ramp
	pace   float64       // calls a second at most; 0: no pace
	after  float64       // the pace from the first refusal on; 0: the same
	canary time.Duration // between calls of a control of drift; 0: none
	open   bool          // no gate and no pause: refusals are what is looked for
	// enough is asked before each send; nil: never.
	enough func(d *drive) bool
}

// drive is what a course did, as it is stored. Counts are of the course's own
// calls, without its canary.
type drive struct {
	Conc   int           `json:"conc"`
	From   time.Duration `json:"from"`
	To     time.Duration `json:"to"` // the last send
	Sent   int           `json:"sent"`
	Held   time.Duration `json:"held"`           // when a gate first held a call back; 0: none did
	Gate   string        `json:"gate,omitempty"` // whose
	HeldAt int           `json:"held_at"`        // sends until then
	Full   time.Duration `json:"full"`           // when all places were open
	FullAt int           `json:"full_at"`        // sends until then
	FreeAt int           `json:"free_at"`        // sends until nothing but places and gates held calls back

	Steady     int     `json:"steady"`      // 429s of limits that the headers show to be empty
	Hidden     int     `json:"hidden"`      // 429s although the headers show room, with the limit named
	Suspect    int     `json:"suspect"`     // and unnamed
	Grown      int     `json:"grown"`       // 429s of acceleration
	Again      int     `json:"again"`       // more of both kinds, of calls that had left by then
	Overloaded int     `json:"overloaded"`  // 529s
	Failed     int     `json:"failed"`      // network and the rest
	Dim        string  `json:"dim"`         // that a hidden refusal named
	Text       string  `json:"text"`        // of the first refusal
	CeilingNow float64 `json:"ceiling_now"` // as a refusal told, tokens a minute
	Ceiling    float64 `json:"ceiling_next"`
	Places     int     `json:"places,omitempty"` // in flight when concurrency was refused
	Closed     string  `json:"closed,omitempty"`
	ClosedBy   string  `json:"closed_by,omitempty"`
}

// refused counts 429s.
func (d *drive) refused() int { return d.Steady + d.Hidden + d.Suspect + d.Grown + d.Again }

// drive carries a course out and waits for its calls. Refusals are in what it
// gives; the error is the bench's.
func (s *station) drive(ctx context.Context, c course) (drive, error) {
	d := drive{Conc: c.conc, From: s.clock.Now()}
	if c.shape == (Shape{}) {
		c.shape = s.shape
	}
	f := &trip{course: c, d: &d}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	defer f.cancel(nil)
	quiet, hush := context.WithCancel(f.ctx)
	defer hush()
	if c.canary > 0 {
		f.wg.Go(func() { s.watch(quiet, f) })
	}
	f.next = d.From
	for s.wait(f) {
		s.launch(f)
	}
	s.mu.Lock()
	d.To = s.clock.Now()
	s.mu.Unlock()
	hush()
	f.wg.Wait()
	d.Closed, d.ClosedBy = s.closed, s.closedBy
	return d, context.Cause(f.ctx)
}

// trip is a course under way.
type trip struct {
	course
	ctx    context.Context
	cancel context.CancelCauseFunc // by the first error of the bench
	wg     sync.WaitGroup
	next   time.Duration // by the pace
	d      *drive        // under the station's mu
}

// wait waits until the next call may go; false: the course is at its end.
func (s *station) wait(f *trip) bool {
	for {
		if f.ctx.Err() != nil {
			return false
		}
		s.mu.Lock()
		if s.closed != "" || f.enough != nil && f.enough(f.d) {
			s.mu.Unlock()
			return false
		}
		wait := s.holds(f)
		if wait <= 0 {
			s.paced(f, s.clock.Now())
			s.mu.Unlock()
			return true
		}
		s.mu.Unlock()
		s.pause(f.ctx, wait)
	}
}

// places are those that are open.
func (f *trip) places(now time.Duration) int {
	if past := now - f.d.From; past < f.spread {
		return 1 + int(float64(f.conc-1)*float64(past)/float64(f.spread))
	}
	if f.d.Full == 0 {
		f.d.Full, f.d.FullAt = now, f.d.Sent
	}
	return f.conc
}

// paced sets when the next call may go.
func (s *station) paced(f *trip, now time.Duration) {
	if f.after > 0 && f.d.refused() > 0 {
		f.pace = f.after
	}
	pace := f.pace
	if now > s.rise.from+riseSpan && s.rise.at(now) > 2*s.gauges.rateUntil(now) {
		s.rise = rise{} // it holds nothing back any more
	}
	if most := s.rise.at(now); most > 0 && (pace == 0 || most < pace) {
		pace = most
	}
	if pace == 0 {
		f.next = now
	} else {
		f.next = max(f.next, now-jitter) + time.Duration(float64(time.Second)/pace)
	}
}

// pause lasts a span, or until a call ends.
func (s *station) pause(ctx context.Context, span time.Duration) {
	t := time.NewTimer(max(s.clock.real(min(span, lookAgain)), time.Microsecond))
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.freed:
	case <-ctx.Done():
	}
}

// holds is how long the next call is held back; 0: it may go.
func (s *station) holds(f *trip) time.Duration {
	now, d := s.clock.Now(), f.d
	switch {
	case s.flying >= f.places(now):
		return lookAgain
	case now < s.notBefore:
		d.FreeAt = d.Sent
		return s.notBefore - now
	case now < f.next:
		d.FreeAt = d.Sent
		return f.next - now
	case f.open:
		return 0
	}
	wait, dim := s.gauges.wait(now, s.floor)
	if wait > 0 && d.Held == 0 {
		d.Held, d.Gate, d.HeldAt = now, DimName(dim), d.Sent
	}
	if dim, ok := s.gauges.crowded(crowdedAfter); ok {
		s.closedBy = DimName(dim)
		s.closed = fmt.Sprintf("others keep %s below %.0f %% of what it holds", DimName(dim), 100*s.env.soft())
	}
	return wait
}

func (s *station) launch(f *trip) {
	full := f.shape == s.shape
	s.mu.Lock()
	s.flying++
	f.d.Sent++
	s.salt++
	call := s.gauges.sent(s.clock.Now(), full)
	shot := Shot{Org: s.org.Name, Model: s.model.ID, Shape: f.shape, Salt: s.salt, Stream: true}
	s.mu.Unlock()
	f.wg.Go(func() {
		r, err := s.Send(f.ctx, shot)
		s.mu.Lock()
		s.flying--
		call.end = s.clock.Now()
		if err == nil {
			s.take(&r, f.d, full, f.open)
		}
		s.mu.Unlock()
		if err != nil {
			f.cancel(err)
		}
		select {
		case s.freed <- struct{}{}:
		default:
		}
	})
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
