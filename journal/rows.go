package journal

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Row is one settled outcome without its answer's body: for lists.
type Row struct {
	ID         int64 // of the [Answer] that has the body; a later one is larger
	Row        int
	Type       Outcome
	StopReason string
	Org, Pool  string
	Tier       string
	Model      string
	At         time.Time
	Cost       flotilla.Money // of all attempts of the call in the process that settled it
	Attempts   int            // at most 255
	Latency    time.Duration
	Status     int  // HTTP status of an error
	Cached     bool // another job's answer, or a file's
	InDoubt    bool // the attempt that ended it may have been billed unknown to us
	Kept       bool // there is a body
}

// rowColumns pack what is small into few numbers: a column costs a scan as much
// as a row does (a tenth of a microsecond each).
const rowColumns = `id, row * 64 + (answer <> 0) * 32 + (cached <> 0) * 16 + (doubt <> 0) * 8 + type, lane * 0x80000000 + stop,
	(latency / 1000) * 0x40000 + min(tries, 255) * 1024 + min(status, 1023), at, cost`

// rowPage is how many rows are read before the connection is let go.
const rowPage = 16_384

// Rows yields the job's outcomes in the order in which they settled, those after
// the one with ID after (0: all). Of one row a later one takes the place of an
// earlier (--retry); those of another provenance are left out, as State does.
// The latency is to the microsecond. It ends with an error's pair where there is
// one; the journal may be used inside the loop.
func (j *Journal) Rows(ctx context.Context, job, after int64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var page []Row
		for {
			var err error
			if page, err = j.rows(ctx, job, after, page[:0]); err != nil {
				yield(Row{}, err)
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			if len(page) < rowPage {
				return
			}
			after = page[len(page)-1].ID
		}
	}
}

func (j *Journal) rows(ctx context.Context, job, after int64, page []Row) ([]Row, error) {
	err := j.read(ctx, "list rows", func(l *link) error {
		var first, mark int64
		err := l.one([]any{&first, &mark}, "SELECT first_outcome, coalesce((SELECT id FROM word WHERE text = emulated), 0) FROM job WHERE id = ?", job)
		if err != nil {
			return err
		}
		names, err := rowNamesOf(l)
		if err != nil {
			return err
		}
		return l.each(func(rows *sql.Rows) error {
			var r Row
			err := names.scan(rows, &r)
			page = append(page, r)
			return err
		}, "SELECT "+rowColumns+" FROM outcome WHERE id > ? AND job = ? AND (type <> 1 OR mark = ?) ORDER BY id LIMIT ?", max(first, after), job, mark, rowPage)
	})
	return page, err
}

// Newest is the largest ID that any job's outcome has had: what settles from now
// on has a larger one. Outcomes are found by their IDs alone, so that whoever
// looks at a job again and again reads on from here, and does not go through what
// other jobs settled meanwhile each time.
func (j *Journal) Newest(ctx context.Context) (id int64, err error) {
	err = j.readOne(ctx, "look how far outcomes go", func(l *link) error {
		id, err = l.number("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'outcome'")
		return err
	})
	return id, err
}

// rowNames are the words that rows have numbers of.
type rowNames struct {
	lanes map[int64]lane
	words map[int64]string
}

func rowNamesOf(l *link) (n rowNames, err error) {
	n = rowNames{map[int64]lane{}, map[int64]string{}}
	err = l.each(func(rows *sql.Rows) error {
		var id int64
		var ln lane
		err := rows.Scan(&id, &ln.org, &ln.pool, &ln.tier, &ln.model)
		n.lanes[id] = ln
		return err
	}, "SELECT id, org, pool, tier, model FROM lane")
	if err != nil {
		return n, err
	}
	err = l.each(func(rows *sql.Rows) error {
		var id int64
		var text string
		err := rows.Scan(&id, &text)
		n.words[id] = text
		return err
	}, "SELECT id, text FROM word")
	return n, err
}

// scan reads rowColumns.
func (n *rowNames) scan(rows *sql.Rows, r *Row) error {
	var c [6]any // taken as the driver gives them: a quarter less time than a Scan by kinds
	if err := rows.Scan(&c[0], &c[1], &c[2], &c[3], &c[4], &c[5]); err != nil {
		return err
	}
	var v [6]int64
	for i := range c {
		v[i], _ = c[i].(int64)
	}
	flags, names, manner := v[1], v[2], v[3]
	r.ID, r.At, r.Cost = v[0], time.Unix(0, v[4]), flotilla.Money(v[5])
	r.Row, r.Type = int(flags>>6), Outcome(flags&7)
	r.InDoubt, r.Cached, r.Kept = flags&8 != 0, flags&16 != 0, flags&32 != 0
	ln := n.lanes[names>>31]
	r.Org, r.Pool, r.Tier, r.Model = ln.org, ln.pool, ln.tier, ln.model
	r.StopReason = n.words[names&(1<<31-1)]
	r.Latency, r.Attempts, r.Status = time.Duration(manner>>18)*time.Microsecond, int(manner>>10&255), int(manner&1023)
	return nil
}
