package lab

import (
	"context"
	"fmt"
	"sync"
	"time"
)

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
