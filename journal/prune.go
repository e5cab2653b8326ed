package journal

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// removing is the state of a job whose removal has begun; nothing finds it but
// a removal that finishes the work.
const removing = "removing"

// removeRows bounds one transaction of a removal, so that other processes wait
// for a fraction of a second and not for the job's size.
const removeRows = 10_000

// Prune removes the jobs that ended before a time, are not held, have no open
// batches and carried none that a gateway's client may ask for, and says how many.
// What they cost stays in the sums of their days. Nothing but a person's wish calls
// it.
func (j *Journal) Prune(ctx context.Context, before time.Time) (int, error) {
	jobs, err := j.Jobs(ctx, time.Time{})
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range jobs {
		if job := &jobs[i]; job.Holder == nil && job.Batches == 0 && !job.Ended.IsZero() && job.Ended.Before(before) {
			err := j.Remove(ctx, job.ID)
			var live *ClientBatchError
			if errors.As(err, &live) {
				continue
			}
			if err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// Remove removes a job with its intents, attempts, outcomes and those answers
// that no other job has from the cache. The error is a *HeldError when a live
// process has it, an *OpenBatchesError when it has batches that are not closed, a
// *ClientBatchError when a client may ask for its answers: see [Journal.Abandon].
// Interrupted, it is finished by another Remove or Prune. The file keeps its size,
// see [Journal.Compact].
func (j *Journal) Remove(ctx context.Context, job int64) error {
	return j.remove(ctx, removal{j: j, job: job})
}

// Abandon is Remove of a job even where it has open batches, or a client may ask
// for its answers: nobody will ask for the results of the first, and what is
// reserved for them stays spent, of their days; those of the second are archived.
func (j *Journal) Abandon(ctx context.Context, job int64) error {
	return j.remove(ctx, removal{j: j, job: job, abandon: true})
}

func (j *Journal) remove(ctx context.Context, r removal) error {
	if err := r.step(ctx, r.begin); err != nil {
		return err
	}
	for r.from < r.to {
		if err := r.step(ctx, r.window); err != nil {
			return err
		}
	}
	return r.step(ctx, r.finish)
}

// removal is a job's rows on their way out, from the oldest ids up.
type removal struct {
	j        *Journal
	job      int64
	abandon  bool  // its open batches too
	from, to int64 // ids of intents, attempts and outcomes still to look at
}

func (r *removal) step(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.j.write(fmt.Sprintf("remove job %d", r.job), fn)
}

// begin takes the job out of everybody's sight: from here on nobody begins it
// or takes answers of it from the cache.
func (r *removal) begin() error {
	j := r.j
	if err := j.reap(); err != nil {
		return err
	}
	if err := j.free(r.job, fmt.Sprint(r.job)); err != nil {
		return err
	}
	if err := r.batches(); err != nil {
		return err
	}
	if err := r.clientBatch(); err != nil {
		return err
	}
	n, err := j.w.exec("UPDATE job SET state = ?, identity = x'', ended = coalesce(ended, created) WHERE id = ?", removing, r.job)
	if err == nil && n == 0 {
		err = noJob(r.job)
	}
	if err != nil {
		return err
	}
	at, err := j.sequences()
	if err != nil {
		return err
	}
	r.to = max(at.intent, at.attempt, at.outcome)
	return r.keep()
}

// batches refuses a job with open ones, or gives them up.
func (r *removal) batches() error {
	l := r.j.w
	if !r.abandon {
		open := OpenBatchesError{}
		err := l.one([]any{&open.Job, &open.Batches, &open.Rows},
			"SELECT coalesce((SELECT key FROM job WHERE id = ?1), ''), count(*), coalesce(sum(due), 0) FROM batch WHERE job = ?1 AND closed = 0", r.job)
		if err == nil && open.Batches > 0 {
			return &open
		}
		return err
	}
	if _, err := l.exec("UPDATE spend SET spent = spent + held, held = 0 WHERE run IN (SELECT id FROM run WHERE job = ?)", r.job); err != nil {
		return err
	}
	_, err := l.exec("DELETE FROM batch WHERE job = ?", r.job)
	return err
}

// keep notes which answers others have from the cache. It is done once: no more
// come to them, since nobody sees the job.
func (r *removal) keep() error {
	for _, query := range []string{
		"CREATE TEMP TABLE IF NOT EXISTS kept(id INTEGER PRIMARY KEY)",
		"DELETE FROM kept",
	} {
		if _, err := r.j.w.conn.ExecContext(always, query); err != nil {
			return err
		}
	}
	_, err := r.j.w.exec("INSERT OR IGNORE INTO kept SELECT answer FROM outcome WHERE cached = 1 AND job <> ?", r.job)
	return err
}

// window removes what has its id in the next removeRows. An answer stays when
// its outcome is another job's, or another job has it from the cache.
func (r *removal) window() error {
	to := r.from + removeRows
	for _, query := range []string{
		`DELETE FROM answer WHERE id IN (
			SELECT o.answer FROM outcome o LEFT JOIN outcome owner ON owner.id = o.answer
			WHERE o.id > ?1 AND o.id <= ?2 AND o.job = ?3 AND coalesce(owner.job, ?3) = ?3
				AND o.answer NOT IN (SELECT id FROM kept))`,
		"DELETE FROM outcome WHERE id > ?1 AND id <= ?2 AND job = ?3",
		"DELETE FROM attempt WHERE id > ?1 AND id <= ?2 AND job = ?3",
		"DELETE FROM intent WHERE id > ?1 AND id <= ?2 AND run IN (SELECT id FROM run WHERE job = ?3)",
	} {
		if _, err := r.j.w.exec(query, r.from, to, r.job); err != nil {
			return err
		}
	}
	r.from = to
	return nil
}

func (r *removal) finish() error {
	for _, query := range []string{
		"DELETE FROM clearance WHERE job = ?",
		"DELETE FROM out WHERE job = ?",
		"DELETE FROM batch WHERE job = ?",
		"DELETE FROM block WHERE job = ?",
		"DELETE FROM job WHERE id = ?",
	} {
		if _, err := r.j.w.exec(query, r.job); err != nil {
			return err
		}
	}
	return nil
}

// Compact gives the room of what was removed back to the file system. It needs
// as much free disk as the journal is large, and all others wait meanwhile.
func (j *Journal) Compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	if j.shut.Load() {
		return ErrClosed
	}
	_, err := j.w.conn.ExecContext(always, "VACUUM")
	return classify("compact", j.path, err)
}
