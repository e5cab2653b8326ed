package journal

import (
	"context"
	"database/sql"
	"errors"
)

// errPeeked says that a job was looked at and not begun.
var errPeeked = errors.New("the job was not begun")

// Peek is Begin for one who only looks: it finds the job, writes nothing and
// takes nothing. found is false where no job has the identity, or [JobSpec.Fresh]
// would start a new one; then the job has no rows, batches or money, and Cached
// and OutStats say what a new one would find. What the job's own process left
// open when it died still counts as open, not as in doubt.
func (j *Journal) Peek(ctx context.Context, spec JobSpec) (job *Job, found bool, err error) {
	job = &Job{spec: spec, j: j, Left: Running}
	err = j.readOne(ctx, "look for the job", func(l *link) error {
		return l.one([]any{&job.ID, &job.Key, &job.Left},
			"SELECT id, key, state FROM job WHERE identity = ? AND emulated = ? ORDER BY id DESC LIMIT 1", spec.Identity[:], spec.Emulated)
	})
	none := errors.Is(err, sql.ErrNoRows)
	if err != nil && !none {
		return nil, false, err
	}
	if none || spec.Fresh && job.Left == Finished {
		return &Job{spec: spec, j: j, Left: Running}, false, nil
	}
	job.Resumed = true
	return job, true, nil
}
