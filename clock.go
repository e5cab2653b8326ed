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
	read  readClock
	speed float64
	start time.Time     // wall reading at duration 0, as the wall clock is set now; the loop's
	from  time.Duration // monotonic reading at duration 0
	epoch time.Time     // scaled wall-clock time at duration 0
	slept atomic.Int64  // real nanoseconds the machine slept since start
}

// readClock reads the wall clock and a monotonic one, which stands still while
// the machine is suspended.
type readClock func() (wall time.Time, mono time.Duration)

// machineClock reads the machine's clocks.
func machineClock() readClock {
	begin := time.Now()
	return func() (time.Time, time.Duration) {
		t := time.Now()
		return t.Round(0), t.Sub(begin)
	}
}

func newClock(speed float64, read readClock) *clock {
	if read == nil {
		read = machineClock()
	}
	if speed <= 0 {
		speed = 1
	}
	c := &clock{read: read, speed: speed}
	c.start, c.from = read()
	c.epoch = c.start
	return c
}

// setEpoch places the time line: wall is the scaled wall-clock time now.
func (c *clock) setEpoch(wall time.Time) { c.epoch = wall.Add(-c.now()) }

// elapsed is the real time since the start, suspends included; it never runs
// backwards.
func (c *clock) elapsed() time.Duration {
	_, mono := c.read()
	return max(mono-c.from, 0) + time.Duration(c.slept.Load())
}

// now is the scaled time since the start.
func (c *clock) now() time.Duration {
	if c.speed == 1 {
		return c.elapsed()
	}
	return time.Duration(float64(c.elapsed()) * c.speed)
}

// wall is the scaled wall-clock time at d.
func (c *clock) wall(d time.Duration) time.Time { return c.epoch.Add(d) }

// at is the duration that belongs to a scaled wall-clock time.
func (c *clock) at(wall time.Time) time.Duration { return wall.Round(0).Sub(c.epoch) }

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
	wall, mono := c.read()
	gap := wall.Sub(c.start) - (mono - c.from) - time.Duration(c.slept.Load())
	if gap < -sleepGap { // set back: what it runs ahead counts from there
		c.start = c.start.Add(gap)
		return false
	}
	if gap < sleepGap {
		return false
	}
	c.slept.Add(int64(gap))
	return true
}
