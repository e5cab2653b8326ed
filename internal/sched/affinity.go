package sched

import (
	"slices"
	"time"
)

// Affinity (facts/claude-api.md 7): calls that mark the same beginning of a
// prompt read it from a cache that each org keeps for itself, once an answer to
// the call that writes it has begun. So the first goes ahead alone, the others wait
// for it, and then go where the beginning is kept already. Further lanes are
// opened, each by one call ahead, where work was held up for keepFor that they
// would have taken: money is saved where that costs no time. On how few orgs a job
// is kept at all is its plan's choice.
const (
	cacheFor = 5 * time.Minute  // a beginning is kept so long without use
	aheadFor = 30 * time.Second // an answer that takes longer has begun; and a call that hangs holds no others
	keepFor  = time.Second      // calls wait so long for lanes that keep their beginning, though others would take them

	maxBeginnings = 4096 // known at once; calls of more go as if they marked nothing
	maxAside      = 4096 // calls set aside; more wait in their queue
	maxFront      = 2    // held up calls of a beginning that stay in the front of their queue
	heldLook      = 64   // more calls are looked at where some are held up for their beginnings
)

// waits says that all calls of the beginning can but wait for the one ahead.
func (b *beginning) waits(now time.Duration) bool { return b.some(ahead, now) && !b.some(warm, now) }

// setAside takes a call out of the front of its queue that can but wait, for the
// one ahead or behind others of its kind: those after it have no part in that.
func (c *Core) setAside(q *queue, i int, slot int32) bool {
	k := &c.calls[slot]
	b := c.begins(k)
	if b == nil || c.beg.aside >= maxAside || !b.waits(c.now) && (b.pass != c.pass || b.front <= maxFront) {
		return false
	}
	c.take(q, i)
	q.add(-1)
	k.state = callAside
	b.aside = append(b.aside, slot)
	c.countAside(q, 1)
	return true
}

// fetch takes a call back out of what was set aside, without giving it anywhere.
func (c *Core) fetch(slot int32) {
	k := &c.calls[slot]
	b := c.begins(k)
	k.state = callQueued
	b.aside = slices.DeleteFunc(b.aside, func(s int32) bool { return s == slot })
	c.countAside(k.q, -1)
}

func (c *Core) countAside(q *queue, n int) {
	c.beg.aside += n
	q.aside += n
	q.stream.queued += n
}

// place is the lane for a call of weight w, as choose says it. Where its
// beginning is kept comes first; others wait until the work has been held up for
// a while (keepFor).
func (c *Core) place(p *pool, q *queue, k *call, w *weight, no *blocked) (best *lane, why Limit, first time.Duration) {
	b := c.learns(k)
	if b == nil {
		return c.choose(p, q, k, w, nil, cold)
	}
	b.pass = c.pass // unless it goes
	best, why, first = c.choose(p, q, k, w, b, warm)
	if best != nil {
		return best, why, first
	}
	other, limit, at := c.choose(p, q, k, w, b, cold)
	switch {
	case other == nil:
		first = min(first, at)
	case !b.some(warm, c.now) || q.kept.over(c.now):
		return other, limit, at
	default:
		no.kept = true
		first = min(first, q.kept.end(c.now), b.cools(c.now))
	}
	if why == LimitNone {
		why = limit
	}
	return nil, why, first
}

// keeping is since when calls of a queue have waited for lanes that keep their
// beginnings while others were left without them.
type keeping struct {
	on    bool
	since time.Duration
}

func (k *keeping) over(now time.Duration) bool { return k.on && now >= k.since+keepFor }

func (k *keeping) end(now time.Duration) time.Duration {
	if k.on {
		return k.since + keepFor
	}
	return now + keepFor
}

// note takes in what a look along the queue found that sent nothing.
func (k *keeping) note(kept bool, now time.Duration) {
	if kept != k.on {
		*k = keeping{on: kept, since: now}
	}
}

// led notes that a call was sent just now: where its beginning is not kept, it
// is the one ahead.
func (c *Core) led(k *call, l *lane) {
	b := c.begins(k)
	if b == nil {
		return
	}
	w := b.on(l)
	if w == nil {
		b.lanes = append(b.lanes, warmth{lane: l})
		w = &b.lanes[len(b.lanes)-1]
	}
	b.pass = 0
	switch w.state(c.now) {
	case cold:
		w.ahead = c.lastAtt
		c.beg.out = append(c.beg.out, lead{b.slot, c.lastAtt, c.now})
	case warm:
		w.until = c.now + cacheFor
	}
	c.refill(b)
}

// begun says that an answer to an attempt has begun: its lane's org keeps the
// beginning from now on.
func (c *Core) begun(a *attempt) {
	if b := c.begins(&c.calls[a.call]); b != nil {
		c.warm(b, a.lane)
	}
}

func (c *Core) warm(b *beginning, l *lane) {
	w := b.on(l)
	if w == nil {
		return // a hedge; or it was forgotten
	}
	id := w.ahead
	w.ahead, w.until = 0, c.now+cacheFor
	c.arrived(b, id)
}

// lostLead says that an attempt ended without an answer: was it the one ahead,
// another has to go.
func (c *Core) lostLead(a *attempt) {
	b := c.begins(&c.calls[a.call])
	if b == nil {
		return
	}
	if w := b.on(a.lane); w != nil && w.ahead == a.id {
		w.ahead, w.until = 0, 0
		c.arrived(b, a.id)
	}
}

// arrived lets those go on that waited for a call ahead; 0: a lane turned out to
// keep the beginning without one.
func (c *Core) arrived(b *beginning, id AttemptID) {
	if id != 0 {
		c.beg.out = slices.DeleteFunc(c.beg.out, func(d lead) bool { return d.attempt == id })
	}
	c.refill(b)
}

// refill brings calls that were set aside back to the front of their queue, as
// many as are looked at there.
func (c *Core) refill(b *beginning) {
	if b == nil || b.waits(c.now) {
		return
	}
	for b.front < maxFront && len(b.aside) > 0 {
		slot := b.aside[0]
		b.aside = b.aside[1:]
		c.countAside(c.calls[slot].q, -1)
		c.requeue(slot)
	}
}

// tendLeads takes calls ahead that have been out for long as having begun, and
// wakes the core when the next will be.
func (c *Core) tendLeads() {
	t := &c.beg
	for len(t.out) > 0 && c.now >= t.out[0].since+aheadFor {
		b, id := t.all[t.out[0].slot], t.out[0].attempt
		for i := range b.lanes {
			if b.lanes[i].ahead == id {
				c.warm(b, b.lanes[i].lane)
				break
			}
		}
	}
	if len(t.out) > 0 {
		c.wake = min(c.wake, t.out[0].since+aheadFor)
	}
}

// dropAside forgets what a closed stream had set aside, and its beginnings.
func (c *Core) dropAside(s *stream) {
	for _, b := range c.beg.all {
		if b.key>>32 != int64(s.id) {
			continue
		}
		for _, slot := range b.aside {
			c.countAside(c.calls[slot].q, -1)
			c.freeCall(slot)
		}
		b.aside, b.front = nil, 0
	}
}
