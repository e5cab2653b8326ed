package journal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

// Options shape a journal. The zero value is the recommendation.
type Options struct {
	// Now is the clock of leases and of signs of life, always real time: what
	// [flotilla.Record] says of times may be on a scaled one. Nil: time.Now.
	Now func() time.Time

	// Location is where midnight is, for caps per day. Nil: time.Local.
	Location *time.Location

	// BusyWait is how long to wait for another process's transaction.
	// 0: 10 s, some hundred times the longest.
	BusyWait time.Duration

	// Exclusive keeps all other processes out, as on a network file system.
	Exclusive bool

	// MaxPages bounds the file to so many pages of 4 KiB; what goes beyond is a
	// [FullError]. 0: the disk alone bounds it.
	MaxPages int

	// volatile leaves syncing to the system: for tests of what is shared, which
	// commit thousands of times and crash nothing.
	volatile bool
}

func (o *Options) fill() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.BusyWait == 0 {
		o.BusyWait = 10 * time.Second
	}
}

// Journal is a flotilla.Store in SQLite. Its methods may be called from several
// goroutines.
type Journal struct {
	path string
	opt  Options
	me   process

	w *link // the one connection that writes
	r *link // a second one that cannot; w itself where one must do

	shut atomic.Bool // closed

	// All below belongs to the holder of w.mu.
	proc  int64 // our row in proc; 0: nothing written yet
	seen  time.Time
	books map[int64]*book // by job, of runs that are ours and go on
	words numbers[string]
	lanes numbers[lane]
	dayOf dayCache
	bulk  bulks
}

// Open opens the journal at path (see [Locate]) and creates it and its directory
// where they are not there. A journal of an older schema is brought forward in
// one transaction. The error is a *ReadOnlyError, *FullError, *CorruptError,
// *NewerError or *BusyError where it is one of these.
func Open(ctx context.Context, path string, opt Options) (*Journal, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("journal: open %s: %w", path, err)
	}
	if err := prepare(abs); err != nil {
		return nil, classify("create", abs, err)
	}
	// One name for one file: living knows our own by it.
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	opt.Exclusive = opt.Exclusive || network(filepath.Dir(abs))
	j, err := open(abs, opt)
	return j, classify("open", abs, err)
}

// Memory is a journal without a file: it forgets everything when it is closed.
// It is for tests and for programs that want neither resume nor cache.
func Memory() *Journal {
	j, err := open(memoryPath, Options{Exclusive: true})
	if err != nil {
		// No file, no disk, no other process: only a broken build fails here.
		panic(fmt.Sprintf("journal: open in memory: %v", err))
	}
	return j
}

const memoryPath = ":memory:"

func open(path string, opt Options) (*Journal, error) {
	opt.fill()
	// SQLite's source default is fsync; fdatasync leaves out the file's times
	// and is as durable. An error means that the system has none.
	_, _ = sqlite.Fdatasync(true)
	j := &Journal{path: path, opt: opt, me: self(), books: map[int64]*book{}, bulk: newBulks()}
	if err := j.connect(); err != nil {
		return nil, err
	}
	return j, nil
}

func (j *Journal) connect() error {
	var err error
	if j.w, err = dial(j.dsn(j.writerPragmas(), "")); err != nil {
		return err
	}
	j.r = j.w
	if err := j.patient(j.adopt); err != nil {
		_ = j.w.close()
		return err
	}
	if j.opt.Exclusive {
		return nil
	}
	if j.r, err = dial(j.dsn(j.readerPragmas(), "mode=ro")); err != nil {
		_ = j.w.close()
		return err
	}
	return nil
}

// patient repeats what meets a lock, for as long as BusyWait: SQLite's own
// waiting does not cover the change to WAL, which needs the file alone for a
// moment, and two processes may make one journal at once.
func (j *Journal) patient(fn func() error) error {
	for deadline := time.Now().Add(j.opt.BusyWait); ; time.Sleep(5 * time.Millisecond) {
		err := fn()
		var busy *BusyError
		if !errors.As(typed(j.path, err), &busy) || time.Now().After(deadline) {
			return err
		}
	}
}

// adopt makes the file a journal of this version, if it is one or is empty.
func (j *Journal) adopt() error {
	if err := checkOwner(j.w, j.path); err != nil {
		return err
	}
	// Readers do not stop the writer, and a commit is one append and one sync.
	// It is written into the file, so not before the file is known to be ours.
	if _, err := j.w.conn.ExecContext(always, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	return migrate(j.w, j.path)
}

// Path is the journal's file; ":memory:" for one of [Memory].
func (j *Journal) Path() string { return j.path }

// Exclusive says that no other process can have this journal open, because its
// file system is a network's or [Options.Exclusive] asked for it.
func (j *Journal) Exclusive() bool { return j.opt.Exclusive && j.path != memoryPath }
