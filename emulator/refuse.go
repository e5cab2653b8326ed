package emulator

import (
	"math"
	"time"
)

// refuse decides whether a request is turned away, and fills in how. The order
// is from what concerns the whole provider to what concerns one bucket; a
// refused request uses up nothing (facts/control.md F.3, assumed).
func (m *Model) refuse(now time.Duration, x *Exchange, k key) bool {
	l := x.lane
	switch {
	case k.chance(drawStorm, m.sc.Storm.share(now)):
		x.Status, x.Class = 529, Overload
		return true // no retry-after, no limit headers
	case m.overSpent(now, l.org):
		x.Class = SpendLimit
	case l.daily.exhausted(now):
		m.refuseDay(now, x)
	case l.org.Concurrency > 0 && l.inFlight >= l.org.Concurrency:
		x.Class, x.RetryAfter = Concurrent, time.Second
	case m.refuseBucket(x), m.refuseHidden(x), m.refuseGrowth(now, x):
	default:
		return false
	}
	x.Status = 429
	m.read(l, k, now, &x.Reading)
	return true
}

// overSpent is the monthly cap; a new month begins at 00:00 UTC of its first
// day.
func (m *Model) overSpent(now time.Duration, o *orgState) bool {
	if o.SpendUSD <= 0 {
		return false
	}
	if month := m.start.Add(now).UTC().Month(); month != o.month {
		o.month, o.spent = month, 0
	}
	return o.spent >= int64(math.Round(o.SpendUSD*1e9))
}

func (m *Model) refuseDay(now time.Duration, x *Exchange) {
	d := x.lane.org.Daily
	x.Class, x.Named = DailyLimit, d.Text
	x.RetryAfter = d.RetryAfter
	if x.RetryAfter == 0 {
		x.RetryAfter = wholeSeconds(x.lane.daily.reopens(now).Seconds())
	}
}

// refuseBucket is the steady limits': the text names the first dimension that
// has too little, retry-after is until all have enough (facts/claude-api.md
// 3.5).
func (m *Model) refuseBucket(x *Exchange) bool {
	l, w := x.lane, float64(x.weight())
	wait, short := 0.0, NumDims
	need := func(d Dim, b *bucket, w float64) {
		if b.fits(w) && (w > 0 || b.level > 0) {
			return
		}
		wait = max(wait, b.wait(w))
		short = min(short, d)
	}
	need(Requests, &l.dims[Requests], 1)
	need(Input, &l.dims[Input], w)
	need(Output, &l.dims[Output], l.outputNeed(x))
	need(Tokens, &l.workspace, w)
	if short == NumDims {
		return false
	}
	x.Class, x.Dim, x.Named = Steady, short, true
	x.RetryAfter = wholeSeconds(wait)
	return true
}

// outputNeed: output in real time needs only a level above 0, in reserve mode
// all of max_tokens.
func (l *lane) outputNeed(x *Exchange) float64 {
	if l.org.ReserveOutput {
		return float64(x.MaxTokens)
	}
	return 0
}

func (m *Model) refuseHidden(x *Exchange) bool {
	l := x.lane
	if l.hidden.fits(1) {
		return false
	}
	x.Class, x.Dim, x.Named = Hidden, Requests, !l.org.HiddenUnnamed
	x.RetryAfter = wholeSeconds(l.hidden.wait(1))
	return true
}

// refuseGrowth is the acceleration limit's. It charges what it lets pass,
// being the last to ask.
func (m *Model) refuseGrowth(now time.Duration, x *Exchange) bool {
	s, w := &x.lane.accel, float64(x.weight())
	if s.off {
		return false
	}
	s.roll(now, m.minute(now))
	if s.off || s.fits(w) {
		s.take(w)
		return false
	}
	x.Class, x.Dim = Accelerated, Input
	x.Named = s.Text != "none"
	x.RetryAfter = 5 * time.Second
	if s.Kind == "additive" {
		x.RetryAfter = wholeSeconds(float64(60 - (m.start.Unix()+int64((m.frac+now)/time.Second))%60))
	}
	if s.Text == "numbers" && s.Kind == "additive" {
		x.CeilingNow, x.CeilingNext = int64(s.ceil), int64(s.next())
	}
	return true
}

// wholeSeconds rounds up, to one second at least.
func wholeSeconds(s float64) time.Duration {
	return time.Duration(max(1, math.Ceil(s))) * time.Second
}
