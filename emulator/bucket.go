package emulator

import (
	"math"
	"time"
)

// bucket is a token bucket with continuous refill (facts/claude-api.md 3.1).
// Its level may go negative: output is charged as it is produced, and an input
// estimate that was short is corrected after admission.
type bucket struct {
	limit    float64 // per minute, as published; 0: no limit
	capacity float64 // kappa × limit
	rate     float64 // refill per second
	level    float64
}

func newBucket(perMinute int64, kappa float64) bucket {
	if perMinute <= 0 {
		return bucket{capacity: math.Inf(1), level: math.Inf(1)}
	}
	if kappa <= 0 {
		kappa = 1
	}
	l := float64(perMinute)
	c := max(1, l*kappa)
	return bucket{limit: l, capacity: c, rate: l / 60, level: c}
}

func (b *bucket) limited() bool { return b.limit > 0 }

// advance refills for dt seconds while drain tokens a second flow out.
func (b *bucket) advance(dt, drain float64) {
	b.level = min(b.capacity, b.level+(b.rate-drain)*dt)
}

func (b *bucket) take(w float64) { b.level = min(b.capacity, b.level-w) }

// fits says whether a request of weight w may pass. One larger than the whole
// bucket passes when the bucket is full: refusing it for ever is not what a
// limit per minute means, and what the provider does is not documented.
func (b *bucket) fits(w float64) bool { return b.level >= min(w, b.capacity) }

// wait is how many seconds of undisturbed refill it takes until w fits.
func (b *bucket) wait(w float64) float64 {
	if b.fits(w) || b.rate <= 0 {
		return 0
	}
	return (min(w, b.capacity) - b.level) / b.rate
}

// fullIn is how long undisturbed refill takes to fill the bucket.
func (b *bucket) fullIn() time.Duration {
	if !b.limited() {
		return 0
	}
	return seconds((b.capacity - b.level) / b.rate)
}
