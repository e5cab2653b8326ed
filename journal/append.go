package journal

import (
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// ErrClosed is the error of a journal that has been closed.
var ErrClosed = errors.New("journal: closed")

// ErrLost is the error of a journal whose process was silent for so long that
// another host's took it for dead and may have taken its jobs.
var ErrLost = errors.New("another process took this one for dead")

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

// write runs fn in a transaction of the writing connection.
func (j *Journal) write(doing string, fn func() error) error {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	if j.shut.Load() {
		return ErrClosed
	}
	proc := j.proc
	err := j.w.transact(func() error {
		if err := j.enlist(); err != nil {
			return err
		}
		return fn()
	})
	if err != nil && j.proc != proc {
		j.setLiving(j.proc, false)
		j.proc = proc
	}
	j.end(err == nil)
	return classify(doing, j.path, err)
}

func (j *Journal) end(committed bool) {
	j.words.end(committed)
	j.lanes.end(committed)
	j.bulk.drop()
	for job, b := range j.books {
		if b.born && !committed {
			delete(j.books, job)
		}
		b.finish(committed)
	}
}

// enlist writes who we are before the first thing we write, and a sign of life
// from time to time.
func (j *Journal) enlist() error {
	now := j.opt.Now()
	if j.proc == 0 {
		id, err := j.w.insert("INSERT INTO proc(pid, host, boot, space, start, opened, seen) VALUES (?, ?, ?, ?, ?, ?, ?)",
			j.me.pid, j.me.host, j.me.boot, j.me.space, j.me.start, now.UnixNano(), now.UnixNano())
		if err == nil {
			j.proc, j.seen = id, now
			j.setLiving(id, true)
		}
		return err
	}
	if now.Sub(j.seen) < silence/10 {
		return nil
	}
	j.seen = now
	n, err := j.w.exec("UPDATE proc SET seen = ? WHERE id = ? AND ended IS NULL", now.UnixNano(), j.proc)
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}

// sequences are the last ids given in the tables that a run appends to.
type sequences struct{ intent, attempt, outcome int64 }

func (j *Journal) sequences() (s sequences, err error) {
	err = j.w.one([]any{&s.intent, &s.attempt, &s.outcome}, `SELECT
		coalesce(max(seq) FILTER (WHERE name = 'intent'), 0),
		coalesce(max(seq) FILTER (WHERE name = 'attempt'), 0),
		coalesce(max(seq) FILTER (WHERE name = 'outcome'), 0) FROM sqlite_sequence`)
	return s, err
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
		a.attempt(b, r, ln, day)
		return nil
	case flotilla.OutcomeRecord:
		return a.outcome(b, r, ln, day)
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

func (a *appending) attempt(b *book, r *flotilla.Record, ln int64, day int) {
	own := failure(r) && b.own(r.Attempt, ln)
	day = b.end(r.Attempt, day, r.Charged)
	t := &a.j.bulk.attempt
	t.args = append(t.args, b.job, b.run, r.Row, r.Attempt, ln, r.At.UnixNano(), day, int64(r.Charged),
		doubtOf(r), own, r.Status, r.Tokens)
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
	day = b.end(r.Attempt, day, r.Charged)
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
	cached := kind == Succeeded && r.Attempts == 0
	t := &a.j.bulk.outcome
	t.args = append(t.args, id, b.job, b.run, r.Row, r.Attempt, ln, r.At.UnixNano(), day, int64(r.Charged), int64(r.Cost), doubtOf(r), int64(kind),
		r.Status, r.Attempts, int64(r.Latency), stop, mark, r.Hash[:], r.Nth, cached, at)
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
	for day, s := range b.sums {
		_, err := j.w.exec(`INSERT INTO spend(run, day, spent, open) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET spent = spent + excluded.spent, open = open + excluded.open`,
			b.run, day, int64(s.spent), int64(s.open))
		if err != nil {
			return err
		}
	}
	return nil
}

// lowStep is by how many intents the run row's low marks lag at most: they
// only save a reader of a dead run from reading it all.
const lowStep = 4096

func (a *appending) writeLow(b *book) error {
	low := a.at
	for _, sp := range b.spans {
		if sp.live > 0 {
			low = sp.before
			break
		}
	}
	if low.intent-b.low < lowStep {
		return nil
	}
	_, err := a.j.w.exec("UPDATE run SET low_intent = ?, low_attempt = ?, low_outcome = ? WHERE id = ?", low.intent, low.attempt, low.outcome, b.run)
	if err == nil {
		b.low = low.intent
	}
	return err
}

// dayCache remembers the bounds of the local day asked for last.
type dayCache struct {
	from, to int64
	day      int
}

// day is the local day of t as yyyymmdd.
func (j *Journal) day(t time.Time) int {
	c := &j.dayOf
	if n := t.UnixNano(); n >= c.from && n < c.to {
		return c.day
	}
	c.from, c.to, c.day = dayBounds(t, j.opt.Location)
	return c.day
}

func dayBounds(t time.Time, loc *time.Location) (from, to int64, day int) {
	y, m, d := t.In(loc).Date()
	from = time.Date(y, m, d, 0, 0, 0, 0, loc).UnixNano()
	to = time.Date(y, m, d+1, 0, 0, 0, 0, loc).UnixNano()
	return from, to, y*10000 + int(m)*100 + d
}
