package emulator

import "time"

// batchOther is a colleague who sends batches.
type batchOther struct {
	BatchColleague
	next time.Duration
}

func newBatchOther(c BatchColleague) batchOther {
	if c.Rows == 0 {
		c.Rows = 1000
	}
	if c.Every == 0 {
		c.Every = 10 * time.Minute
	}
	return batchOther{c, c.allow(c.From)}
}

func (c *BatchColleague) allow(at time.Duration) time.Duration {
	if c.Until > 0 && at >= c.Until {
		return Never
	}
	return at
}

// comeOthers takes the batches that colleagues send now. A full queue refuses
// theirs as it does ours, and they do not ask again.
func (q *batchQueue) comeOthers() {
	for i := range q.others {
		o := &q.others[i]
		if o.next > q.at {
			continue
		}
		o.next = o.allow(q.at + o.Every)
		org := &q.m.orgs[q.org]
		org.others.requests++
		if org.BatchQueue > 0 && q.waiting(q.at)+o.Rows > org.BatchQueue {
			org.others.refused++
			continue
		}
		b := q.newBatch(q.at, int(o.Rows), o.Rows*otherBytes)
		b.Other = true
		q.take(b)
	}
}

// otherBytes is a middling length of a row.
const otherBytes = 2000
