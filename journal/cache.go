package journal

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"github.com/flotilla-llm/flotilla"
)

// Cached looks n keys up among the successes of other jobs on this journal: key
// gives a row's body hash, which covers provider, version and betas too, and
// how-many-th equal body it is. The result has, per row, the ID of the newest
// such [Answer]; 0: there is none. Only answers of the job's own provenance
// count. Key must not use the journal.
//
// All outcomes of the journal are read once, about half a microsecond each: an
// index on hashes would cost every append more than that (facts/dependencies.md,
// journal).
func (job *Job) Cached(ctx context.Context, n int, key func(row int) (hash [16]byte, nth int)) ([]int64, error) {
	found := make([]int64, n)
	t := newKeyTable(n, key)
	err := job.j.read(ctx, "look up answers", func(l *link) error {
		return l.each(func(rows *sql.Rows) error {
			var id int64
			var nth int
			var hash sql.RawBytes
			if err := rows.Scan(&id, &hash, &nth); err != nil {
				return err
			}
			for row := range t.rows([16]byte(hash), nth) {
				found[row] = id
			}
			return nil
		}, `SELECT id, hash, nth FROM outcome WHERE type = 1 AND mark = (SELECT id FROM word WHERE text = ?)
			AND job NOT IN (SELECT id FROM job WHERE id = ? OR state = ?)`, job.spec.Emulated, job.ID, removing)
	})
	return found, err
}

// keyTable finds rows by key: open addressing over row numbers, four bytes a
// slot, so that the keys stay where the caller has them.
type keyTable struct {
	key   func(int) ([16]byte, int)
	slots []uint32 // row + 1; 0: empty
}

func newKeyTable(n int, key func(int) ([16]byte, int)) *keyTable {
	size := 16
	for size < 2*n {
		size *= 2
	}
	t := &keyTable{key: key, slots: make([]uint32, size)}
	for row := range n {
		hash, nth := key(row)
		i := t.slot(hash, nth)
		for ; t.slots[i] != 0; i = t.after(i) {
		}
		t.slots[i] = uint32(row + 1)
	}
	return t
}

// slot takes the hash's own bits: it is one of SHA-256.
func (t *keyTable) slot(hash [16]byte, nth int) int {
	return int((binary.LittleEndian.Uint64(hash[:]) + uint64(nth)*0x9e3779b97f4a7c15) & uint64(len(t.slots)-1))
}

func (t *keyTable) after(i int) int { return (i + 1) & (len(t.slots) - 1) }

// rows yields the rows of a key.
func (t *keyTable) rows(hash [16]byte, nth int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := t.slot(hash, nth); t.slots[i] != 0; i = t.after(i) {
			row := int(t.slots[i] - 1)
			if h, n := t.key(row); h == hash && n == nth && !yield(row) {
				return
			}
		}
	}
}

// adoptRows bounds one transaction of Adopt, so that another process waits for
// a fraction of a second at most.
const adoptRows = 10_000

// Adopt settles rows of the job by answers of others, as Cached found them: they
// cost nothing, and the answers are not copied.
func (job *Job) Adopt(ctx context.Context, adoptions []Adoption) error {
	if job.book == nil {
		return fmt.Errorf("journal: settle rows from the cache: %w", errPeeked)
	}
	for len(adoptions) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(adoptions), adoptRows)
		err := job.j.write("settle rows from the cache", func() error { return job.adopt(adoptions[:n]) })
		if err != nil {
			return err
		}
		adoptions = adoptions[n:]
	}
	return nil
}

// Adoption is a row and the ID of the answer that settles it.
type Adoption struct {
	Row    int
	Answer int64
	Nth    int // how-many-th equal body the row is
}

func (job *Job) adopt(adoptions []Adoption) error {
	for _, a := range adoptions {
		n, err := job.j.w.exec(`INSERT INTO outcome(job, run, row, attempt, lane, at, day, charged, cost, doubt, type, status, tries, latency, stop, mark, hash, nth, cached, answer, out)
			SELECT ?, ?, ?, 0, lane, at, day, 0, 0, 0, type, status, 0, latency, stop, mark, hash, ?, 1, answer, out FROM outcome
			WHERE id = ? AND job NOT IN (SELECT id FROM job WHERE state = ?)`,
			job.ID, job.book.run, a.Row, a.Nth, a.Answer, removing)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("the answer for row %d was removed meanwhile", a.Row)
		}
	}
	return nil
}

var _ flotilla.Store = (*Journal)(nil)
