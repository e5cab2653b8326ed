package sched

import "time"

// end books an attempt that settles nothing by itself, and decides what
// becomes of its call.
func (c *Core) end(i int32, cost int64, doubt bool, v verdict) {
	a := &c.attempts[i]
	k := &c.calls[a.call]
	c.charge(k.stream, a.worst, cost)
	k.cost += cost
	if doubt {
		k.doubts++
	}
	if !k.ended && !k.withdrawn {
		k.stands = a.id
	}
	if (v == ownFault || v == laneFault) && k.suspect.proven() {
		k.own++
		k.suspect = suspicion{}
	}
	switch v {
	case fatal:
		if !k.ended {
			k.ended, k.outcome, k.stands = true, Errored, a.id
		}
	case ownFault:
		k.own++
		k.lame, k.resets, k.suspect = 0, 0, suspicion{}
	case laneFault:
		k.suspect = suspicion{a.lane, a.sent}
		if k.lame++; k.lame == 1 {
			k.firstLame = c.now
		}
		k.resets = 0
	}
	k.wait = v == ownFault || v == laneFault && doubt
	c.lostLead(a)
	c.finish(i)
}

// Calls that fail alone: where nobody else is answered, a call that fails for
// an hour, ten times at least, is given up.
const (
	lameTries = 10
	lameFor   = time.Hour
)

// finish frees an attempt, and settles its call or lets it go on.
func (c *Core) finish(i int32) {
	a := &c.attempts[i]
	slot := a.call
	k := &c.calls[slot]
	k.flying--
	k.stream.flying--
	c.freeAttempt(i)
	switch {
	case k.flying > 0:
		if k.ended {
			c.abortAll(slot)
		}
		return
	case k.ended:
		c.settleCall(slot, k.outcome)
	case k.withdrawn:
		c.settleCall(slot, Canceled)
	case k.dropped || k.stream.closed:
		c.freeCall(slot) // forgotten: it stays pending in the journal
	case k.own >= int32(c.cfg.MaxAttempts), k.lame >= lameTries && c.now-k.firstLame >= lameFor:
		c.settleCall(slot, Errored)
	case k.wait:
		c.await(slot, c.backoff(k.own+k.lame))
	default:
		c.requeue(slot)
	}
}

// abortAll asks for a call's attempts in flight to be cancelled.
func (c *Core) abortAll(slot int32) {
	for i := range c.attempts {
		if a := &c.attempts[i]; a.id != 0 && a.call == slot && !a.abort {
			a.abort = true
			c.out.abort(a.id)
		}
	}
}

func (c *Core) settleCall(slot int32, o Outcome) {
	k := &c.calls[slot]
	k.stream.settled++
	s := Settle{
		Call: k.id, Attempt: k.stands, Outcome: o,
		Attempts: int(k.tries), Cost: k.cost, InDoubt: int(k.doubts),
	}
	if o == Canceled || o == OverBudget {
		s.Attempt = 0
	}
	c.out.settle(s)
	c.freeCall(slot)
}
