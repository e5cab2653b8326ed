package sched

import "time"

// brake is the answer to overload (facts/control.md B.6, row 529): it scales
// the window down while the provider fails, and leaves window and ramp alone.
type brake struct {
	m       float64       // 0.03..1
	share   float64       // of outcomes that failed, over about ten
	failed  AttemptID     // last attempt sent when the last failure came
	cutAt   time.Duration // last halving
	cut     bool
	cutID   AttemptID // last attempt sent by then
	okAfter bool      // an attempt sent after the last failure succeeded
	upAt    time.Duration
}

const (
	brakeFloor = 0.03
	brakeEvery = 2 * time.Second // at most one halving
)

// fail takes a failure in and says whether the brake went down. A rare failure
// among many answers is no overload.
func (b *brake) fail(now time.Duration, last AttemptID, above float64) bool {
	b.share += 0.1 * (1 - b.share)
	b.failed, b.okAfter = last, false
	if b.share < above || b.cut && now-b.cutAt < brakeEvery || b.m <= brakeFloor {
		return false
	}
	b.cut, b.cutAt, b.upAt = true, now, now
	b.cutID = last
	b.m = max(brakeFloor, b.m/2)
	return true
}

func (b *brake) success(id AttemptID) {
	b.share *= 0.9
	if id > b.failed {
		b.okAfter = true
	}
}

func (b *brake) every(l *latency) time.Duration {
	return max(brakeEvery, min(span(l.mean.v), 5*time.Second))
}

func (b *brake) opens(l *latency) time.Duration {
	if !b.okAfter {
		return Never
	}
	return b.upAt + b.every(l)
}

// recover doubles when its time has come.
func (b *brake) recover(now time.Duration, l *latency) bool {
	if b.m >= 1 || now < b.opens(l) {
		return false
	}
	b.m, b.upAt = min(1, 2*b.m), now
	return true
}
