package emulator

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// clock is the scaled time: it runs speed times as fast as the real one, from
// start on. Its speed may change; whoever sleeps is woken to look again.
type clock struct {
	start time.Time // scaled wall-clock time at 0
	span  atomic.Pointer[span]
}

// span is a stretch of constant speed.
type span struct {
	real  time.Time // when it began
	base  time.Duration
	speed float64
	over  chan struct{} // closed when the speed changes
}

func newClock(start time.Time, speed float64) *clock {
	c := &clock{start: start}
	c.span.Store(&span{real: time.Now(), speed: speed, over: make(chan struct{})})
	return c
}

// now is the scaled time since the start. At speed 1 it is exact to the
// nanosecond.
func (c *clock) now() time.Duration { return c.span.Load().now() }

func (s *span) now() time.Duration {
	d := time.Since(s.real)
	if s.speed != 1 {
		d = time.Duration(float64(d) * s.speed)
	}
	return s.base + d
}

func (c *clock) speed() float64 { return c.span.Load().speed }

// setSpeed changes the speed from now on. Calls must not overlap.
func (c *clock) setSpeed(speed float64) {
	old := c.span.Load()
	c.span.Store(&span{real: time.Now(), base: old.now(), speed: speed, over: make(chan struct{})})
	close(old.over)
}

// sleep waits until the scaled time at, or until ctx ends; it says which.
func (c *clock) sleep(ctx context.Context, at time.Duration) bool {
	for {
		s := c.span.Load()
		left := at - s.now()
		if left <= 0 {
			return true
		}
		if s.speed != 1 {
			left = time.Duration(math.Ceil(float64(left) / s.speed))
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-s.over:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return false
		}
	}
}
