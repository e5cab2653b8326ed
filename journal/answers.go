package journal

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Answer is one settled outcome.
type Answer struct {
	ID         int64 // its location; a later one is larger
	Row        int
	Type       Outcome
	Body       []byte // the Message or the error envelope, on one line; nil: none was kept
	Org, Pool  string
	Tier       string
	Model      string
	At         time.Time
	Cost       flotilla.Money // of all attempts of the call in the process that settled it
	Attempts   int
	Latency    time.Duration
	Status     int // HTTP status of an error
	StopReason string
	Emulated   string
	Hash       [16]byte
	Nth        int
	Cached     bool // another job's answer, or a file's
}

const answerColumns = `o.id, o.row, o.type, a.body, l.org, l.pool, l.tier, l.model, o.at, o.cost, o.tries, o.latency, o.status,
	(SELECT text FROM word WHERE id = o.stop), (SELECT text FROM word WHERE id = o.mark), o.hash, o.nth, o.cached
	FROM outcome o JOIN lane l ON l.id = o.lane LEFT JOIN answer a ON a.id = o.answer`

// scan reads answerColumns; Body is the answer's own.
func (a *Answer) scan(scan func(...any) error) error {
	var at int64
	var hash []byte
	err := scan(&a.ID, &a.Row, &a.Type, &a.Body, &a.Org, &a.Pool, &a.Tier, &a.Model, &at, &a.Cost, &a.Attempts, &a.Latency, &a.Status,
		&a.StopReason, &a.Emulated, &hash, &a.Nth, &a.Cached)
	a.At = time.Unix(0, at)
	copy(a.Hash[:], hash)
	return err
}

// Pages bound what an iteration holds in memory, and let go of the connection
// between them, so that the journal can be used inside the loop and a long
// iteration keeps no checkpoint waiting.
const (
	pageRows  = 512
	pageBytes = 4 << 20
)

// Answers yields the job's outcomes in the order in which they settled, those
// after the one with ID after (0: all), superseded ones included: see
// [State.Stands]. It ends with an error's pair where there is one. Outcomes
// that settle meanwhile are yielded too.
func (job *Job) Answers(ctx context.Context, after int64) iter.Seq2[Answer, error] {
	return job.j.answers(ctx, job.ID, after)
}

func (j *Journal) answers(ctx context.Context, job, after int64) iter.Seq2[Answer, error] {
	return func(yield func(Answer, error) bool) {
		for {
			page, err := j.page(ctx, job, after)
			if err != nil {
				yield(Answer{}, err)
				return
			}
			for _, a := range page {
				if !yield(a, nil) {
					return
				}
				after = a.ID
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// errPage ends a page before its rows do.
var errPage = errors.New("page full")

func (j *Journal) page(ctx context.Context, job, after int64) (page []Answer, err error) {
	err = j.read(ctx, "read answers", func(l *link) error {
		first, err := l.number("SELECT first_outcome FROM job WHERE id = ?", job)
		if err != nil {
			return err
		}
		bytes := 0
		err = l.each(func(rows *sql.Rows) error {
			var a Answer
			if err := a.scan(rows.Scan); err != nil {
				return err
			}
			page = append(page, a)
			if bytes += len(a.Body); bytes >= pageBytes {
				return errPage
			}
			return nil
		}, "SELECT "+answerColumns+" WHERE o.id > ? AND o.job = ? ORDER BY o.id LIMIT ?", max(first, after), job, pageRows)
		if errors.Is(err, errPage) {
			err = nil
		}
		return err
	})
	return page, err
}

// Answer reads the outcome at an ID that State or Cached gave.
func (j *Journal) Answer(ctx context.Context, id int64) (Answer, error) {
	var a Answer
	err := j.readOne(ctx, "read an answer", func(l *link) error {
		s, err := l.stmt("SELECT " + answerColumns + " WHERE o.id = ?")
		if err != nil {
			return err
		}
		return a.scan(s.QueryRowContext(always, id).Scan)
	})
	return a, err
}
