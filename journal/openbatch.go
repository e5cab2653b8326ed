package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// openBatch is a batch that is not closed, as the tables have it.
type openBatch struct {
	batch
	org, orgID, pool, name string
	at, bytes              int64
	sent                   int
	sure, canceling        bool
}

// openBatches reads the open batches of a job, the oldest first, with the rows
// that have come back of each.
func openBatches(l *link, job int64) ([]openBatch, error) {
	var open []openBatch
	lowAttempt, lowOutcome := int64(1<<62), int64(1<<62)
	err := l.each(func(rows *sql.Rows) error {
		var o openBatch
		var packed []byte
		var attempt, outcome, held int64
		err := rows.Scan(&o.id, &o.number, &o.run, &o.day, &o.lane, &held, &o.won, &packed, &attempt, &outcome,
			&o.org, &o.pool, &o.orgID, &o.name, &o.at, &o.bytes, &o.sent, &o.sure, &o.canceling)
		if err != nil {
			return err
		}
		t := newBatch(nil)
		if t.rows, err = unpackRows(packed); err != nil {
			return err
		}
		t = newBatch(t.rows)
		t.id, t.number, t.due, t.lane, t.held, t.won = o.id, o.number, o.due, o.lane, flotilla.Money(held), o.won
		o.batch = t
		lowAttempt, lowOutcome = min(lowAttempt, attempt), min(lowOutcome, outcome)
		open = append(open, o)
		return nil
	}, `SELECT b.id, b.number, b.run, b.day, b.lane, b.held, b.won, b.rows, b.low_attempt, b.low_outcome, l.org, l.pool,
			(SELECT text FROM word WHERE id = b.orgid), b.name, b.at, b.bytes, b.sent, b.sure, b.canceling
		FROM batch b JOIN lane l ON l.id = b.lane WHERE b.job = ? AND b.closed = 0 ORDER BY b.id`, job)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	return open, endRows(l, job, open, lowAttempt, lowOutcome)
}

// endRows marks the rows that have come back: all that came since the first of
// the batches was sent are looked at once.
func endRows(l *link, job int64, open []openBatch, lowAttempt, lowOutcome int64) error {
	byID := make(map[int64]*batch, len(open))
	for i := range open {
		byID[open[i].id] = &open[i].batch
	}
	return l.each(func(rows *sql.Rows) error {
		var attempt int64
		var row int
		err := rows.Scan(&attempt, &row)
		if t := byID[-attempt]; err == nil && t != nil {
			t.end(row)
		}
		return err
	}, `SELECT attempt, row FROM attempt WHERE id > ?2 AND job = ?1 AND attempt < 0
		UNION ALL SELECT attempt, row FROM outcome WHERE id > ?3 AND job = ?1 AND attempt < 0`, job, lowAttempt, lowOutcome)
}

// Batches are the job's batches that are not closed, for flotilla's
// Options.Batches: their rows are those that have no outcome or attempt of the
// batch yet.
func (job *Job) Batches(ctx context.Context) ([]flotilla.OpenBatch, error) {
	var list []flotilla.OpenBatch
	err := job.j.read(ctx, "read the open batches of job "+job.Key, func(l *link) error {
		open, err := openBatches(l, job.ID)
		for i := range open {
			list = append(list, open[i].export())
			list[i].Earlier = job.book == nil || open[i].run != job.book.run
		}
		return err
	})
	return list, err
}

func (o *openBatch) export() flotilla.OpenBatch {
	e := flotilla.OpenBatch{
		Number: o.number, ID: o.name, Sure: o.sure, Org: o.org, OrgID: o.orgID, Pool: o.pool,
		Rows: make([]int, 0, o.left), Sent: o.sent, Bytes: o.bytes, Worst: o.held, At: time.Unix(0, o.at), Canceling: o.canceling,
	}
	for row := range o.out {
		e.Rows = append(e.Rows, row)
	}
	return e
}

// BatchInfo is an open batch as a whole: one that may run, and cost, at the
// provider while no process looks after it.
type BatchInfo struct {
	Job       int64
	Key       string // of the job, for people; empty: of none
	Realm     Realm
	Number    int64  // of its intent
	ID        string // the provider's; empty: not known
	Org       string
	OrgID     string // the API's id of the org; empty: unknown
	Pool      string
	Rows      int // still to come back
	Sent      int // it was made of
	Bytes     int64
	At        time.Time      // of the intent, on the clock of the records
	Worst     flotilla.Money // still reserved
	Sure      bool           // proven ours
	Canceling bool           // its end was asked for
	Held      bool           // a live process has its job
}

// OpenBatches lists the batches of all jobs that are not closed, the oldest
// first.
func (j *Journal) OpenBatches(ctx context.Context) ([]BatchInfo, error) {
	var list []BatchInfo
	err := j.read(ctx, "list open batches", func(l *link) error {
		err := l.each(func(rows *sql.Rows) error {
			var o BatchInfo
			var at int64
			err := rows.Scan(&o.Job, &o.Key, &o.Realm.Provider, &o.Realm.Emulated, &o.Number, &o.ID, &o.Org, &o.OrgID, &o.Pool,
				&o.Rows, &o.Sent, &o.Bytes, &at, &o.Worst, &o.Sure, &o.Canceling)
			o.At = time.Unix(0, at)
			list = append(list, o)
			return err
		}, `SELECT b.job, coalesce(j.key, ''), coalesce(j.provider, ''), coalesce(j.emulated, ''), b.number, b.name, l.org,
				(SELECT text FROM word WHERE id = b.orgid), l.pool, b.due, b.sent, b.bytes, b.at, b.held, b.sure, b.canceling
			FROM batch b JOIN lane l ON l.id = b.lane LEFT JOIN job j ON j.id = b.job WHERE b.closed = 0 ORDER BY b.id`)
		for i := range list {
			if err == nil {
				var holder *Holder
				holder, err = j.holder(l, list[i].Job)
				list[i].Held = holder != nil
			}
		}
		return err
	})
	return list, err
}
