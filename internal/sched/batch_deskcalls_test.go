package sched

import "time"

// ended says that a batch is through, at the provider.
func (b *deskBatch) ended(now time.Duration) bool { return b.made && now >= b.ends }

// create draws what becomes of a create: of some nobody but the desk knows
// whether they were carried out.
func (d *desk) create(a *SubmitBatch) {
	b := d.begin(a.Batch)
	if b.made || !b.intended || !b.gathered {
		d.fatal("batch %d is created, made %v, intended %v", a.Batch, b.made, b.intended)
	}
	own := b.rows
	for _, x := range d.batches {
		if x.made && !x.gone && !x.tried && !x.ended(d.now) && d.lanes[x.lane].Org == d.lanes[b.lane].Org {
			own += x.rows
		}
	}
	if own > queueShare*deskQueue {
		d.fatal("%d rows in the queue of an org with batch %d", own, a.Batch)
	}
	id := a.Batch
	if d.refuse != nil {
		if no := d.refuse(a); no != nil {
			no.Batch = id
			d.answer(b, func() Event { return no })
			return
		}
	}
	switch {
	case d.mistake || d.chance(.1): // the answer is lost
		d.make(b)
		d.answer(b, func() Event { return &BatchFailed{Batch: id, Failure: Reset} })
	case d.chance(.1): // the request is lost
		d.answer(b, func() Event { return &BatchFailed{Batch: id, Failure: Timeout} })
	case d.chance(.1):
		d.answer(b, func() Event { return &BatchFailed{Batch: id, Failure: NotSent} })
	case d.chance(.1): // an error of the server, after the batch was made or not
		if d.rng.IntN(2) == 0 {
			d.make(b)
		}
		d.answer(b, func() Event { return &BatchRefused{Batch: id, Refusal: Refusal{Class: ServerError}} })
	case d.chance(.2):
		rf := Refusal{Class: []Class{RateLimited, QueueFull, Daily}[d.rng.IntN(3)], RetryAfter: time.Duration(d.rng.IntN(30)) * time.Second}
		d.answer(b, func() Event { return &BatchRefused{Batch: id, Refusal: rf} })
	default:
		d.make(b)
		d.answer(b, func() Event {
			b.sure = true
			return &BatchCreated{Batch: id, Sure: true}
		})
	}
}

// make lets the provider have a batch. What it takes differs by a half.
func (d *desk) make(b *deskBatch) {
	b.made, b.created, b.ends = true, d.now, Never
	if d.rate > 0 {
		b.ends = d.now + time.Duration((30+float64(b.rows)/d.rate)*(0.7+0.6*d.rng.Float64())*1e9)
	}
}

func (d *desk) find(id BatchID) {
	b := d.begin(id)
	d.answer(b, func() Event {
		switch {
		case d.chance(.2):
			return &BatchAbsent{Batch: id}
		case d.mistake && !b.tried || d.chance(.1): // of the same size and time, but somebody else's
			b.foreign, b.tried = true, true
			return &BatchCreated{Batch: id}
		case b.made:
			b.foreign = false
			return &BatchCreated{Batch: id}
		}
		return &BatchAbsent{Batch: id, Asked: true}
	})
}

func (d *desk) poll(id BatchID) {
	b := d.begin(id)
	if !b.made && !b.foreign {
		d.fatal("batch %d is polled and was never made", id)
	}
	d.answer(b, func() Event { return d.seen(id, b) })
}

// seen is what a poll or a cancel answers.
func (d *desk) seen(id BatchID, b *deskBatch) *BatchPolled {
	e := &BatchPolled{Batch: id}
	switch {
	case d.chance(.1):
		e.State = BatchMissing
	case d.chance(.1):
		e.State = BatchUnknown
	case d.chance(.1):
		e.State, e.Refusal = BatchUnknown, &Refusal{Class: []Class{RateLimited, Overloaded, Auth}[d.rng.IntN(3)], RetryAfter: 5 * time.Second}
	case b.foreign || b.ended(d.now):
		e.State = BatchEnded
	case b.canceled:
		e.State = BatchCanceling
	}
	return e
}

func (d *desk) cancel(id BatchID) {
	b := d.begin(id)
	if !b.sure || b.foreign {
		d.fatal("batch %d is canceled and not proven ours", id)
	}
	if at, again := d.deaf[id]; d.deaf != nil && !again {
		d.deaf[id] = d.now
		d.answer(b, func() Event {
			return &BatchPolled{Batch: id, State: BatchUnknown, Refusal: &Refusal{Class: ServerError}}
		})
		return
	} else if again && d.now-at > 2*time.Minute {
		d.fatal("batch %d is canceled again %v after the first time was lost", id, d.now-at)
	}
	if !d.chance(.1) && !b.ended(d.now) {
		b.canceled = true
		b.ends = min(b.ends, d.now+time.Duration(10+d.rng.IntN(60))*time.Second)
	}
	d.answer(b, func() Event { return d.seen(id, b) })
}

func (d *desk) collect(id BatchID) {
	b := d.begin(id)
	if !b.foreign && !b.ended(d.now) {
		d.fatal("batch %d is collected and has not ended", id)
	}
	d.answer(b, func() Event {
		switch {
		case d.chance(.2):
			return &BatchUncollected{Batch: id}
		case b.foreign:
			b.foreign = false
			return &BatchCollected{Batch: id, Foreign: true}
		}
		b.gone = true
		done := b.rows
		if b.canceled {
			done = int64(d.rng.Float64() * float64(b.rows))
		}
		doubt := int64(0)
		if d.chance(.1) {
			doubt = deskWorst
			done = max(0, done-1)
		}
		d.settled += done
		d.free += b.rows - done
		return &BatchCollected{
			Batch: id, Succeeded: done, Back: b.rows - done, Canceled: b.rows - done, Cost: done * deskCost,
			Doubt: min(doubt, (b.rows-done)*deskWorst), Usage: Usage{Input: 100 * done, Output: 20 * done},
		}
	})
}

func (d *desk) release(a *ReleaseBatch) {
	b := d.of(a.Batch)
	if b.made && !a.Lost {
		d.fatal("batch %d was made and its rows go again", a.Batch)
	}
	if b.calling {
		d.fatal("batch %d is released in the middle of a call", a.Batch)
	}
	b.gone = true
	d.free += b.rows
	d.reserved -= b.worst
	if a.Lost {
		d.spent += b.worst
	}
}

// adopt takes over a batch of an earlier run, as a journal may hold one: made
// or perhaps not, proven or not, its end asked for or not.
func (d *desk) adopt() {
	d.last++
	rows := 1 + d.rng.Int64N(max(1, d.free/2))
	b := &deskBatch{lane: 1, rows: rows, worst: rows * deskWorst, gathered: true, intended: true}
	a := &AdoptBatch{Lane: 1, Rows: rows, Bytes: 300 * rows, Worst: b.worst, Known: d.rng.IntN(3) > 0}
	a.CreatedAt = d.now - time.Duration(d.rng.Int64N(int64(26*time.Hour)))
	if a.Known || d.rng.IntN(2) == 0 {
		d.make(b)
		b.sure = a.Known && d.rng.IntN(2) == 0
		a.Sure = b.sure
	}
	if a.Canceling = a.Sure && d.rng.IntN(2) == 0; a.Canceling {
		b.canceled, b.ends = true, min(b.ends, d.now+time.Minute)
	}
	d.free -= rows
	d.reserved += b.worst
	d.batches[d.last] = b
	d.step(a)
}
