package journal

import (
	"context"

	"github.com/flotilla-llm/flotilla"
)

// NextRow is the number that the next row of a job that grows is to have: none
// of its outcomes or attempts has it or a larger one.
func (job *Job) NextRow(ctx context.Context) (next int, err error) {
	err = job.j.read(ctx, "read how many rows job "+job.Key+" has", func(l *link) error {
		n, err := l.number("SELECT n FROM job WHERE id = ?", job.ID)
		next = int(n)
		return err
	})
	return next, err
}

// writeRows notes how many rows a job that grows has by now.
func (j *Journal) writeRows(b *book) error {
	if !b.grows || b.rows == 0 {
		return nil
	}
	_, err := j.w.exec("UPDATE job SET n = ?1 WHERE id = ?2 AND n < ?1", b.rows, b.job)
	return err
}

// SetCap leaves word for the process that runs a job of what it may spend at
// most, over all its invocations: 0 takes the cap away, negative allows nothing
// more. The next Begin of a command's job forgets it; the jobs of a gateway keep
// it.
func (j *Journal) SetCap(ctx context.Context, job int64, limit flotilla.Money) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write("cap the job", func() error {
		n, err := j.w.exec("UPDATE job SET cap = ? WHERE id = ?", int64(limit), job)
		if err == nil && n == 0 {
			err = noJob(job)
		}
		return err
	})
}

// Cap is what [Journal.SetCap] was last told of the job; given is false where it
// was not. It is one look-up by number, as [Job.Signal] is.
func (job *Job) Cap(ctx context.Context) (limit flotilla.Money, given bool, err error) {
	return job.j.CapOf(ctx, job.ID)
}

// CapOf is [Job.Cap] of a job that need not be ours.
func (j *Journal) CapOf(ctx context.Context, job int64) (limit flotilla.Money, given bool, err error) {
	err = j.readOne(ctx, "read the cap of the job", func(l *link) error {
		return l.one([]any{&limit, &given}, "SELECT coalesce(cap, 0), cap IS NOT NULL FROM job WHERE id = ?", job)
	})
	return limit, given, err
}
