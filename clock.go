package flotilla

import (
	"sync/atomic"
	"time"
)

// sleepGap is how far the wall clock may run ahead of the monotonic one before
// the machine is taken to have slept (interface.md, "Starting, running, ending").
const sleepGap = 10 * time.Second

// clock is the fleet's only source of time: a duration since its start on the
// scaled time line, and the wall-clock time that belongs to it. At speed 1 both
// are the machine's own. Against an emulator that runs at another speed they
// are the emulator's, set from the Date of its first answer.
type clock struct {
	read  func() time.Time // time.Now; a test's frozen clock
	speed float64
	start time.Time    // reading at duration 0, with its monotonic part
	epoch time.Time    // scaled wall-clock time at duration 0
	slept atomic.Int64 // real nanoseconds the machine slept since start
}

func newClock(speed float64, read func() time.Time) *clock {
	if read == nil {
		read = time.Now
	}
	if speed <= 0 {
		speed = 1
	}
	start := read()
	return &clock{read: read, speed: speed, start: start, epoch: start}
}

// setEpoch places the time line: wall is the scaled wall-clock time now.
func (c *clock) setEpoch(wall time.Time) { c.epoch = wall.Add(-c.now()) }

// now is the scaled time since the start; it never runs backwards.
func (c *clock) now() time.Duration {
	real := c.read().Sub(c.start) + time.Duration(c.slept.Load())
	return time.Duration(float64(max(real, 0)) * c.speed)
}

// wall is the scaled wall-clock time at d.
func (c *clock) wall(d time.Duration) time.Time { return c.epoch.Add(d) }

// at is the duration that belongs to a scaled wall-clock time.
func (c *clock) at(wall time.Time) time.Duration { return wall.Round(0).Sub(c.epoch.Round(0)) }

// real is how long a scaled duration takes on the machine's clock.
func (c *clock) real(d time.Duration) time.Duration {
	if c.speed == 1 {
		return d
	}
	return time.Duration(float64(d) / c.speed)
}

// woke reports whether the machine slept since the last call, and moves the
// time line past the gap: monotonic time stands still in a suspend, deadlines
// do not.
func (c *clock) woke() bool {
	t := c.read()
	wall := t.Round(0).Sub(c.start.Round(0))
	gap := wall - t.Sub(c.start) - time.Duration(c.slept.Load())
	if gap < sleepGap {
		return false
	}
	c.slept.Add(int64(gap))
	return true
}
