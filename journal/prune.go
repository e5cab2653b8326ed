package journal

import (
	"context"
	"fmt"
	"time"
)

// Prune removes the jobs that ended before a time and are not held, and says
// how many. What they cost stays in the sums of their days. Nothing but a
// person's wish calls it.
func (j *Journal) Prune(ctx context.Context, before time.Time) (int, error) {
	jobs, err := j.Jobs(ctx, time.Time{})
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range jobs {
		if job := &jobs[i]; job.Holder == nil && !job.Ended.IsZero() && job.Ended.Before(before) {
			if err := j.Remove(ctx, job.ID); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// Remove removes a job with its intents, attempts, outcomes and those answers
// that no other job has from the cache. The error is a *HeldError when a live
// process has it. The file keeps its size, see [Journal.Compact].
func (j *Journal) Remove(ctx context.Context, job int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write(fmt.Sprintf("remove job %d", job), func() error {
		if err := j.reap(); err != nil {
			return err
		}
		if err := j.free(job, fmt.Sprint(job)); err != nil {
			return err
		}
		return j.remove(job)
	})
}

func (j *Journal) remove(job int64) error {
	for _, query := range []string{
		`DELETE FROM answer WHERE id IN (SELECT answer FROM outcome WHERE job = ?1)
			AND id NOT IN (SELECT answer FROM outcome WHERE job <> ?1 AND cached = 1)`,
		"DELETE FROM outcome WHERE job = ?1",
		"DELETE FROM attempt WHERE job = ?1",
		"DELETE FROM intent WHERE run IN (SELECT id FROM run WHERE job = ?1)",
		"DELETE FROM clearance WHERE job = ?1",
		"DELETE FROM out WHERE job = ?1",
		"DELETE FROM job WHERE id = ?1",
	} {
		if _, err := j.w.exec(query, job); err != nil {
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
