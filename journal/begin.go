package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// JobSpec says which job an invocation is of.
type JobSpec struct {
	// Identity hashes what makes a job: provider, version and betas, contents of
	// all inputs in order, and what shapes the requests.
	Identity [32]byte
	Provider string   // scheme, host and port
	Emulated string   // the mark the provider sends, "scenario/seed"; empty: the real one
	Command  string   // for people, without secrets
	Inputs   []string // names, for people
	N        int      // rows
	// Template is the same for jobs whose requests are made alike, so that how
	// long the answers of one were says how long those of another will be: see
	// [Job.OutStats]. 0: unknown.
	Template uint64
	// Fresh starts a new job where the one found has finished (--no-cache); one
	// that is unfinished goes on all the same.
	Fresh bool

	// Client of the gateway whose job it is, empty: none's, and one of the kinds
	// below, empty: KindRun. A job keeps those that it was first begun with.
	Client, Kind string
	// Shape is what makes the job's rows again, as JSON without secrets, for
	// [JobInfo]; nil: what an earlier Begin said stands.
	Shape json.RawMessage
}

// Kinds of jobs.
const (
	KindRun     = "run"
	KindJudge   = "judge"
	KindMeasure = "measure"
	// KindServe is of a gateway's single calls. Such a job grows: N is how many
	// rows it has had, [JobSpec] says nothing of it.
	KindServe = "serve"
	KindBatch = "batch" // created by a gateway's client
)

func (s *JobSpec) kind() string { return cmp.Or(s.Kind, KindRun) }

// grows says that a job's rows are numbered as they come.
func (s *JobSpec) grows() bool { return s.Kind == KindServe }

func (s *JobSpec) realm() Realm { return Realm{s.Provider, s.Emulated} }

// Job states.
const (
	Running  = "running"  // begun, and no End yet; of a dead process: interrupted
	Stopped  = "stopped"  // ended with rows pending
	Finished = "finished" // every row settled
)

// Job is one invocation of a job by this process. The others may not have it
// meanwhile.
type Job struct {
	ID      int64  // the number that records carry
	Key     string // short hex, for people: 7f3a
	Resumed bool   // an earlier invocation began it
	Left    string // the state in which the invocation before left it; of a new job: Running
	spec    JobSpec
	j       *Journal
	book    *book
}

// Begin finds the job of this identity and mark, or writes a new one, and takes
// it for this process until [Job.End]. What dead processes left is cleared up
// first: their open intents become in doubt. A pause or cancel asked for
// earlier is forgotten. The error is a *HeldError when a
// live process has the job.
func (j *Journal) Begin(ctx context.Context, spec JobSpec) (*Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	job := &Job{spec: spec, j: j}
	err := j.write("begin the job", func() error {
		if err := j.reap(); err != nil {
			return err
		}
		if err := job.find(); err != nil {
			return err
		}
		var err error
		job.book, err = j.openRun(job.ID, spec.realm().String(), job.spec.Client)
		if err == nil {
			job.book.grows = job.spec.grows()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return job, nil
}

func (job *Job) find() error {
	l := job.j.w
	err := l.one([]any{&job.ID, &job.Key, &job.Left},
		"SELECT id, key, state FROM job WHERE identity = ? AND emulated = ? ORDER BY id DESC LIMIT 1", job.spec.Identity[:], job.spec.Emulated)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && job.spec.Fresh && job.Left == Finished:
		return job.create()
	case err != nil:
		return err
	}
	if err := job.j.free(job.ID, job.Key); err != nil {
		return err
	}
	job.Resumed = true
	// A job of a command forgets the cap that was set while it ran, for the
	// command's own; the gateway's have no other word of a person's.
	s := &job.spec
	if err := l.one([]any{&s.Kind, &s.Client}, "SELECT kind, client FROM job WHERE id = ?", job.ID); err != nil {
		return err
	}
	_, err = l.exec(`UPDATE job SET state = ?, signal = 0, ended = NULL, command = ?, n = CASE kind WHEN 'serve' THEN n ELSE ? END, template = ?,
		cap = CASE WHEN kind IN ('serve', 'batch') THEN cap END, shape = CASE WHEN ?5 = '' THEN shape ELSE ?5 END WHERE id = ?6`,
		Running, s.Command, s.N, int64(s.Template), string(s.Shape), job.ID)
	return err
}

// free refuses a job that a live process has; reap has closed the others.
func (j *Journal) free(id int64, key string) error {
	held := HeldError{Job: key}
	var since int64
	err := j.w.one([]any{&held.PID, &held.Host, &since},
		"SELECT p.pid, p.host, r.opened FROM run r JOIN proc p ON p.id = r.proc WHERE r.job = ? AND r.ended IS NULL", id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	held.Since = time.Unix(0, since)
	return errors.Join(err, &held)
}

func (job *Job) create() error {
	l := job.j.w
	inputs, err := json.Marshal(job.spec.Inputs)
	if err != nil {
		return err
	}
	at, err := job.j.sequences()
	if err != nil {
		return err
	}
	if job.Key, err = job.newKey(); err != nil {
		return err
	}
	s := &job.spec
	job.Left = Running
	n := s.N
	if s.grows() {
		n = 0
	}
	job.ID, err = l.insert(`INSERT INTO job(key, identity, provider, emulated, command, inputs, n, created, state, first_attempt, first_outcome, template, kind, client, shape)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		job.Key, s.Identity[:], s.Provider, s.Emulated, s.Command, string(inputs), n, job.j.opt.Now().UnixNano(), Running, at.attempt, at.outcome, int64(s.Template),
		s.kind(), s.Client, string(s.Shape))
	return err
}

// newKey is the shortest beginning of the identity, from four hex digits up,
// that no job has; then with a number.
func (job *Job) newKey() (string, error) {
	full := hex.EncodeToString(job.spec.Identity[:])
	for n := 4; ; n++ {
		key := full[:min(n, len(full))]
		if n > len(full) {
			key += fmt.Sprintf("%x", n-len(full))
		}
		taken, err := job.j.w.number("SELECT count(*) FROM job WHERE key = ?", key)
		if err != nil || taken == 0 {
			return key, err
		}
	}
}

// bookOf is the book of a job that was begun here. Job 0 needs no beginning.
func (j *Journal) bookOf(job int64) (*book, error) {
	if b := j.books[job]; b != nil {
		return b, nil
	}
	if job == 0 {
		return j.openRun(0, "", "")
	}
	return nil, fmt.Errorf("job %d was not begun here", job)
}

// openRun writes a run of ours and keeps its book.
func (j *Journal) openRun(job int64, realm, client string) (*book, error) {
	at, err := j.sequences()
	if err != nil {
		return nil, err
	}
	word, err := j.word(realm)
	if err != nil {
		return nil, err
	}
	id, err := j.w.insert("INSERT INTO run(job, proc, realm, opened, low_intent, low_attempt, low_outcome, client) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		job, j.proc, word, j.opt.Now().UnixNano(), at.intent, at.attempt, at.outcome, client)
	if err != nil {
		return nil, err
	}
	b := newBook(id, job, realm, at)
	j.books[job] = b
	return b, nil
}
