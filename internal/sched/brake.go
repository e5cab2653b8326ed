package sched

import "time"

// brake is the answer to overload (facts/control.md B.6, row 529): it scales
// the window down while the provider fails, and leaves window and ramp alone.
type brake struct {
	m      float64       // 0.03..1
	share  float64       // of outcomes that failed, over about ten
	failed AttemptID     // last attempt sent when the last failure came
	oks    int           // attempts sent after it that were taken
	newer  int           // attempts sent after it that are in flight
	cutAt  time.Duration // last halving
	cutID  AttemptID     // last attempt sent by then; 0: none yet
	young  int           // attempts sent after it that are in flight
	upAt   time.Duration
}

const (
	brakeFloor = 0.03
	brakeEvery = 2 * time.Second // at most one halving
	proofFor   = 2 * time.Second // overload is told at once: an attempt out for longer is no warning any more
)

// fail takes a failure in and says whether the brake went down. A rare failure
// among many answers is no overload.
func (b *brake) fail(now time.Duration, last AttemptID, above float64) bool {
	b.share += 0.1 * (1 - b.share)
	b.failed, b.oks, b.newer = last, 0, 0
	if b.share < above || b.cutID > 0 && now-b.cutAt < brakeEvery || b.m <= brakeFloor {
		return false
	}
	b.cutAt, b.cutID, b.young, b.upAt = now, last, 0, now
	b.m = max(brakeFloor, b.m/2)
	return true
}

func (b *brake) sent() {
	b.newer++
	b.young++
}

func (b *brake) landed(id AttemptID) {
	if id > b.failed {
		b.newer--
	}
	if id > b.cutID {
		b.young--
	}
}

// taken says that an attempt is being answered. Those sent before the brake
// went down are no evidence.
func (b *brake) taken(id AttemptID) {
	if b.m >= 1 || id > b.cutID {
		b.share *= 0.9
	}
	if id > b.failed {
		b.oks++
	}
}

// waits says that more sends wait for proof: after a failure one attempt goes,
// and two more for each that is taken, so that a storm that is not over costs
// few failures. Where no attempt tells within two seconds, another goes.
func (b *brake) waits() bool { return b.m < 1 && b.newer > 2*b.oks }

func (b *brake) every(l *latency) time.Duration {
	return max(brakeEvery, min(span(l.mean.v), 5*time.Second))
}

// opens is when the brake may go up: once an attempt sent after the last
// failure was taken.
func (b *brake) opens(l *latency) time.Duration {
	if b.oks == 0 {
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
