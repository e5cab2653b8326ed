package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// batch is what appending must know of one: where its money belongs, and which
// of its rows have not come back.
type batch struct {
	id, number int64
	due        // of its intent: what its rows cost is booked there
	lane       int64
	held       flotilla.Money // still reserved
	won        int            // successes
	closed     bool

	rows  []uint32 // rising
	ended []uint64 // a bit for each of rows
	left  int      // bits not set
}

func newBatch(rows []uint32) batch {
	return batch{rows: rows, ended: make([]uint64, (len(rows)+63)/64), left: len(rows)}
}

// end says that a row has come back; false where it had before, or never was
// in the batch.
func (t *batch) end(row int) bool {
	i, found := slices.BinarySearch(t.rows, uint32(row))
	if !found || row < 0 || t.closed || t.ended[i/64]&(1<<(i%64)) != 0 {
		return false
	}
	t.ended[i/64] |= 1 << (i % 64)
	t.left--
	return true
}

// out yields the rows that have not come back.
func (t *batch) out(yield func(row int) bool) {
	for i, row := range t.rows {
		if t.ended[i/64]&(1<<(i%64)) == 0 && !yield(int(row)) {
			return
		}
	}
}

// batch takes in a step of a batch.
func (a *appending) batch(b *book, r *flotilla.Record, ln int64, day int) error {
	if r.Step == flotilla.BatchIntent {
		return a.batchIntent(b, r, ln, day)
	}
	t, err := a.batchOf(b, r.Batch)
	if err != nil {
		return err
	}
	at := stamp(r.At)
	switch r.Step {
	case flotilla.BatchMade: // an empty id takes back one that proved to be another's
		org, err := a.j.word(r.OrgID)
		if err == nil {
			_, err = a.j.w.exec(`UPDATE batch SET name = ?2, sure = ?3, made = CASE made WHEN 0 THEN ?4 ELSE made END,
				orgid = CASE ?6 WHEN '' THEN orgid ELSE ?5 END WHERE id = ?1`, t.id, r.BatchID, r.Sure, at, org, r.OrgID)
		}
		return err
	case flotilla.BatchCanceling:
		_, err := a.j.w.exec("UPDATE batch SET canceling = 1 WHERE id = ?", t.id)
		return err
	case flotilla.BatchClosed:
		return a.batchClosed(b, t, r)
	case flotilla.BatchLost:
		return a.batchLost(b, t, r)
	}
	return fmt.Errorf("batch %d: unknown step %d", r.Batch, r.Step)
}

// stamp is a time of a step: 0 says that the step has not been made.
func stamp(at time.Time) int64 { return max(at.UnixNano(), 1) }

// batchIntent reserves the worst case of all rows.
func (a *appending) batchIntent(b *book, r *flotilla.Record, ln int64, day int) error {
	if r.Batch == 0 {
		return errors.New("a batch without a number")
	}
	if b.batches[r.Batch] != nil {
		return fmt.Errorf("batch %d has an intent already", r.Batch)
	}
	org, err := a.j.word(r.OrgID)
	if err != nil {
		return err
	}
	t := newBatch(rowSet(r.Rows))
	t.number, t.due, t.lane, t.held = r.Batch, due{b.run, day}, ln, r.Worst
	t.id, err = a.j.w.insert(`INSERT INTO batch(job, run, number, lane, orgid, at, day, worst, bytes, sent, rows, low_attempt, low_outcome, held, due)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, b.job, b.run, r.Batch, ln, org, r.At.UnixNano(), day, int64(r.Worst), r.Bytes,
		len(t.rows), packRows(t.rows), a.at.attempt, a.at.outcome, int64(r.Worst), len(t.rows))
	if err != nil {
		return fmt.Errorf("batch %d: %w", r.Batch, err)
	}
	b.batches[r.Batch] = &t
	b.sumOf(t.due).held += t.held
	return nil
}

// rowEnd takes in that a row of a batch came back: its worst case moves from
// what the batch reserves to what it was charged.
func (a *appending) rowEnd(b *book, r *flotilla.Record) (ended, error) {
	t, err := a.batchOf(b, r.Batch)
	if err != nil {
		return ended{}, err
	}
	s := b.sumOf(t.due)
	s.spent += r.Charged
	if t.end(r.Row) {
		b.change(t)
		if r.Kind == flotilla.OutcomeRecord && r.Type == outcomeNames[Succeeded] {
			t.won++
		}
		free := min(r.Worst, t.held)
		if t.left == 0 { // it has given all that it had to give
			free = t.held
			t.close()
		}
		t.held -= free
		s.held -= free
	}
	e := ended{-t.id, t.due}
	if !t.closed {
		return e, nil
	}
	_, err = a.j.w.exec("UPDATE batch SET closed = ? WHERE id = ? AND closed = 0", stamp(r.At), t.id)
	return e, err
}

// close lets go of the rows: none will be asked for.
func (t *batch) close() { t.closed, t.rows, t.ended = true, nil, nil }

// batchClosed releases what is left.
func (a *appending) batchClosed(b *book, t *batch, r *flotilla.Record) error {
	b.sumOf(t.due).held -= t.held
	t.held = 0
	b.change(t)
	t.close()
	// Where the record says how long it took, that is the server's own word.
	_, err := a.j.w.exec(`UPDATE batch SET closed = CASE WHEN ?3 > 0 AND made > 0 THEN made + ?3 WHEN closed > 0 THEN closed ELSE ?2 END WHERE id = ?1`,
		t.id, stamp(r.At), int64(r.Latency))
	return err
}

// batchLost turns what is left into an attempt in doubt for each row that has
// not come back, as for the intents of a dead process.
func (a *appending) batchLost(b *book, t *batch, r *flotilla.Record) error {
	s := b.sumOf(t.due)
	s.held -= t.held
	s.spent += t.held
	bulk := &a.j.bulk.attempt
	rest, n := t.held, flotilla.Money(t.left)
	for row := range t.out {
		charged := (rest + n - 1) / n
		bulk.args = append(bulk.args, b.job, t.run, row, -t.id, t.lane, r.At.UnixNano(), t.day, int64(charged), doubted, false, 0, 0)
		rest, n = rest-charged, n-1
	}
	t.held, t.left = 0, 0
	b.change(t)
	t.close()
	_, err := a.j.w.exec("UPDATE batch SET closed = ?, lost = 1 WHERE id = ?", stamp(r.At), t.id)
	return err
}

// batchOf is a batch by the number of its intent. Those of earlier runs are
// read the first time that one of them is asked for.
func (a *appending) batchOf(b *book, number int64) (*batch, error) {
	if t := b.batches[number]; t != nil {
		return t, nil
	}
	if !b.loaded {
		b.loaded = true
		// What this transaction has gathered so far is of batches that are here.
		open, err := openBatches(a.j.w, b.job)
		if err != nil {
			return nil, err
		}
		for i := range open {
			if t := &open[i].batch; b.batches[t.number] == nil {
				b.batches[t.number] = t
			}
		}
	}
	if b.batches[number] == nil {
		t := &batch{number: number, closed: true}
		err := a.j.w.one([]any{&t.id, &t.run, &t.day, &t.lane}, "SELECT id, run, day, lane FROM batch WHERE job = ? AND number = ? AND closed > 0", b.job, number)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("batch %d has no intent", number)
		}
		if err != nil {
			return nil, err
		}
		b.batches[number] = t
	}
	return b.batches[number], nil
}

func (b *book) change(t *batch) {
	if !slices.Contains(b.changed, t) { // of one or two, as results come
		b.changed = append(b.changed, t)
	}
}

// writeBatches brings the rows of batches up to date.
func (j *Journal) writeBatches(b *book) error {
	for _, t := range b.changed {
		if _, err := j.w.exec("UPDATE batch SET held = ?, due = ?, won = ? WHERE id = ?", int64(t.held), t.left, t.won, t.id); err != nil {
			return err
		}
	}
	return nil
}
