package flotilla

import "runtime"

// maxCommit is how many records one commit takes at most: 1000 rows cost the
// journal about 15 ms at the worst (facts/dependencies.md), which bounds how
// long an intent waits for its turn.
const maxCommit = 1000

// entry is one record on its way into the store and what follows once it is durable.
type entry struct {
	record  Record
	bare    bool            // there is no record: then waits for those before it
	send    *attempt        // an intent: the exchange may begin
	deliver *settlement     // an outcome: the result may be shown
	then    func(err error) // told whether all up to here is durable; must not block
}

// settlement is a result on its way to the source.
type settlement struct {
	stream *stream
	result Result
	size   int
	err    error // of the source that was given it
}

// done says that the result is no longer on its way. It must run in the loop.
func (s *settlement) done() {
	s.stream.owed--
	s.stream.undelivered -= s.size
}

// committer writes records in groups: as soon as the writer is idle it takes
// what has gathered. There is no timer, so a lone intent waits for nothing.
type committer struct {
	store   Store
	send    func(*attempt)
	deliver func(*settlement)
	drop    func(*settlement) // its outcome could not be kept: it is not shown
	failed  func(error)

	queue   *queue[entry]
	err     error
	records []Record
	done    chan struct{}
}

func newCommitter(store Store, send func(*attempt), deliver, drop func(*settlement), failed func(error)) *committer {
	c := &committer{store: store, send: send, deliver: deliver, drop: drop, failed: failed, queue: newQueue[entry](), done: make(chan struct{})}
	go c.run()
	return c
}

// put queues an entry. After a failure of the store an intent fails its attempt
// and an outcome is dropped, so that nothing is sent or shown that is not
// journaled.
func (c *committer) put(e entry) { c.queue.put(e) }

// close writes what is queued and ends the committer.
func (c *committer) close() {
	c.queue.close()
	<-c.done
}

func (c *committer) run() {
	defer close(c.done)
	var group []entry
	for {
		// Whoever can run goes first: on busy processors what they add makes
		// the group larger and commits fewer; on idle ones nobody is waiting.
		runtime.Gosched()
		group = c.queue.take(group[:0], maxCommit)
		if len(group) == 0 {
			return
		}
		c.write(group)
		clear(group)
	}
}

func (c *committer) write(group []entry) {
	if c.err == nil && c.store != nil {
		c.records = c.records[:0]
		for i := range group {
			if !group[i].bare {
				c.records = append(c.records, group[i].record)
			}
		}
		if len(c.records) > 0 {
			c.err = c.store.Append(c.records)
		}
		if c.err != nil {
			c.failed(c.err)
		}
		clear(c.records)
	}
	for i := range group {
		switch e := &group[i]; {
		case e.send != nil && c.err != nil:
			e.send.dropped = c.err
			c.send(e.send)
		case e.send != nil:
			c.send(e.send)
		case e.deliver != nil && c.err != nil:
			c.drop(e.deliver)
		case e.deliver != nil:
			c.deliver(e.deliver)
		case e.then != nil:
			e.then(c.err)
		}
	}
}

// deliverer hands a stream's results to its source, in the order in which they
// became durable, from a goroutine of its own, so that a slow output holds up
// neither commits nor other streams.
type deliverer struct {
	queue *queue[*settlement]
	give  func(*settlement)
}

func newDeliverer(give func(*settlement)) *deliverer {
	return &deliverer{queue: newQueue[*settlement](), give: give}
}

func (d *deliverer) put(s *settlement) { d.queue.put(s) }

// close ends the deliverer once its queue is empty.
func (d *deliverer) close() { d.queue.close() }

func (d *deliverer) run() {
	var batch []*settlement
	for {
		batch = d.queue.take(batch[:0], maxCommit)
		if len(batch) == 0 {
			return
		}
		for _, s := range batch {
			d.give(s)
		}
		clear(batch)
	}
}
