package sched

import "time"

// call is a call that is near the head of its queue, in flight or waiting: the
// few of a million that need more than an item.
type call struct {
	item
	affinity uint32
	counted  bool   // in its beginning's front
	seq      uint64 // place in its queue's order of offering
	stream   *stream
	q        *queue
	state    callState

	tries   int32     // attempts made
	flying  int32     // of them in flight
	own     int32     // failures of its own, those of earlier processes included
	lame    int32     // failures in a row that were charged to the lane
	suspect suspicion // of the newest of them
	resets  int32     // resets in a row of reused connections
	doubts  int32     // attempts whose outcome is unknown

	cost      int64 // nano-dollars of ended attempts; in doubt: worst case
	stands    AttemptID
	outcome   Outcome
	ended     bool // it has its outcome and only waits for aborted attempts
	withdrawn bool
	hedged    bool
	wait      bool // before the next attempt
	dropped   bool // its stream closed: no Settle
	firstLame time.Duration
	due       time.Duration // end of its wait
}

type callState uint8

const (
	callQueued  callState = iota // in its queue's front
	callWaiting                  // in the wait heap
	callAside                    // waits for one that was sent ahead (affinity.go)
	callFlying
)

// attempt is one exchange in flight.
type attempt struct {
	id       AttemptID
	call     int32
	lane     *lane
	sent     time.Duration
	worst    int64
	w        weight           // what was debited
	cum      [NumDims]float64 // the lane's own debits when it was sent, it included
	drain    float64          // the lane's per-attempt output integral at that time
	out      float64          // output tokens charged so far, where reported
	n        int              // in flight on the lane with it
	tok      float64          // counted against the daily cap meanwhile
	seen     time.Duration    // last Progress
	epoch    uint32           // of the lane: raised by Woke
	kind     probeKind
	park     *park // that it probes
	hedge    bool
	abort    bool
	headed   bool // its headers came
	staked   bool // it holds a token of the retry budgets
	reserved bool // max_tokens were debited
}

type probeKind uint8

const (
	noProbe    probeKind = iota
	firstProbe           // alone on a fresh lane, or the first after a long cooldown
	thinProbe            // the retry budget is used up
	parkProbe            // of a parked lane or org
)

func (c *Core) newCall(q *queue, it item, seq uint64) int32 {
	var i int32
	if n := len(c.free); n > 0 {
		i, c.free = c.free[n-1], c.free[:n-1]
	} else {
		c.calls = append(c.calls, call{})
		i = int32(len(c.calls) - 1)
	}
	c.calls[i] = call{item: it, seq: seq, stream: q.stream, q: q, own: int32(it.failed)}
	c.callOf.put(int64(it.id), i)
	return i
}

func (c *Core) freeCall(i int32) {
	c.callOf.del(int64(c.calls[i].id))
	c.calls[i] = call{}
	c.free = append(c.free, i)
}

func (c *Core) newAttempt() (int32, *attempt) {
	c.lastAtt++
	var i int32
	if n := len(c.freeAtt); n > 0 {
		i, c.freeAtt = c.freeAtt[n-1], c.freeAtt[:n-1]
	} else {
		c.attempts = append(c.attempts, attempt{})
		i = int32(len(c.attempts) - 1)
	}
	c.attempts[i] = attempt{id: c.lastAtt}
	c.attOf.put(int64(c.lastAtt), i)
	return i, &c.attempts[i]
}

func (c *Core) freeAttempt(i int32) {
	c.attOf.del(int64(c.attempts[i].id))
	c.attempts[i] = attempt{}
	c.freeAtt = append(c.freeAtt, i)
}

// att finds an attempt in flight.
func (c *Core) att(id AttemptID) (int32, *attempt) {
	i, ok := c.attOf.get(int64(id))
	if !ok {
		return -1, nil
	}
	return i, &c.attempts[i]
}
