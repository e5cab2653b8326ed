package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ClientBatch is a Message Batch that a client of the gateway created. Times that
// are zero have not come.
type ClientBatch struct {
	ID     string // msgbatch_…
	Client string
	Realm  Realm  // whose answers it is to have: no other provider may carry it on
	Job    int64  // that carries it; 0: not begun
	Spool  string // file of its requests
	N      int    // requests

	Created         time.Time
	Expires         time.Time // its rows settle as expired then
	Ended           time.Time
	CancelInitiated time.Time
	Deleted         time.Time
	Archived        time.Time // its results are gone

	Counts BatchCounts // once it has ended

	// What its create asked for, in its headers.
	Prefer   string // empty: nothing
	Priority string // empty: nothing
	Weight   float64
	Deadline time.Time // zero: none
	Version  string    // anthropic-version
	Betas    []string  // anthropic-beta
}

// BatchCounts are the requests of a batch by how they ended.
type BatchCounts struct{ Succeeded, Errored, Canceled, Expired int }

// PutClientBatch keeps a batch, in place of what is kept of its ID, and is
// durable when it returns.
func (j *Journal) PutClientBatch(ctx context.Context, b ClientBatch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write("keep batch "+b.ID, func() error { return j.putClientBatch(&b) })
}

// ErrNoBatch is the error of [Journal.ChangeClientBatch] where nothing is kept
// of the ID.
var ErrNoBatch = errors.New("the journal knows no such batch")

// ChangeClientBatch reads what is kept of a batch, lets it be changed, and keeps
// what change made of it where change says that it did anything: in one
// transaction, so that no other process changes it meanwhile and no change is
// lost. It is durable when it returns, and gives the batch as it is then. change
// is called with the journal held: it must be quick, and ask the journal
// nothing. The error is ErrNoBatch where nothing is kept of the ID.
func (j *Journal) ChangeClientBatch(ctx context.Context, id string, change func(*ClientBatch) bool) (b ClientBatch, err error) {
	if err := ctx.Err(); err != nil {
		return b, err
	}
	err = j.write("change batch "+id, func() error {
		list, err := clientBatchesOf(j.w, "id = ?", id)
		if err == nil && len(list) == 0 {
			err = ErrNoBatch
		}
		if err != nil {
			return err
		}
		if b = list[0]; !change(&b) {
			return nil
		}
		return j.putClientBatch(&b)
	})
	return b, err
}

func (j *Journal) putClientBatch(b *ClientBatch) error {
	betas, err := json.Marshal(b.Betas)
	if err != nil {
		return err
	}
	c := &b.Counts
	_, err = j.w.exec(`INSERT INTO client_batch(id, client, provider, emulated, job, spool, n, created, expires, ended, canceling, deleted, archived,
			succeeded, errored, canceled, expired, prefer, priority, weight, deadline, version, betas)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT(id) DO UPDATE SET client = excluded.client, provider = excluded.provider, emulated = excluded.emulated, job = excluded.job,
			spool = excluded.spool, n = excluded.n, created = excluded.created, expires = excluded.expires, ended = excluded.ended,
			canceling = excluded.canceling, deleted = excluded.deleted, archived = excluded.archived, succeeded = excluded.succeeded,
			errored = excluded.errored, canceled = excluded.canceled, expired = excluded.expired, prefer = excluded.prefer,
			priority = excluded.priority, weight = excluded.weight, deadline = excluded.deadline, version = excluded.version, betas = excluded.betas`,
		b.ID, b.Client, b.Realm.Provider, b.Realm.Emulated, b.Job, b.Spool, b.N, nanos(b.Created), nanos(b.Expires), nanos(b.Ended),
		nanos(b.CancelInitiated), nanos(b.Deleted), nanos(b.Archived), c.Succeeded, c.Errored, c.Canceled, c.Expired,
		b.Prefer, b.Priority, b.Weight, nanos(b.Deadline), b.Version, string(betas))
	return err
}

// ClientBatch reads what is kept of a batch, deleted ones too; found is false
// where nothing is.
func (j *Journal) ClientBatch(ctx context.Context, id string) (b ClientBatch, found bool, err error) {
	list, err := j.clientBatches(ctx, "id = ?", id)
	if len(list) > 0 {
		b = list[0]
	}
	return b, len(list) > 0, err
}

// ClientBatches lists the batches of a client, or of all where client is empty,
// deleted ones too, the newest first.
func (j *Journal) ClientBatches(ctx context.Context, client string) ([]ClientBatch, error) {
	return j.clientBatches(ctx, "?1 = '' OR client = ?1", client)
}

func (j *Journal) clientBatches(ctx context.Context, where, arg string) (list []ClientBatch, err error) {
	err = j.readOne(ctx, "read batches of clients", func(l *link) (err error) {
		list, err = clientBatchesOf(l, where, arg)
		return err
	})
	return list, err
}

func clientBatchesOf(l *link, where, arg string) (list []ClientBatch, err error) {
	err = l.each(func(rows *sql.Rows) error {
		var b ClientBatch
		err := b.scan(rows)
		list = append(list, b)
		return err
	}, `SELECT id, client, provider, emulated, job, spool, n, created, expires, ended, canceling, deleted, archived,
		succeeded, errored, canceled, expired, prefer, priority, weight, deadline, version, betas FROM client_batch WHERE `+where+" ORDER BY seq DESC", arg)
	return list, err
}

func (b *ClientBatch) scan(rows *sql.Rows) error {
	var created, expires, ended, canceling, deleted, archived, deadline int64
	var betas string
	c := &b.Counts
	err := rows.Scan(&b.ID, &b.Client, &b.Realm.Provider, &b.Realm.Emulated, &b.Job, &b.Spool, &b.N, &created, &expires, &ended, &canceling, &deleted, &archived,
		&c.Succeeded, &c.Errored, &c.Canceled, &c.Expired, &b.Prefer, &b.Priority, &b.Weight, &deadline, &b.Version, &betas)
	if err != nil {
		return err
	}
	b.Created, b.Expires, b.Ended = timeOf(created), timeOf(expires), timeOf(ended)
	b.CancelInitiated, b.Deleted, b.Archived, b.Deadline = timeOf(canceling), timeOf(deleted), timeOf(archived), timeOf(deadline)
	return json.Unmarshal([]byte(betas), &b.Betas)
}

// ClientBatchError says that a client of the gateway may still ask for a job's
// answers.
type ClientBatchError struct {
	Job    string // its short id
	Batch  string // the client's
	Client string
}

func (e *ClientBatchError) Error() string {
	return fmt.Sprintf("job %s carries batch %s of client %q", e.Job, e.Batch, e.Client)
}

// clientBatch refuses the removal of a job whose answers a client may ask for,
// or, where the job is given up, says that they are gone.
func (r *removal) clientBatch() error {
	l := r.j.w
	if r.abandon {
		_, err := l.exec("UPDATE client_batch SET archived = ? WHERE job = ? AND archived = 0", max(r.j.opt.Now().UnixNano(), 1), r.job)
		return err
	}
	var live []ClientBatchError
	err := l.each(func(rows *sql.Rows) error {
		var e ClientBatchError
		err := rows.Scan(&e.Job, &e.Batch, &e.Client)
		live = append(live, e)
		return err
	}, "SELECT j.key, b.id, b.client FROM client_batch b JOIN job j ON j.id = b.job WHERE b.job = ? AND b.deleted = 0 AND b.archived = 0", r.job)
	if err == nil && len(live) > 0 {
		err = &live[0]
	}
	return err
}
