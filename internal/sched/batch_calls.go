package sched

import "time"

// callRate keeps our calls to an org's batch endpoints below its requests a
// minute, all of them together: a bucket that holds a fifth of a minute and is
// refilled by the rest, so that no minute sees more than its limit.
type callRate struct {
	rpm    float64
	level  float64
	most   float64
	perSec float64
	at     time.Duration
}

// blindRPM is taken where nobody told the limit: the lowest that orgs have
// (facts/claude-api.md 3.2, legacy tier 1).
const blindRPM = 50

func (r *callRate) set(rpm float64, now time.Duration) {
	if rpm <= 0 && r.most > 0 || rpm > 0 && rpm == r.rpm {
		return
	}
	r.rpm = rpm
	if rpm <= 0 {
		rpm = blindRPM
	}
	r.most = max(1, rpm/5)
	r.perSec = max(rpm-r.most, rpm/2) / 60
	r.level, r.at = r.most, now
}

func (r *callRate) refill(now time.Duration) {
	if now > r.at {
		r.level = min(r.most, r.level+r.perSec*secs(now-r.at))
		r.at = now
	}
}

// free is when a call may go: now or later.
func (r *callRate) free(now time.Duration) time.Duration {
	r.refill(now)
	if r.level >= 1-1e-9 {
		return now
	}
	return after(now, max(span((1-r.level)/r.perSec), minWait))
}

func (r *callRate) take(now time.Duration) {
	r.refill(now)
	r.level--
}

// giveBack undoes a take that no call followed.
func (r *callRate) giveBack() { r.level = min(r.most, r.level+1) }

// spacing is the least time between two polls of one batch, of n outstanding.
func (r *callRate) spacing(n int) time.Duration {
	return span(float64(n) / (pollShare * r.perSec))
}
