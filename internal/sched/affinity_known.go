package sched

import (
	"slices"
	"time"
)

// beginning is what the calls of one affinity of a stream have in common.
type beginning struct {
	key   int64
	lanes []warmth
	aside []int32 // slots of calls that wait for the one ahead, or behind others
	front int     // calls in the front of their queue
	pass  uint64  // in which one of them was held up
	slot  int32   // of its own
}

// warmth is how a beginning stands on a lane where it was ever sent.
type warmth struct {
	lane  *lane
	ahead AttemptID // that writes it; 0: none
	until time.Duration
}

type warmState uint8

const (
	cold  warmState = iota // the org does not keep it
	ahead                  // one call is out that writes it
	warm                   // it is kept
)

func (w *warmth) state(now time.Duration) warmState {
	switch {
	case w.ahead != 0:
		return ahead
	case now < w.until:
		return warm
	}
	return cold
}

func (b *beginning) on(l *lane) *warmth {
	for i := range b.lanes {
		if b.lanes[i].lane == l {
			return &b.lanes[i]
		}
	}
	return nil
}

// is says whether the beginning stands so on a lane.
func (b *beginning) is(s warmState, l *lane, now time.Duration) bool {
	if w := b.on(l); w != nil {
		return w.state(now) == s
	}
	return s == cold
}

// some says whether it stands so on any lane where it was sent.
func (b *beginning) some(s warmState, now time.Duration) bool {
	return slices.ContainsFunc(b.lanes, func(w warmth) bool { return w.state(now) == s })
}

// cools is when it will first be gone from a lane for want of use.
func (b *beginning) cools(now time.Duration) time.Duration {
	first := Never
	for i := range b.lanes {
		if w := &b.lanes[i]; w.state(now) == warm {
			first = min(first, w.until)
		}
	}
	return first
}

// idle says that nothing would be lost if it were forgotten.
func (b *beginning) idle(now time.Duration) bool {
	return len(b.aside) == 0 && b.front == 0 && !b.some(ahead, now) && !b.some(warm, now)
}

// beginnings are all that are known.
type beginnings struct {
	all   []*beginning
	of    idTable
	hand  int    // the next to be looked at for one to forget
	aside int    // calls set aside
	out   []lead // calls ahead, the oldest first
}

// lead is a call ahead.
type lead struct {
	slot    int32 // of its beginning
	attempt AttemptID
	since   time.Duration
}

func (k *call) beginning() int64 { return int64(k.stream.id)<<32 | int64(k.affinity) }

// begins is the beginning that a call marks; nil: none, or none that is known.
func (c *Core) begins(k *call) *beginning {
	if k.affinity == 0 {
		return nil
	}
	if i, ok := c.beg.of.get(k.beginning()); ok {
		return c.beg.all[i]
	}
	return nil
}

// learns is the same, and makes room for it where it is new.
func (c *Core) learns(k *call) *beginning {
	b := c.begins(k)
	if b != nil || k.affinity == 0 {
		return b
	}
	if b = c.blank(); b != nil {
		b.key = k.beginning()
		c.beg.of.put(b.key, b.slot)
	}
	return b
}

// blank is a beginning to be filled in: a new one, or one that has gone cold.
func (c *Core) blank() *beginning {
	t := &c.beg
	if len(t.all) < maxBeginnings {
		b := &beginning{slot: int32(len(t.all))}
		t.all = append(t.all, b)
		return b
	}
	for range 8 {
		b := t.all[t.hand]
		t.hand = (t.hand + 1) % len(t.all)
		if b.idle(c.now) {
			c.unlearn(b)
			return b
		}
	}
	return nil
}

func (c *Core) unlearn(b *beginning) {
	if i, ok := c.beg.of.get(b.key); ok && i == b.slot {
		c.beg.of.del(b.key)
	}
	b.lanes = b.lanes[:0]
}
