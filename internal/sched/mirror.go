package sched

import (
	"math"
	"time"
)

const (
	maxGain = 2.0  // highest multiple of the refill at which we send (B.4)
	colFade = 10.0 // seconds after which a colleague estimate has lost 63 % (B.2.1)
	rounded = 500  // token remainders are rounded to the nearest thousand
)

// bucket mirrors one token bucket of the server (facts/control.md B.2), and
// holds what pacing by it needs.
type bucket struct {
	soft, hard floor
	sigma      float64

	told  float64 // limit per minute from a source better than headers; 0: none
	lim   float64 // per minute; 0: unknown
	r     float64 // refill per second; 0: unknown, nothing is gated
	cap   float64 // learned capacity; +Inf while blind
	lvl   float64
	cum   float64 // own debits
	armed bool    // a header confirmed capacity
	blind bool    // r was learned from refusals, without headers
	binds bool    // Tokens only: says something the others do not

	anchor sample // newest reading
	base   sample // reading that the colleague estimate counts from
	col    float64
	colNow float64 // col, faded to the lane's time
	rem    float64 // remaining as last shown, for telling refusals apart

	credit float64
	want   float64       // weight of the call that waits for credit
	g      float64       // ceiling as a multiple of r
	gFail  float64       // where it last failed; 0: no memory
	gAt    time.Duration // of the last step of g
	cutAt  time.Duration // of its last cut
	top    float64       // acceleration ceiling per second; 0: none
}

// sample is a reading, placed where its request was sent.
type sample struct {
	id  AttemptID // 0: none
	at  time.Duration
	rem float64
	cum float64
}

func newBucket(f floors) bucket {
	return bucket{soft: f.soft, hard: f.hard, sigma: f.sigma, g: maxGain, cap: math.Inf(1), lvl: math.Inf(1)}
}

// learn sets the limit. Told ones come from outside the headers; the lower of
// the two holds, for a workspace's limit may bind before the org's and a
// header may show more than there is.
func (b *bucket) learn(perMinute float64, told bool) {
	if told {
		b.told = perMinute
	}
	if b.told > 0 && b.told < perMinute {
		perMinute = b.told
	}
	if perMinute == b.lim && !b.blind {
		return
	}
	if b.blind { // the mirror sees now: what was groped for is forgotten
		b.g, b.gFail = maxGain, 0
	}
	fresh := b.lim == 0
	b.lim, b.r, b.blind = perMinute, perMinute/60, false
	switch {
	case fresh:
		b.cap, b.lvl = perMinute, perMinute
		b.credit = 0
	case b.cap > perMinute:
		b.cap = perMinute
		b.lvl = min(b.lvl, b.cap)
	case !b.armed:
		b.cap = perMinute
	}
}

// advance refills for dt seconds; fade is how much of the colleague estimate
// is left after them (an old estimate must fade, else a level that never rises
// lets nothing through and nothing is learned).
func (b *bucket) advance(dt, fade, drain float64, paced, endgame bool) {
	from := b.lvl
	to := from + (b.r-drain)*dt
	if b.colNow > 0 {
		to = others(to, b.colNow*colFade*(1-fade))
		b.colNow *= fade
	}
	b.lvl = min(b.cap, to)
	b.cum += drain * dt
	if paced {
		b.earn(from, to, dt, endgame)
	}
}

// earn adds the pacing credit of dt seconds in which the level went from one
// value to another, which may be beyond the capacity.
func (b *bucket) earn(from, to, dt float64, endgame bool) {
	u := b.pace(endgame)
	switch {
	case endgame || math.IsInf(b.cap, 1):
		b.credit += u * dt
	case to > b.cap:
		rising := dt * max(0, b.cap-from) / (to - from)
		b.credit += b.flow(from, b.cap, rising) + u*(dt-rising)
	default:
		b.credit += b.flow(from, to, dt)
	}
	b.credit = min(b.credit, b.creditCap(u))
}

func (b *bucket) debit(w float64) {
	b.lvl -= w
	b.cum += w
}

// forget drops what was mirrored, but neither limits nor what was learned from
// refusals: after a sleep, levels are what the refill made them.
func (b *bucket) forget() {
	b.anchor, b.base = sample{}, sample{}
	b.col, b.colNow = 0, 0
}

// read takes a reading of an attempt in that was sent before it arrived (B.2.3
// and B.2.4). own is what we debited since.
func (b *bucket) read(a *attempt, now time.Duration, d Dim, limit, rem float64, reset time.Duration, cum float64) {
	if limit > 0 {
		b.learn(limit, false)
	}
	if b.r == 0 || a.id <= b.anchor.id {
		return // out of order: neither raises nor lowers
	}
	b.rem = rem
	b.capacity(rem, reset)
	if d != Requests && rem < b.cap-rounded {
		rem = max(0, rem-min(rounded, 0.02*b.cap))
	}
	s := sample{id: a.id, at: a.sent, rem: rem, cum: cum}
	b.colleagues(s)
	b.anchor = s
	age := secs(now - a.sent)
	b.colNow = b.col * math.Exp(-age/colFade)
	used := (b.col - b.colNow) * colFade
	b.lvl = min(b.cap, others(rem+b.r*age, used)) - (b.cum - cum)
}

// others takes what colleagues probably used from a level. They are refused at
// zero like us, so it is never their doing that a level is below.
func others(lvl, used float64) float64 { return min(lvl, max(0, lvl-used)) }

// capacity tells a small bucket (little left, full at once) from a used one
// (little left, full much later).
func (b *bucket) capacity(rem float64, reset time.Duration) {
	full := min(b.lim, rem+b.r*secs(max(0, reset+time.Second)))
	switch {
	case full <= 0:
	case !b.armed || full > b.cap:
		b.cap = full
	default:
		b.cap += 0.02 * (full - b.cap)
	}
	b.armed = true
}

// colleagues estimates what others use (B.2.5), from two readings at least two
// seconds apart. It serves extrapolation and reports, never the pacing law: in
// the law it would make every split with a colleague an equilibrium.
func (b *bucket) colleagues(s sample) {
	if b.base.id == 0 {
		b.base = s
		return
	}
	span := secs(s.at - b.base.at)
	if span < 2 {
		return
	}
	own := s.cum - b.base.cum
	e := (min(b.cap, b.base.rem+b.r*span) - own - s.rem) / span
	if s.rem >= 0.99*b.cap {
		e = 0
	}
	e = max(-0.2*b.r, min(2*b.r, e))
	b.col = max(0, 0.7*b.col+0.3*e)
	if b.col < 0.005*b.r {
		b.col = 0
	}
	b.base = s
}
