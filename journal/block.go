package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/flotilla-llm/flotilla"
)

// block is money that a line reserved ahead, in place of an intent for each of
// its calls (the design's "life of a call").
type block struct {
	id, number int64
	due        // of its opening: what is left of it is open there
	held       flotilla.Money
	closed     bool
}

// block takes in a step of a block. Its money is among what its run has open on
// the day of its opening, so that all sums know it.
func (a *appending) block(b *book, r *flotilla.Record, ln int64, day int) error {
	switch r.Step {
	case flotilla.BlockOpen:
		return a.blockOpen(b, r, ln, day)
	case flotilla.BlockClosed:
		t, err := a.blockOf(b, r.Block)
		if err != nil {
			return err
		}
		b.free(t, t.held)
		t.closed = true
		_, err = a.j.w.exec("UPDATE block SET closed = ? WHERE id = ? AND closed = 0", stamp(r.At), t.id)
		return err
	}
	return fmt.Errorf("block %d: unknown step %d", r.Block, r.Step)
}

func (a *appending) blockOpen(b *book, r *flotilla.Record, ln int64, day int) error {
	if r.Block == 0 {
		return errors.New("a block without a number")
	}
	if r.Worst < 0 {
		return fmt.Errorf("block %d reserves %d", r.Block, int64(r.Worst))
	}
	id, err := a.j.w.insert("INSERT INTO block(job, run, number, lane, at, day, worst, held) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		b.job, b.run, r.Block, ln, r.At.UnixNano(), day, int64(r.Worst), int64(r.Worst))
	if err != nil {
		return fmt.Errorf("block %d: %w", r.Block, err)
	}
	b.blocks[r.Block] = &block{id: id, number: r.Block, due: due{b.run, day}, held: r.Worst}
	b.sum(day).open += r.Worst
	return nil
}

// callEnd takes in that an attempt of a line's call ended: its worst case moves
// from its block to what it was charged. The charge belongs to the day of the
// record, since nothing says when the attempt was sent; until then it counts as
// the block does, on every day that the block is open: see dayParts.
func (a *appending) callEnd(b *book, r *flotilla.Record, day int) (ended, error) {
	t, err := a.blockOf(b, r.Block)
	if err != nil {
		return ended{}, err
	}
	b.free(t, min(max(r.Worst, 0), t.held))
	b.sum(day).spent += r.Charged
	return ended{r.Attempt, due{b.run, day}}, nil
}

// free takes money out of a block.
func (b *book) free(t *block, money flotilla.Money) {
	t.held -= money
	b.sumOf(t.due).open -= money
	if !slices.Contains(b.drawn, t) { // of one or two, as calls end
		b.drawn = append(b.drawn, t)
	}
}

// blockOf is a block of this run by its number. A closed one has nothing left.
func (a *appending) blockOf(b *book, number int64) (*block, error) {
	if t := b.blocks[number]; t != nil {
		return t, nil
	}
	t := &block{number: number}
	t.run = b.run
	err := a.j.w.one([]any{&t.id, &t.day, &t.held, &t.closed}, "SELECT id, day, held, closed > 0 FROM block WHERE job = ? AND number = ? AND run = ?", b.job, number, b.run)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("block %d was not opened by this run", number)
	}
	if err != nil {
		return nil, err
	}
	b.blocks[number] = t
	return t, nil
}

// writeBlocks brings the rows of blocks up to date, and forgets those that are
// closed: a line lives for weeks.
func (j *Journal) writeBlocks(b *book) error {
	for _, t := range b.drawn {
		if _, err := j.w.exec("UPDATE block SET held = ? WHERE id = ?", int64(t.held), t.id); err != nil {
			return err
		}
		if t.closed {
			delete(b.blocks, t.number)
		}
	}
	return nil
}

// losingBlocks writes an attempt in doubt for what is left of each open block of
// a run, as for open intents: calls drew on it of which nothing is known. It is
// booked on the last day of which the run has anything, a grant or a charge: a
// run under a cap per day has asked for the money of each day it sent on.
func (j *Journal) losingBlocks(run int64) error {
	var rest []takeOff // what leaves the day of opening
	last, err := j.w.number("SELECT max(day) FROM spend WHERE run = ?", run)
	if err != nil {
		return err
	}
	t := &j.bulk.attempt
	err = j.w.each(func(rows *sql.Rows) error {
		var id, job, lane, at, held int64
		var day int
		if err := rows.Scan(&id, &job, &lane, &at, &day, &held); err != nil {
			return err
		}
		t.args = append(t.args, job, run, blockRow, -id, lane, at, max(day, int(last)), held, lost, false, 0, 0)
		rest = append(rest, takeOff{run, day, held})
		return nil
	}, "SELECT id, job, lane, at, day, held FROM block WHERE run = ? AND closed = 0 AND held > 0 ORDER BY id", run)
	if err != nil {
		return err
	}
	for _, off := range rest {
		if int64(off.day) >= last {
			continue
		}
		for day, nanos := range map[int64]int64{int64(off.day): -off.nanos, last: off.nanos} {
			if _, err := j.w.exec("UPDATE spend SET open = open + ? WHERE run = ? AND day = ?", nanos, run, day); err != nil {
				return err
			}
		}
	}
	if err := t.flush(j.w); err != nil {
		return err
	}
	_, err = j.w.exec("UPDATE block SET held = 0, closed = ? WHERE run = ? AND closed = 0", j.opt.Now().UnixNano(), run)
	return err
}

// blockRow is the row of an attempt that stands for what is left of a block.
const blockRow = -1
