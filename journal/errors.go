package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// FullError says that the disk, or the limit of [Options.MaxPages], has no room
// for what was to be written. What was committed before stands.
type FullError struct {
	Path string
	Err  error
}

func (e *FullError) Error() string { return fmt.Sprintf("no room left for %s: %v", e.Path, e.Err) }
func (e *FullError) Unwrap() error { return e.Err }

// ReadOnlyError says that the journal or its directory may not be written.
type ReadOnlyError struct {
	Path string
	Err  error
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("%s may not be written: %v", e.Path, e.Err)
}
func (e *ReadOnlyError) Unwrap() error { return e.Err }

// CorruptError says that the file is no journal or is damaged. It was left as
// it was found.
type CorruptError struct {
	Path string
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged or no journal: %v", e.Path, e.Err)
}
func (e *CorruptError) Unwrap() error { return e.Err }

// NewerError says that a later version wrote the journal. It was left as it was
// found.
type NewerError struct {
	Path         string
	Found, Known int // schema versions
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has schema version %d, this program knows %d", e.Path, e.Found, e.Known)
}

// BusyError says that another process held the journal for longer than
// [Options.BusyWait].
type BusyError struct {
	Path string
	Err  error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("another process holds %s: %v", e.Path, e.Err)
}
func (e *BusyError) Unwrap() error { return e.Err }

// HeldError says that a live process has the job.
type HeldError struct {
	Job   string // its short id
	PID   int
	Host  string
	Since time.Time // when that process began the job
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("job %s is being run by process %d on %s", e.Job, e.PID, e.Host)
}

// OpenBatchesError says that a job has batches at the provider whose results
// nobody has asked for.
type OpenBatchesError struct {
	Job     string // its short id
	Batches int
	Rows    int // that have not come back
}

func (e *OpenBatchesError) Error() string {
	return fmt.Sprintf("job %s has %d rows in %d batches that are not closed", e.Job, e.Rows, e.Batches)
}

// NoJobError says that no job, or more than one, has an id that begins so.
type NoJobError struct {
	Prefix  string
	Matches int // 0, or at least 2
}

func (e *NoJobError) Error() string {
	if e.Matches > 1 {
		return fmt.Sprintf("%d jobs have an id that begins with %q", e.Matches, e.Prefix)
	}
	return fmt.Sprintf("no job has an id that begins with %q", e.Prefix)
}

func noJob(job int64) error { return fmt.Errorf("there is no job %d", job) }

// classify gives the error of SQLite or the file system at path its type, so
// that a caller can branch with errors.As, and what was being done.
func classify(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("journal: %s: %w", doing, typed(path, err))
}

func typed(path string, err error) error {
	var se *sqlite.Error
	if errors.As(err, &se) {
		return typedCode(path, se.Code(), err)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &FullError{path, err}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &ReadOnlyError{path, err}
	}
	return err
}

// typedCode maps SQLite's primary result codes (sqlite.org/rescode.html).
func typedCode(path string, code int, err error) error {
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return &FullError{path, err}
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return &ReadOnlyError{path, err}
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &CorruptError{path, err}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return &BusyError{path, err}
	}
	return err
}
