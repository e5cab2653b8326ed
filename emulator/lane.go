package emulator

import "time"

// lane is one pool of one org: what its limits know.
type lane struct {
	org   *orgState
	pool  string
	index int // pool index

	at        time.Duration // the levels are those of this instant
	dims      [3]bucket
	workspace bucket
	hidden    bucket
	drain     float64 // output tokens a second of all open answers
	open      int     // answers whose output flows
	inFlight  int     // answers admitted and not ended, colleagues' included

	accel acceleration
	daily day
	stale Reading

	touched bool // we used it: its colleagues are at work
	stats   PoolStats
	usage   []minuteUse
}

func newLane(o *orgState, pool int) *lane {
	l := &lane{org: o, pool: pools[pool], index: pool}
	limits := o.Limits
	if own, ok := o.Pools[l.pool]; ok {
		limits = own
	}
	l.dims = [3]bucket{
		newBucket(limits.Requests, o.Capacity),
		newBucket(limits.Input, o.Capacity),
		newBucket(limits.Output, o.Capacity),
	}
	l.workspace = newBucket(o.Workspace, o.Capacity)
	l.hidden = newBucket(0, 1)
	if o.Hidden > 0 {
		l.hidden = newBucket(limits.Requests, o.Hidden.Minutes())
	}
	l.accel = newAcceleration(o.Acceleration, limits.Input)
	l.daily.cap = o.Daily.Tokens
	return l
}

// advance moves the levels to now. Between two calls the drain is constant, so
// the piecewise linear levels are exact.
func (l *lane) advance(now time.Duration) {
	if now <= l.at {
		return
	}
	dt := (now - l.at).Seconds()
	l.at = now
	out := l.drain
	if l.org.ReserveOutput {
		out = 0
	}
	l.dims[Requests].advance(dt, 0)
	l.dims[Input].advance(dt, 0)
	l.dims[Output].advance(dt, out)
	l.workspace.advance(dt, l.drain)
	l.hidden.advance(dt, 0)
}

// admit takes a request's weight out of the buckets.
func (l *lane) admit(x *Exchange) {
	w := float64(x.weight())
	l.dims[Requests].take(1)
	l.dims[Input].take(w)
	l.workspace.take(w)
	l.hidden.take(1)
	if l.org.ReserveOutput {
		l.dims[Output].take(float64(x.MaxTokens))
	}
	l.inFlight++
}

// weight is what admission charges to the input limit.
func (x *Exchange) weight() int64 { return x.Est + x.CacheWrite5m + x.CacheWrite1h }

// begin corrects the input estimate and opens the output's flow.
func (l *lane) begin(x *Exchange) {
	l.correct(x)
	l.open++
	l.drain += x.rho
}

// burst charges output that came all at once, without a flow.
func (l *lane) burst(out float64) {
	if !l.org.ReserveOutput {
		l.dims[Output].take(out)
	}
	l.workspace.take(out)
}

func (l *lane) correct(x *Exchange) {
	more := float64(x.Usage.charged() - x.weight())
	l.dims[Input].take(more)
	l.workspace.take(more)
}

// end closes the output's flow and frees the slot.
func (l *lane) end(x *Exchange) {
	if x.phase == flowing {
		l.open--
		l.drain -= x.rho
		if l.open == 0 {
			l.drain = 0 // what rounding left
		}
	} else {
		l.correct(x)
		l.burst(float64(x.Usage.Output))
	}
	if l.org.ReserveOutput {
		l.dims[Output].take(float64(x.Usage.Output - x.MaxTokens))
	}
	l.inFlight--
}
