package journal

import "errors"

// ErrClosed is the error of a journal that has been closed.
var ErrClosed = errors.New("journal: closed")

// ErrLost is the error of a journal whose process was silent for so long that
// another host's took it for dead and may have taken its jobs.
var ErrLost = errors.New("another process took this one for dead")

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
