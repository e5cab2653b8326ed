package gateway

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// spoolDir is the directory of the batches' files. Every name begins with the
// batch's id.
type spoolDir string

// Endings of a batch's files.
const (
	endRows     = ".rows.jsonl"    // its requests, as internal/job reads them
	endKnown    = ".known.jsonl"   // results of those that no batch need or can carry
	endSum      = ".sha256"        // of all requests, where a cache is kept
	endOut      = ".out.jsonl"     // results of the others, as internal/job writes them
	endResults  = ".results.jsonl" // all, as its client reads them
	endCosts    = ".costs.jsonl"   // what they have cost, written with them
	endRejected = endOut + ".rejected.jsonl"
)

var spoolEnds = [...]string{endRows, endKnown, endSum, endOut, endRejected, endResults, endResults + partial, endCosts}

// partial ends the name of a file that is not whole.
const partial = ".part"

func (d spoolDir) name(id, end string) string { return filepath.Join(string(d), id+end) }

// remove takes away all files of a batch.
func (d spoolDir) remove(id string) error {
	var errs []error
	for _, end := range spoolEnds {
		if err := os.Remove(d.name(id, end)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// ids lists the batches that have files.
func (d spoolDir) ids() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, fmt.Errorf("directory of batches: %w", err)
	}
	var ids []string
	for _, e := range entries {
		id, _, ok := strings.Cut(e.Name(), ".")
		if ok && strings.HasPrefix(id, batchMark) && (len(ids) == 0 || ids[len(ids)-1] != id) {
			ids = append(ids, id) // names come sorted
		}
	}
	return ids, nil
}

// sync makes the names in the directory durable.
func (d spoolDir) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(syncDir(f), f.Close())
}

// batchMark begins the ids of batches (facts/claude-api.md 4.2).
const batchMark = "msgbatch_"

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newBatchID is an id that nobody guesses.
func newBatchID() string {
	id := []byte(batchMark)
	for len(id) < len(batchMark)+24 {
		var b [32]byte
		_, _ = rand.Read(b[:]) // never fails
		for _, x := range b {
			if x < 4*62 && len(id) < len(batchMark)+24 { // no letter comes more often
				id = append(id, base62[x%62])
			}
		}
	}
	return string(id)
}

// spool is a batch's requests while they are written. Its rows' file is locked
// until the journal knows of it, so that no other gateway on the same directory
// takes it for a leftover.
type spool struct {
	dir         spoolDir
	id          string
	rows, known *spoolFile
}

type spoolFile struct {
	f *os.File
	w *bufio.Writer
	n int // lines
}

func (d spoolDir) create(id string) (*spool, error) {
	s := &spool{dir: d, id: id}
	for _, of := range []struct {
		to  **spoolFile
		end string
	}{{&s.rows, endRows}, {&s.known, endKnown}} {
		f, err := os.OpenFile(d.name(id, of.end), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			s.discard()
			return nil, fmt.Errorf("keep the requests of a batch: %w", err)
		}
		*of.to = &spoolFile{f: f, w: bufio.NewWriterSize(f, 1<<16)}
	}
	if lockFile(s.rows.f) {
		s.discard()
		return nil, errors.New("keep the requests of a batch: another process has its file")
	}
	return s, nil
}

// row keeps a request as a line of form 1 (interface.md, "Input"), its params as
// they came but for line breaks between tokens.
func (s *spool) row(r *uploadRow) error {
	w := s.rows.w
	_, _ = w.WriteString(`{"custom_id":"`)
	_, _ = w.WriteString(r.id)
	_, _ = w.WriteString(`","params":`)
	_, _ = w.Write(onOneLine(r.params))
	s.rows.n++
	_, err := w.WriteString("}\n") // a writer keeps its first error
	return err
}

// settle keeps the result of a request that goes nowhere.
func (s *spool) settle(id, result string) error {
	s.known.n++
	_, err := s.known.w.WriteString(resultLine(id, result))
	return err
}

// resultLine is a line of results. The id's letters need no escape.
func resultLine(id, result string) string {
	return `{"custom_id":"` + id + `","result":` + result + "}\n"
}

// sum keeps what tells the create from others.
func (s *spool) sum(text string) error {
	return os.WriteFile(s.dir.name(s.id, endSum), []byte(text), 0o600)
}

// commit makes what was written durable.
func (s *spool) commit() error {
	for _, f := range []*spoolFile{s.rows, s.known} {
		if err := errors.Join(f.w.Flush(), f.f.Sync()); err != nil {
			return fmt.Errorf("keep the requests of a batch: %w", err)
		}
	}
	return s.dir.sync()
}

// release lets go of the files.
func (s *spool) release() {
	for _, f := range []*spoolFile{s.rows, s.known} {
		if f != nil {
			_ = f.f.Close()
		}
	}
}

// discard takes the files back.
func (s *spool) discard() {
	s.release()
	_ = s.dir.remove(s.id)
}
