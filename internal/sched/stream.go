package sched

import (
	"slices"
	"time"
)

// stream is a job, or a class of gateway callers.
type stream struct {
	id StreamID
	StreamConfig
	queues []*queue

	exhausted, paused, closed bool

	offered, settled int64
	queued, flying   int     // calls not in flight; attempts in flight
	vtime            float64 // weighted work served, for fair queueing

	out     mean // output tokens of its answers
	err     mean // input tokens over their estimate, minus 1
	err2    mean // its square
	cost    mean // nano-dollars of an answer
	spent   int64
	charged int64 // to its ledgers: answers, failures and batches

	bat *streamBatches // nil: it never batched

	hedges int64
	lookAt time.Duration // not before, for one to hedge
}

func (c *Core) addStream(cfg StreamConfig) {
	if cfg.Weight <= 0 {
		cfg.Weight = 1
	}
	cfg.Priority = min(cfg.Priority, NumPriorities-1)
	cfg.Ledgers = slices.DeleteFunc(slices.Clone(cfg.Ledgers), func(id LedgerID) bool { return id < 0 })
	s := &stream{id: c.nextID, StreamConfig: cfg}
	c.nextID++
	if cfg.Route.Batch {
		s.batchState()
	}
	c.streams = append(c.streams, s)
	c.of[s.id] = s
}

// sendable says whether the stream may send at all now.
func (s *stream) sendable(now time.Duration) bool {
	return !s.paused && !s.closed && (s.Deadline <= 0 || now < s.Deadline)
}

func (c *Core) closeStream(id StreamID) {
	s := c.stream(id)
	if s == nil || s.closed {
		return
	}
	s.closed = true
	c.closing = append(c.closing, s)
	for _, q := range s.queues {
		c.drop(q)
	}
	c.dropAside(s)
	for i := range c.calls {
		if k := &c.calls[i]; k.stream == s {
			if k.state == callWaiting {
				c.unqueue(int32(i))
				c.freeCall(int32(i))
			} else {
				k.dropped = true
			}
		}
	}
}

// forgetStreams frees the closed streams of which nothing is left: a core may
// live for weeks and see many jobs.
func (c *Core) forgetStreams() {
	c.closing = slices.DeleteFunc(c.closing, func(s *stream) bool {
		if s.flying > 0 || slices.ContainsFunc(c.bat.live, func(b *batch) bool { return b.stream == s }) {
			return false
		}
		for _, q := range s.queues {
			q.pool.queues = slices.DeleteFunc(q.pool.queues, func(o *queue) bool { return o == q })
		}
		delete(c.of, s.id)
		c.streams = slices.DeleteFunc(c.streams, func(o *stream) bool { return o == s })
		return true
	})
}

// expectOut is what a call will probably answer, in tokens: what it says
// itself, else what its stream's calls answered, else all it may.
func (s *stream) expectOut(it *item) float64 {
	most := float64(it.maxOut)
	switch {
	case it.out > 0:
		return min(float64(it.out), max(most, 1))
	case s.out.n > 0:
		return min(s.out.v, most)
	}
	return most
}

// Work of a call in the fair queueing of streams: its tokens, and something
// for the request itself.
func work(it *item, out float64) float64 { return 1000 + float64(it.in) + out }

// mean is an exponentially weighted mean that starts as a plain one.
type mean struct {
	v float64
	n float64
}

// add takes a sample in; memory is about how many samples it averages.
func (m *mean) add(x, memory float64) {
	if m.n < memory {
		m.n++
	}
	m.v += (x - m.v) / m.n
}
