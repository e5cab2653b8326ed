package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// End gives the job back: state is Finished or Stopped, totals whatever the
// caller wants to read again later (the run's summary), as JSON; nil leaves
// them. Intents still open (a second Ctrl-C) become in doubt.
func (job *Job) End(ctx context.Context, state string, totals any) error {
	_ = ctx // an end is written even when the run was cancelled
	text := []byte(nil)
	if totals != nil {
		var err error
		if text, err = json.Marshal(totals); err != nil {
			return fmt.Errorf("journal: end job %s: %w", job.Key, err)
		}
	}
	if job.book == nil {
		return fmt.Errorf("journal: end job %s: %w", job.Key, errPeeked)
	}
	j := job.j
	err := j.write("end job "+job.Key, func() error { return job.end(state, text) })
	if err != nil {
		return err
	}
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	delete(j.books, job.ID)
	return nil
}

func (job *Job) end(state string, totals []byte) error {
	l := job.j.w
	if err := job.j.writeDurable(job.book); err != nil {
		return err
	}
	if err := job.j.closeRun(job.book.run, false); err != nil {
		return err
	}
	_, err := l.exec("UPDATE job SET state = ?, ended = ?, totals = CASE WHEN ? = '' THEN totals ELSE ? END WHERE id = ?",
		state, job.j.opt.Now().UnixNano(), string(totals), string(totals), job.ID)
	return err
}

// Out names the file that this job's lines go to and reads how many bytes of it
// are known to be whole and durable; 0: nothing is known.
func (job *Job) Out(ctx context.Context, path string) (durable int64, err error) {
	err = job.j.read(ctx, "read the state of "+path, func(l *link) (err error) {
		durable, err = l.number("SELECT durable FROM out WHERE job = ? AND path = ?", job.ID, path)
		return err
	})
	if job.book == nil {
		return durable, err
	}
	job.j.w.mu.Lock()
	defer job.j.w.mu.Unlock()
	job.book.out, job.book.durable = path, durable
	return durable, err
}

// Wrote says that the first durable bytes of OUT are on disk. It is written
// with the next records, or by End: a crash before makes a resume read a
// longer tail, nothing worse.
func (job *Job) Wrote(durable int64) {
	job.j.w.mu.Lock()
	defer job.j.w.mu.Unlock()
	job.book.durable, job.book.stale = durable, true
}

func (j *Journal) writeDurable(b *book) error {
	if !b.stale || b.out == "" {
		return nil
	}
	_, err := j.w.exec("INSERT INTO out(job, path, durable) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET durable = excluded.durable",
		b.job, b.out, b.durable)
	b.stale = err != nil
	return err
}

// Spent is what the job cost over all its invocations, this one's open intents,
// everything in doubt and the rows still in batches at their worst case.
func (job *Job) Spent(ctx context.Context) (spent flotilla.Money, err error) {
	err = job.j.read(ctx, "sum the money of job "+job.Key, func(l *link) (err error) {
		spent, err = spentOf(l, job.ID)
		return err
	})
	return spent, err
}

func spentOf(l *link, job int64) (flotilla.Money, error) {
	n, err := l.number("SELECT sum(s.spent + s.open + s.held) FROM run r JOIN spend s ON s.run = r.id WHERE r.job = ?", job)
	return flotilla.Money(n), err
}

// Grant is [Journal.Grant] for this job.
func (job *Job) Grant(ctx context.Context, at time.Time, want, limit flotilla.Money) (Allowance, error) {
	return job.j.Grant(ctx, job.ID, at, want, limit)
}

// Signal is [Journal.Signals] for this job.
func (job *Job) Signal(ctx context.Context) (Signal, error) { return job.j.Signals(ctx, job.ID) }
