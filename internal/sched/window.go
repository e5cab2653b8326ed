package sched

import (
	"math"
	"time"
)

// aimd is the window learned from refusals (facts/control.md B.6). It begins
// wide open: the ramp is what starts slowly.
type aimd struct {
	w      float64 // attempts; +Inf: at the cap
	fail   float64 // where "concurrent connections" struck; 0: no memory
	round  time.Duration
	slowAt time.Duration // of the last step near fail
	slow   time.Duration // between steps there
	peak   int           // most in flight in this round
	bad    bool          // a refusal in this round
	why    Class
}

func (l *lane) hintWindow(hint float64) {
	if hint >= 1 && hint < float64(l.group.cap) {
		l.aimd.w = hint
	}
}

// cut halves the window that held when the refused attempt was sent.
func (a *aimd) cut(n int, capacity float64) {
	a.w = max(1, 0.5*min(a.w, float64(n), capacity))
	a.bad = true
}

// strike remembers where the server's count of connections was met; met there
// again, the next try comes later.
func (a *aimd) strike(now time.Duration, n int, capacity float64) {
	again := a.fail > 0 && math.Abs(float64(n)-a.fail) <= max(1, 0.1*a.fail)
	a.cut(n, capacity)
	if a.slow = min(2*a.slow, slowest); !again {
		a.slow = slowStep
	}
	a.fail = float64(n)
	a.why, a.round, a.slowAt = Concurrency, now, now
}

// One attempt more is tried near a server's count of connections after so long,
// later after each time it is met at the same place.
const (
	slowStep = 20 * time.Second
	slowest  = 3 * time.Minute
)

// grow opens the window after a clean round that used it (B.6), by a twentieth
// of the cap, but not faster than by a quarter of itself: under a server's cap
// of five, a twentieth of a hundred is a doubling.
func (a *aimd) grow(now, round time.Duration, capacity float64, n int) bool {
	if math.IsInf(a.w, 1) || now-a.round < round {
		return false
	}
	clean := !a.bad && float64(a.peak) >= math.Floor(0.8*min(a.w, capacity))
	a.round, a.bad, a.peak = now, false, n
	if !clean {
		return false
	}
	step := max(1, min(0.05*capacity, 0.25*a.w))
	if a.fail > 0 && a.w+step > 0.9*a.fail {
		if a.w < 0.9*a.fail {
			step = 0.9*a.fail - a.w
		} else if now-a.slowAt < a.slow {
			return false
		} else {
			step = 1
		}
	}
	a.slowAt = now
	a.w += step
	if a.w >= capacity {
		a.w = math.Inf(1)
	}
	return true
}

const littleSlack = 1.25

// littleLeast keeps calls that hang from filling a window that fast answers
// make small: where Little asks for one, one silent stream would hold the lane
// until they are given up. Pacing bounds the rate whatever the window.
const littleLeast = 4

// little is the number of attempts that the refill of the scarcest dimension
// can keep busy, and a quarter more (B.3).
func (l *lane) little() float64 {
	lr := l.lat.usual()
	if lr <= 0 {
		return math.Inf(1)
	}
	x := math.Inf(1)
	for d, w := range [NumDims]float64{1, l.meanIn.v, l.lat.out.v, l.meanIn.v + l.lat.out.v} {
		if b := &l.b[d]; b.r > 0 && w > 0 && !b.blind && (Dim(d) != Tokens || b.binds) {
			x = min(x, b.r/w)
		}
	}
	return max(math.Ceil(littleSlack*x*lr), littleLeast)
}

// outWindow is the number of open streams that the output level can carry
// (B.3): output is charged while it is produced, so its control variable is
// how many streams are open.
func (l *lane) outWindow() (n, opens float64) {
	b, rho := &l.b[Output], l.rho()
	if b.r == 0 || rho <= 0 || l.reserve || l.endgame || math.IsInf(b.cap, 1) && b.g >= maxGain {
		return math.Inf(1), 0
	}
	top := b.ceiling()
	tau := max(5, min(20, l.lat.mean.v))
	h := b.above()
	u := min(max(b.sigma*b.r, h/tau), top)
	n = math.Ceil(u / rho)
	need := float64(l.n) * rho // u must exceed this for one more
	if top <= need {
		return n, math.Inf(1)
	}
	return n, b.riseIn(max(0, need*tau-h), need)
}

// aimdWindow is the learned window, but not less than carries the share of
// the refill that we are due in any case (sigma, B.4): a greedy neighbour's
// refusals would else take that, too.
func (c *Core) aimdWindow(l *lane) float64 {
	w := l.aimd.w
	if l.aimd.why != RateLimited || math.IsInf(w, 1) {
		return w
	}
	if due := l.b[Requests].sigma * l.little() / littleSlack; !math.IsInf(due, 1) {
		w = max(w, math.Floor(due))
	}
	return w
}

// window is how many attempts the lane may have in flight, which limit says
// so, and when that limit may open further by time alone.
func (c *Core) window(l *lane) (n float64, why Limit, opens time.Duration) {
	n, why, opens = float64(l.group.cap-l.group.n+l.n), LimitCap, Never
	if w := c.aimdWindow(l); w < n {
		n, why = w, LimitAIMD
		if l.aimd.why == Concurrency {
			why = LimitConcurrency
		}
		opens = l.aimd.round + l.lat.round()
		if f := l.aimd.fail; f > 0 && l.aimd.w >= 0.9*f {
			opens = max(opens, l.aimd.slowAt+l.aimd.slow)
		}
	}
	if l.ramp.g < n {
		n, why, opens = l.ramp.g, LimitRamp, l.ramp.at+c.cfg.step
	}
	if lit := l.little(); lit < n {
		n, why, opens = lit, LimitLittle, Never
	}
	if out, t := l.outWindow(); out < n {
		n, why, opens = out, LimitOTPM, after(c.now, span(t))
	}
	return max(1, n), why, opens
}
