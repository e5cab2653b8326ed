package sched

// The outbox's slices for batches. They are few, so each is its own value.

func (o *outbox) gather(a Gather)           { o.acts = append(o.acts, &a) }
func (o *outbox) release(a ReleaseBatch)    { o.acts = append(o.acts, &a) }
func (o *outbox) find(a FindBatch)          { o.acts = append(o.acts, &a) }
func (o *outbox) poll(a PollBatch)          { o.acts = append(o.acts, &a) }
func (o *outbox) cancelBatch(a CancelBatch) { o.acts = append(o.acts, &a) }
func (o *outbox) collect(a CollectBatch)    { o.acts = append(o.acts, &a) }
func (o *outbox) list(a ListBatches)        { o.acts = append(o.acts, &a) }

func (o *outbox) submit(p *PersistBatch, s SubmitBatch) {
	if p != nil {
		o.acts = append(o.acts, p)
	}
	o.acts = append(o.acts, &s)
}
