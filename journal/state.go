package journal

import (
	"context"
	"database/sql"

	"github.com/flotilla-llm/flotilla"
)

// State is how every row of a job stands: ten bytes a row.
type State struct {
	Counts [numOutcomes]int // rows by outcome
	Spent  flotilla.Money   // as [Job.Spent]
	Doubt  flotilla.Money   // the part of Spent whose attempts are in doubt and not cleared
	Doubts int              // such attempts, of settled rows too

	rows []rowState
	at   []int64 // location of the outcome that stands; 0: none
}

// rowState is one byte of flags and outcome, one of failed tries.
type rowState struct{ flags, failed uint8 }

const (
	outcomeBits = 0x07
	doubtBit    = 0x80
)

// Outcome is how a row stands.
func (s *State) Outcome(row int) Outcome { return Outcome(s.rows[row].flags & outcomeBits) }

// InDoubt says that an attempt of a row may have been answered unknown to us:
// where the row is sent, it is sent last.
func (s *State) InDoubt(row int) bool { return s.rows[row].flags&doubtBit != 0 }

// Failed counts the failures of a row's own, in all invocations: attempts in
// doubt or answered by a server error while other rows of the run succeeded on
// the same lane. Settling forgives them, for --retry. It stops at 255.
func (s *State) Failed(row int) int { return int(s.rows[row].failed) }

// At is the ID of the [Answer] that stands for a row; 0: it is pending.
func (s *State) At(row int) int64 { return s.at[row] }

// Stands says that an answer is the one of its row: a later one, after --retry,
// takes the place of an earlier.
func (s *State) Stands(a *Answer) bool { return a.Row < len(s.at) && s.at[a.Row] == a.ID }

// Rows is how many rows the state is of.
func (s *State) Rows() int { return len(s.rows) }

// State reads how each of the job's rows stands. A success counts only when its
// provenance is the job's: an emulator's answer is none of Claude's.
func (job *Job) State(ctx context.Context) (*State, error) {
	return job.j.state(ctx, job.ID, job.spec.N)
}

func (j *Journal) state(ctx context.Context, job int64, n int) (*State, error) {
	s := &State{rows: make([]rowState, n), at: make([]int64, n)}
	err := j.read(ctx, "read the state of the job", func(l *link) error { return s.load(l, job) })
	if err != nil {
		return nil, err
	}
	for _, r := range s.rows {
		s.Counts[r.flags&outcomeBits]++
	}
	return s, nil
}

// load reads all in one transaction, so that rows and money are of one moment.
func (s *State) load(l *link, job int64) error {
	var firstAttempt, firstOutcome, mark int64
	err := l.one([]any{&firstAttempt, &firstOutcome, &mark},
		"SELECT first_attempt, first_outcome, coalesce((SELECT id FROM word WHERE text = emulated), 0) FROM job WHERE id = ?", job)
	if err != nil {
		return err
	}
	if err := l.each(s.attempt, "SELECT row, doubt, own FROM attempt WHERE id > ? AND job = ?", firstAttempt, job); err != nil {
		return err
	}
	dubious := false
	err = l.each(func(rows *sql.Rows) error { return s.outcome(rows, &dubious) },
		`SELECT id, row * 16 + (doubt <> 0) * 8 + type FROM outcome WHERE id > ? AND job = ? AND (type <> 1 OR mark = ?)`, firstOutcome, job, mark)
	if err != nil {
		return err
	}
	if s.Spent, err = spentOf(l, job); err != nil {
		return err
	}
	if err := s.doubts(l, openAttempts, job); err != nil || !dubious {
		return err
	}
	return s.doubts(l, openOutcomes, job)
}

// doubts adds what is in doubt and not cleared.
func (s *State) doubts(l *link, from string, job int64) error {
	var n, money int64
	err := l.one([]any{&n, &money}, "SELECT count(*), coalesce(sum(charged), 0) "+from, job)
	s.Doubts, s.Doubt = s.Doubts+int(n), s.Doubt+flotilla.Money(money)
	return err
}

func (s *State) attempt(rows *sql.Rows) error {
	var row, doubt, own int64
	if err := rows.Scan(&row, &doubt, &own); err != nil {
		return err
	}
	if row < 0 || row >= int64(len(s.rows)) {
		return nil
	}
	r := &s.rows[row]
	if doubt != certain {
		r.flags |= doubtBit
	}
	r.failed += uint8(min(own, 255-int64(r.failed)))
	return nil
}

func (s *State) outcome(rows *sql.Rows, dubious *bool) error {
	var id, packed int64
	if err := rows.Scan(&id, &packed); err != nil {
		return err
	}
	*dubious = *dubious || packed&8 != 0
	row := packed >> 4
	if row < 0 || row >= int64(len(s.rows)) {
		return nil
	}
	r := &s.rows[row]
	*r = rowState{flags: r.flags&^outcomeBits | uint8(packed&outcomeBits)}
	s.at[row] = id
	return nil
}
