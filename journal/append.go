package journal

import (
	"fmt"

	"github.com/flotilla-llm/flotilla"
)

// Append makes the records durable, in order, in one transaction; when it
// fails, none of them is there. It is part of flotilla.Store. Records name jobs
// that this Journal has begun, or job 0. The error is a *FullError,
// *ReadOnlyError or *BusyError where it is one of these.
func (j *Journal) Append(records []flotilla.Record) error {
	if len(records) == 0 {
		return nil
	}
	return j.write(fmt.Sprintf("append %d records", len(records)), func() error {
		a, err := j.appending()
		if err != nil {
			return err
		}
		for i := range records {
			if err := a.record(&records[i]); err != nil {
				return err
			}
		}
		return a.flush()
	})
}

// appending is one Append at work.
type appending struct {
	j      *Journal
	at     sequences
	next   int64 // the next outcome's id
	spans  map[*book]*span
	tokens map[bin]int64
	books  []*book // touched
}

func (j *Journal) appending() (*appending, error) {
	at, err := j.sequences()
	return &appending{j: j, at: at, next: at.outcome + 1, spans: map[*book]*span{}, tokens: map[bin]int64{}}, err
}

func (a *appending) record(r *flotilla.Record) error {
	b, err := a.book(r.Job)
	if err != nil {
		return err
	}
	ln, err := a.j.lane(lane{r.Org, r.Pool, r.Tier, r.Model})
	if err != nil {
		return err
	}
	day := a.j.day(r.At)
	if r.Tokens != 0 {
		a.tokens[bin{b.realm, r.Org, r.Pool, r.At.UnixNano() / int64(binWidth)}] += r.Tokens
	}
	switch r.Kind {
	case flotilla.IntentRecord:
		a.intent(b, r, ln, day)
		return nil
	case flotilla.AttemptRecord:
		return a.attempt(b, r, ln, day)
	case flotilla.OutcomeRecord:
		return a.outcome(b, r, ln, day)
	case flotilla.BatchRecord:
		return a.batch(b, r, ln, day)
	case flotilla.BlockRecord:
		return a.block(b, r, ln, day)
	}
	return fmt.Errorf("record of unknown kind %d", r.Kind)
}

func (a *appending) book(job int64) (*book, error) {
	b, err := a.j.bookOf(job)
	if err == nil && a.spans[b] == nil {
		a.spans[b] = &span{before: a.at}
		a.books = append(a.books, b)
	}
	return b, err
}

func (a *appending) intent(b *book, r *flotilla.Record, ln int64, day int) {
	sp := a.spans[b]
	if sp.live == 0 {
		b.spans = append(b.spans, sp)
	}
	b.intend(r.Attempt, openIntent{day: day, worst: r.Worst, wins: b.wins[ln], span: sp})
	t := &a.j.bulk.intent
	t.args = append(t.args, b.run, r.Row, r.Attempt, ln, r.At.UnixNano(), int64(r.Worst))
}

func (a *appending) attempt(b *book, r *flotilla.Record, ln int64, day int) error {
	own := failure(r) && (r.Batch != 0 || b.own(r.Attempt, ln))
	e, err := a.end(b, r, day)
	if err != nil {
		return err
	}
	t := &a.j.bulk.attempt
	t.args = append(t.args, b.job, e.run, r.Row, e.attempt, ln, r.At.UnixNano(), e.day, int64(r.Charged),
		doubtOf(r), own, r.Status, r.Tokens)
	return nil
}

// ended is where an attempt belongs: see v3 for those of batches.
type ended struct {
	attempt int64
	due
}

// end closes the attempt of a record and books its charge.
func (a *appending) end(b *book, r *flotilla.Record, day int) (ended, error) {
	if r.Batch != 0 {
		return a.rowEnd(b, r)
	}
	b.rows = max(b.rows, r.Row+1)
	if r.Block != 0 {
		return a.callEnd(b, r, day)
	}
	return ended{r.Attempt, due{b.run, b.end(r.Attempt, day, r.Charged)}}, nil
}

func (a *appending) outcome(b *book, r *flotilla.Record, ln int64, day int) error {
	kind, err := parseOutcome(r.Type)
	if err != nil {
		return err
	}
	stop, err := a.j.word(r.StopReason)
	if err != nil {
		return err
	}
	mark, err := a.j.word(r.Emulated)
	if err != nil {
		return err
	}
	e, err := a.end(b, r, day)
	if err != nil {
		return err
	}
	if kind == Succeeded {
		b.wins[ln]++
	}
	id := a.next
	a.next++
	at := int64(0)
	if len(r.Answer) > 0 {
		at = id
		a.j.bulk.answer.args = append(a.j.bulk.answer.args, id, r.Answer)
	}
	// No attempt was made for what the caller had from elsewhere.
	cached := kind == Succeeded && r.Attempts == 0 && r.Batch == 0
	t := &a.j.bulk.outcome
	t.args = append(t.args, id, b.job, e.run, r.Row, e.attempt, ln, r.At.UnixNano(), e.day, int64(r.Charged), int64(r.Cost), doubtOf(r), int64(kind),
		r.Status, r.Attempts, int64(r.Latency), stop, mark, r.Hash[:], r.Nth, cached, at, r.Out)
	return nil
}

// values of the columns named doubt.
const (
	certain = 0
	doubted = 1
	lost    = 2 // its process died
)

func doubtOf(r *flotilla.Record) int {
	if r.InDoubt {
		return doubted
	}
	return certain
}

// failure tells what may be a row's own failure from a refusal, which never is,
// and from a connection that was not had.
func failure(r *flotilla.Record) bool {
	switch {
	case r.Status == 529:
		return false
	case r.Status >= 500, r.Status == 408, r.Status == 409:
		return true
	}
	return r.InDoubt
}

func (a *appending) flush() error {
	if err := a.j.bulk.flush(a.j.w); err != nil {
		return err
	}
	for _, b := range a.books {
		if err := a.j.writeBatches(b); err != nil {
			return err
		}
		if err := a.j.writeBlocks(b); err != nil {
			return err
		}
		if err := a.j.writeRows(b); err != nil {
			return err
		}
		if err := a.j.writeSums(b); err != nil {
			return err
		}
		if err := a.writeLow(b); err != nil {
			return err
		}
		if err := a.j.writeDurable(b); err != nil {
			return err
		}
	}
	return a.j.writeTokens(a.tokens)
}

func (j *Journal) writeSums(b *book) error {
	for d, s := range b.sums {
		_, err := j.w.exec(`INSERT INTO spend(run, day, spent, open, held) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET spent = spent + excluded.spent, open = open + excluded.open, held = held + excluded.held`,
			d.run, d.day, int64(s.spent), int64(s.open), int64(s.held))
		if err != nil {
			return err
		}
	}
	return nil
}
