package sched

import "time"

// waitHeap orders the calls that wait after a failure of their own by when
// their wait ends.
type waitHeap struct{ slots []int32 }

func (h *waitHeap) less(c *Core, i, j int) bool {
	a, b := &c.calls[h.slots[i]], &c.calls[h.slots[j]]
	if a.due != b.due {
		return a.due < b.due
	}
	return a.id < b.id
}

func (h *waitHeap) push(c *Core, slot int32) {
	h.slots = append(h.slots, slot)
	h.up(c, len(h.slots)-1)
}

func (h *waitHeap) up(c *Core, i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !h.less(c, i, p) {
			return
		}
		h.slots[i], h.slots[p] = h.slots[p], h.slots[i]
		i = p
	}
}

func (h *waitHeap) down(c *Core, i int) {
	for {
		m := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(h.slots); k++ {
			if h.less(c, k, m) {
				m = k
			}
		}
		if m == i {
			return
		}
		h.slots[i], h.slots[m] = h.slots[m], h.slots[i]
		i = m
	}
}

func (h *waitHeap) removeAt(c *Core, i int) {
	last := len(h.slots) - 1
	h.slots[i] = h.slots[last]
	h.slots = h.slots[:last]
	if i < last {
		h.down(c, i)
		h.up(c, i)
	}
}

func (h *waitHeap) remove(c *Core, slot int32) {
	for i, s := range h.slots {
		if s == slot {
			h.removeAt(c, i)
			return
		}
	}
}

// next is when the first wait ends.
func (h *waitHeap) next(c *Core) time.Duration {
	if len(h.slots) == 0 {
		return Never
	}
	return c.calls[h.slots[0]].due
}

// await makes a call wait after a failure of its own.
func (c *Core) await(slot int32, d time.Duration) {
	k := &c.calls[slot]
	k.state, k.due = callWaiting, after(c.now, d)
	k.stream.queued++
	c.waits.push(c, slot)
}

// release puts calls whose wait has ended back into their queues.
func (c *Core) release() {
	for c.waits.next(c) <= c.now {
		slot := c.waits.slots[0]
		c.waits.removeAt(c, 0)
		c.calls[slot].stream.queued--
		c.requeue(slot)
	}
}
