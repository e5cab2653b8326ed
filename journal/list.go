package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Interrupted is the state of a job whose process died in the middle of it.
const Interrupted = "interrupted"

// JobInfo is what a journal knows of a job as a whole.
type JobInfo struct {
	ID       int64
	Key      string // short hex, for people
	Identity [32]byte
	Realm    Realm
	Kind     string // KindRun, …
	Client   string // of the gateway, whose job it is; empty: none's
	Command  string
	Inputs   []string
	N        int // of one that grows: so far
	Created  time.Time
	Ended    time.Time // zero: it goes on, or its process died
	State    string    // Running, Interrupted, Stopped or Finished
	Signal   Signal
	Cap      *flotilla.Money // that a person set while it runs, as [Journal.SetCap] has it; nil: none
	Shape    json.RawMessage // what makes its rows again: see [JobSpec]; nil: not known
	Totals   json.RawMessage // of the last End that gave some; nil: none
	Spent    flotilla.Money  // by all its invocations, open and in doubt at worst case
	Reserved flotilla.Money  // the part of Spent that is set aside for what is under way
	Runs     int             // invocations
	Batches  int             // that are not closed
	Outs     []Out
	Holder   *Holder // the live process that has it; nil: none
}

// Standing is State as people see it: a live process that was asked to pause or to
// cancel makes it "paused" or "canceling".
func (info *JobInfo) Standing() string {
	switch {
	case info.Holder == nil:
	case info.Signal == Pause:
		return "paused"
	case info.Signal == Cancel:
		return "canceling"
	}
	return info.State
}

// Out is a file that a job's lines went to.
type Out struct {
	Path    string
	Durable int64 // bytes known to be whole and on disk
}

// Holder is a live process that has a job.
type Holder struct {
	PID   int
	Host  string
	Since time.Time
}

// Jobs lists the jobs that were begun or ended at since or later, newest first.
// Dates of jobs are real time.
func (j *Journal) Jobs(ctx context.Context, since time.Time) (jobs []JobInfo, err error) {
	from := int64(-1 << 63)
	if !since.IsZero() {
		from = since.UnixNano()
	}
	err = j.read(ctx, "list jobs", func(l *link) (err error) {
		jobs, err = j.infos(l, "created >= ? OR coalesce(ended, created) >= ? OR ended IS NULL ORDER BY id DESC", from, from)
		return err
	})
	return jobs, err
}

// Find is the job whose short id begins with prefix; the error is a *NoJobError
// where there is none, or more than one of which none is the prefix itself.
func (j *Journal) Find(ctx context.Context, prefix string) (JobInfo, error) {
	var jobs []JobInfo
	err := j.read(ctx, "find job "+prefix, func(l *link) (err error) {
		jobs, err = j.infos(l, "substr(key, 1, length(?)) = ? ORDER BY length(key)", prefix, prefix)
		return err
	})
	switch {
	case err != nil:
		return JobInfo{}, err
	case len(jobs) == 0, len(jobs) > 1 && jobs[0].Key != prefix:
		return JobInfo{}, &NoJobError{prefix, len(jobs)}
	}
	return jobs[0], nil
}

func (j *Journal) infos(l *link, where string, args ...any) (jobs []JobInfo, err error) {
	err = l.each(func(rows *sql.Rows) error {
		var info JobInfo
		err := info.scan(rows)
		jobs = append(jobs, info)
		return err
	}, `SELECT id, key, identity, provider, emulated, command, inputs, n, created, ended, state, signal, totals, kind, client, shape, cap,
		(SELECT count(*) FROM run WHERE run.job = job.id), (SELECT count(*) FROM batch WHERE batch.job = job.id AND closed = 0) FROM job WHERE `+where, args...)
	for i := range jobs {
		if err == nil {
			err = j.fill(l, &jobs[i])
		}
	}
	return jobs, err
}

func (info *JobInfo) scan(rows *sql.Rows) error {
	var identity []byte
	var inputs, totals, shape string
	var created int64
	var ended, limit sql.NullInt64
	err := rows.Scan(&info.ID, &info.Key, &identity, &info.Realm.Provider, &info.Realm.Emulated, &info.Command, &inputs, &info.N,
		&created, &ended, &info.State, &info.Signal, &totals,
		&info.Kind, &info.Client, &shape, &limit, &info.Runs, &info.Batches)
	if err != nil {
		return err
	}
	copy(info.Identity[:], identity)
	info.Created = time.Unix(0, created)
	if ended.Valid {
		info.Ended = time.Unix(0, ended.Int64)
	}
	if limit.Valid {
		money := flotilla.Money(limit.Int64)
		info.Cap = &money
	}
	if shape != "" {
		info.Shape = json.RawMessage(shape)
	}
	if totals != "" {
		info.Totals = json.RawMessage(totals)
	}
	return json.Unmarshal([]byte(inputs), &info.Inputs)
}

// fill adds what other tables say.
func (j *Journal) fill(l *link, info *JobInfo) (err error) {
	err = l.one([]any{&info.Spent, &info.Reserved},
		"SELECT coalesce(sum(s.spent + s.open + s.held), 0), coalesce(sum(s.open + s.held), 0) FROM run r JOIN spend s ON s.run = r.id WHERE r.job = ?", info.ID)
	if err != nil {
		return err
	}
	err = l.each(func(rows *sql.Rows) error {
		var o Out
		err := rows.Scan(&o.Path, &o.Durable)
		info.Outs = append(info.Outs, o)
		return err
	}, "SELECT path, durable FROM out WHERE job = ? ORDER BY path", info.ID)
	if err != nil {
		return err
	}
	if info.Holder, err = j.holder(l, info.ID); err == nil && info.Holder == nil && info.State == Running {
		info.State = Interrupted
	}
	return err
}

// holder is the live process that has a job.
func (j *Journal) holder(l *link, job int64) (holder *Holder, err error) {
	now := j.opt.Now()
	err = l.each(func(rows *sql.Rows) error {
		var p process
		var id, seen, since int64
		err := rows.Scan(&id, &p.pid, &p.host, &p.boot, &p.space, &p.start, &seen, &since)
		if err == nil && j.lives(id, p, time.Unix(0, seen), now) {
			holder = &Holder{p.pid, p.host, time.Unix(0, since)}
		}
		return err
	}, `SELECT p.id, p.pid, p.host, p.boot, p.space, p.start, p.seen, r.opened
		FROM run r JOIN proc p ON p.id = r.proc WHERE r.job = ? AND r.ended IS NULL`, job)
	return holder, err
}

// StateOf is [Job.State] of a job that need not be ours.
func (j *Journal) StateOf(ctx context.Context, job int64) (*State, error) {
	var n int64
	err := j.read(ctx, "read the size of the job", func(l *link) (err error) {
		n, err = l.number("SELECT n FROM job WHERE id = ?", job)
		return err
	})
	if err != nil {
		return nil, err
	}
	return j.state(ctx, job, int(n))
}

// AnswersOf is [Job.Answers] of a job that need not be ours.
func (j *Journal) AnswersOf(ctx context.Context, job, after int64) iter.Seq2[Answer, error] {
	return j.answers(ctx, job, after)
}
