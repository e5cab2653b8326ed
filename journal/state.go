package journal

import (
	"context"
	"database/sql"
	"slices"

	"github.com/flotilla-llm/flotilla"
)

// State is how every row of a job stands: fourteen bytes a row. It is read from
// the rows of outcomes alone, without any answer's body.
type State struct {
	Counts [numOutcomes]int // rows by outcome
	Spent  flotilla.Money   // as [Job.Spent]
	Doubt  flotilla.Money   // the part of Spent whose attempts are in doubt and not cleared
	Doubts int              // such attempts, of settled rows too

	Batches int            // that are not closed
	Held    flotilla.Money // the part of Spent that is reserved for them

	rows []rowState
	at   []int64  // location of the outcome that stands; 0: none
	stop []uint32 // its stop reason, the number of a word
	text map[uint32]string
	past []int64 // locations of outcomes that do not stand
}

// rowState is one byte of flags and outcome, one of failed tries.
type rowState struct{ flags, failed uint8 }

const (
	outcomeBits = 0x07
	batchBit    = 0x08
	doubtBit    = 0x80
)

// Outcome is how a row stands.
func (s *State) Outcome(row int) Outcome { return Outcome(s.rows[row].flags & outcomeBits) }

// InDoubt says that an attempt of a row may have been answered unknown to us:
// where the row is sent, it is sent last.
func (s *State) InDoubt(row int) bool { return s.rows[row].flags&doubtBit != 0 }

// InBatch says that a row is in a batch that is not closed and has not come
// back from it: see [Job.Batches].
func (s *State) InBatch(row int) bool { return s.rows[row].flags&batchBit != 0 }

// Failed counts the failures of a row's own, in all invocations: attempts in
// doubt or answered by a server error while other rows of the run succeeded on
// the same lane. Settling forgives them, for --retry. It stops at 255.
func (s *State) Failed(row int) int { return int(s.rows[row].failed) }

// At is the ID of the [Answer] that stands for a row; 0: it is pending.
func (s *State) At(row int) int64 { return s.at[row] }

// Stop is the stop reason of the answer that stands for a row; empty: it is
// pending, or has none.
func (s *State) Stop(row int) string { return s.text[s.stop[row]] }

// Superseded are the IDs of the answers that do not stand, in the order of
// settling: a later one has their place, or they are of another provenance.
func (s *State) Superseded() []int64 { return s.past }

// Stands says that an answer is the one of its row: a later one, after --retry,
// takes the place of an earlier.
func (s *State) Stands(a *Answer) bool { return a.Row < len(s.at) && s.at[a.Row] == a.ID }

// Rows is how many rows the state is of.
func (s *State) Rows() int { return len(s.rows) }

// State reads how each of the job's rows stands. A success counts only when its
// provenance is the job's: an emulator's answer is none of Claude's.
func (job *Job) State(ctx context.Context) (*State, error) {
	if job.spec.grows() {
		return job.j.StateOf(ctx, job.ID)
	}
	return job.j.state(ctx, job.ID, job.spec.N)
}

func (j *Journal) state(ctx context.Context, job int64, n int) (*State, error) {
	s := &State{rows: make([]rowState, n), at: make([]int64, n), stop: make([]uint32, n), text: map[uint32]string{}}
	if job == 0 { // one that Peek did not find
		s.Counts[Pending] = n
		return s, ctx.Err()
	}
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
		`SELECT id, row * 32 + (type = 1 AND mark <> ?) * 16 + (doubt <> 0) * 8 + type, stop FROM outcome WHERE id > ? AND job = ?`, mark, firstOutcome, job)
	if err != nil {
		return err
	}
	slices.Sort(s.past)
	if err := s.batches(l, job); err != nil {
		return err
	}
	if err := s.words(l); err != nil {
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

func (s *State) batches(l *link, job int64) error {
	open, err := openBatches(l, job)
	s.Batches = len(open)
	for i := range open {
		s.Held += open[i].held
		for row := range open[i].out {
			if row < len(s.rows) {
				s.rows[row].flags |= batchBit
			}
		}
	}
	return err
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
	var id, packed, stop int64
	if err := rows.Scan(&id, &packed, &stop); err != nil {
		return err
	}
	*dubious = *dubious || packed&8 != 0
	row := packed >> 5
	if row < 0 || row >= int64(len(s.rows)) {
		return nil
	}
	if packed&16 != 0 { // of another provenance
		s.past = append(s.past, id)
		return nil
	}
	if s.at[row] != 0 {
		s.past = append(s.past, s.at[row])
	}
	r := &s.rows[row]
	*r = rowState{flags: r.flags&^outcomeBits | uint8(packed&outcomeBits)}
	s.at[row], s.stop[row] = id, uint32(stop)
	return nil
}

// words reads the texts of the stop reasons that there are.
func (s *State) words(l *link) error {
	for _, stop := range s.stop {
		if _, known := s.text[stop]; known || stop == 0 {
			continue
		}
		var text string
		if err := l.one([]any{&text}, "SELECT text FROM word WHERE id = ?", stop); err != nil {
			return err
		}
		s.text[stop] = text
	}
	return nil
}
