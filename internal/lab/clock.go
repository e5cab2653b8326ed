package lab

import (
	"context"
	"time"
)

// Clock is the scaled time of an experiment: at speed 1 the machine's, against
// an emulator its own.
type Clock struct {
	began time.Time // real
	epoch time.Time // scaled wall-clock time then
	base  time.Duration
	speed float64
}

// newClock begins at a scaled wall-clock time; base is what an interrupted run
// had behind it.
func newClock(epoch time.Time, base time.Duration, speed float64) *Clock {
	now := time.Now()
	if epoch.IsZero() {
		epoch = now
	}
	return &Clock{began: now, epoch: epoch, base: base, speed: max(speed, 1e-3)}
}

// Now is the scaled time since the experiment began, interruptions left out.
func (c *Clock) Now() time.Duration {
	d := time.Since(c.began)
	if c.speed != 1 {
		d = time.Duration(float64(d) * c.speed)
	}
	return c.base + d
}

// Wall is the scaled wall-clock time at an instant of this invocation.
func (c *Clock) Wall(at time.Duration) time.Time { return c.epoch.Add(at - c.base) }

// real is how long a scaled span takes on the machine's clock.
func (c *Clock) real(d time.Duration) time.Duration {
	if c.speed == 1 {
		return d
	}
	return time.Duration(float64(d) / c.speed)
}

// Sleep waits for a scaled span, or until ctx ends, whose error it gives.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	return c.Until(ctx, c.Now()+d)
}

// Until waits for an instant.
func (c *Clock) Until(ctx context.Context, at time.Duration) error {
	for {
		left := c.real(at - c.Now())
		if left <= 0 {
			return ctx.Err()
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}
