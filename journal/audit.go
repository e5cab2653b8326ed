package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Audit is what does not add up in a job.
type Audit struct {
	Doubts  []Doubt // attempts whose outcome is unknown, not cleared
	Doubled []Doubled
	Booked  flotilla.Money // what the sums say of the job
	Counted flotilla.Money // what its records say; cleared doubts taken off
	// Open is the part of both that is reserved for what is under way. Where the
	// process died that had it, the next one that takes a job or a slot makes doubts
	// of it.
	Open   flotilla.Money
	Adrift []int64 // numbers of batches whose rows, or money, are not those that its records leave
	Blocks []int64 // numbers of blocks whose money cannot be right

	// Of OUT, where lines were given.
	Missing []int // settled rows without a line
	Extra   []int // pending rows with one
	Twice   []int // rows with more than one
}

// Doubt is an attempt that may have been answered and billed.
type Doubt struct {
	Row       int   // -1: of no row, but what was left of a Block
	Attempt   int64 // 0: a batch carried it, or it is of a Block
	Batch     int64 // the number of that batch's intent; 0: none
	Block     int64 // the number of a line's block of money that was open when its process died; 0: none
	At        time.Time
	Org       string
	Model     string
	Worst     flotilla.Money // counted as spent
	Crashed   bool           // its process died
	Succeeded bool           // another attempt of the row was answered: if this one was too, it was paid twice
}

// Doubled is a row that was paid for more than once, --retry aside: so many
// answers succeeded.
type Doubled struct{ Row, Answers int }

// Audit compares a job's intents, attempts, outcomes and sums, and, where lines
// is not nil, OUT: lines says how many lines OUT has of a row. It changes nothing.
func (j *Journal) Audit(ctx context.Context, job int64, lines func(row int) int) (*Audit, error) {
	st, err := j.StateOf(ctx, job)
	if err != nil {
		return nil, err
	}
	a := &Audit{}
	err = j.read(ctx, "audit the job", func(l *link) error { return a.read(l, job, st) })
	if err != nil || lines == nil {
		return a, err
	}
	for row := range st.Rows() {
		a.compare(row, lines(row), st.Outcome(row) != Pending)
	}
	return a, nil
}

func (a *Audit) compare(row, lines int, settled bool) {
	switch {
	case settled && lines == 0:
		a.Missing = append(a.Missing, row)
	case !settled && lines > 0:
		a.Extra = append(a.Extra, row)
	}
	if lines > 1 {
		a.Twice = append(a.Twice, row)
	}
}

const doubtColumns = `SELECT row, max(attempt, 0), coalesce((SELECT number FROM batch WHERE id = -attempt AND row >= 0), 0),
	coalesce((SELECT number FROM block WHERE id = -attempt AND row < 0), 0), at, charged, doubt,
	(SELECT org FROM lane WHERE id = lane), (SELECT model FROM lane WHERE id = lane) `

// openAttempts and openOutcomes are the attempts of a job that are in doubt and
// were not cleared.
const (
	openAttempts = "FROM attempt t WHERE t.job = ? AND t.doubt <> 0 AND t.id > coalesce((SELECT max(last_attempt) FROM clearance c WHERE c.job = t.job), 0)"
	openOutcomes = "FROM outcome t WHERE t.job = ? AND t.doubt <> 0 AND t.id > coalesce((SELECT max(last_outcome) FROM clearance c WHERE c.job = t.job), 0)"
)

func (a *Audit) read(l *link, job int64, st *State) (err error) {
	if err := l.each(func(rows *sql.Rows) error { return a.doubt(rows, st) },
		doubtColumns+openAttempts+` UNION ALL `+doubtColumns+openOutcomes+
			` ORDER BY at`, job, job); err != nil {
		return err
	}
	if err := l.each(a.doubled, "SELECT row, count(*) FROM outcome WHERE job = ? AND type = 1 AND cached = 0 GROUP BY row, hash, nth HAVING count(*) > 1 ORDER BY row", job); err != nil {
		return err
	}
	if err := a.batches(l, job); err != nil {
		return err
	}
	if err := l.each(a.block, `SELECT number FROM block WHERE job = ? AND (closed > 0 AND held <> 0 OR held < 0 OR held > worst) ORDER BY id`, job); err != nil {
		return err
	}
	if a.Booked, err = spentOf(l, job); err != nil {
		return err
	}
	err = l.one([]any{&a.Counted, &a.Open}, `SELECT
		(SELECT coalesce(sum(charged), 0) FROM attempt WHERE job = ?1) + (SELECT coalesce(sum(charged), 0) FROM outcome WHERE job = ?1)
		+ (SELECT coalesce(sum(held), 0) FROM batch WHERE job = ?1)
		- (SELECT coalesce(sum(nanos), 0) FROM clearance WHERE job = ?1),
		(SELECT coalesce(sum(s.open), 0) FROM run r JOIN spend s ON s.run = r.id WHERE r.job = ?1)`, job)
	a.Counted += a.Open
	return err
}

func (a *Audit) doubt(rows *sql.Rows, st *State) error {
	var d Doubt
	var at, doubt int64
	err := rows.Scan(&d.Row, &d.Attempt, &d.Batch, &d.Block, &at, &d.Worst, &doubt, &d.Org, &d.Model)
	d.At, d.Crashed = time.Unix(0, at), doubt == lost
	d.Succeeded = d.Row >= 0 && d.Row < st.Rows() && st.Outcome(d.Row) == Succeeded
	a.Doubts = append(a.Doubts, d)
	return err
}

// batches compares what each batch says is left of it with what its records
// leave.
func (a *Audit) batches(l *link, job int64) error {
	open, err := openBatches(l, job)
	if err != nil {
		return err
	}
	left := map[int64]*openBatch{}
	for i := range open {
		left[open[i].number] = &open[i]
	}
	return l.each(func(rows *sql.Rows) error {
		var number, held, worst int64
		var due, sent int
		var closed bool
		if err := rows.Scan(&number, &held, &worst, &due, &sent, &closed); err != nil {
			return err
		}
		o := left[number]
		if closed && held != 0 || held < 0 || held > worst || !closed && (o.left != due || len(o.rows) != sent || due == 0) {
			a.Adrift = append(a.Adrift, number)
		}
		return nil
	}, "SELECT number, held, worst, due, sent, closed > 0 FROM batch WHERE job = ? ORDER BY id", job)
}

func (a *Audit) doubled(rows *sql.Rows) error {
	var d Doubled
	err := rows.Scan(&d.Row, &d.Answers)
	a.Doubled = append(a.Doubled, d)
	return err
}

func (a *Audit) block(rows *sql.Rows) error {
	var number int64
	err := rows.Scan(&number)
	a.Blocks = append(a.Blocks, number)
	return err
}
