package journal

import (
	"context"
	"database/sql"
	"iter"
)

// Success is an answer that may be given again to an equal call.
type Success struct {
	Hash [16]byte
	Nth  int   // how-many-th equal body it is
	ID   int64 // of its [Answer]
}

// successPage is how many outcomes are gathered before the connection is let go.
const successPage = 16_384

// Successes yields the successes of a realm whose answers are kept, in the order
// in which they settled: of two with one key the later is the newer, and its
// place is that of both. It is one scan of all outcomes, as [Job.Cached] is; the
// journal may be used inside the loop. It ends with an error's pair where there
// is one.
func (j *Journal) Successes(ctx context.Context, realm Realm) iter.Seq2[Success, error] {
	return func(yield func(Success, error) bool) {
		page := make([]Success, 0, successPage)
		for after := int64(0); ; {
			var err error
			if page, err = j.successes(ctx, realm, after, page[:0]); err != nil {
				yield(Success{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
			if len(page) < successPage {
				return
			}
			after = page[len(page)-1].ID
		}
	}
}

func (j *Journal) successes(ctx context.Context, realm Realm, after int64, page []Success) ([]Success, error) {
	err := j.read(ctx, "look up answers", func(l *link) error {
		return l.each(func(rows *sql.Rows) error {
			var s Success
			var hash sql.RawBytes
			err := rows.Scan(&s.ID, &hash, &s.Nth)
			copy(s.Hash[:], hash)
			page = append(page, s)
			return err
		}, `SELECT id, hash, nth FROM outcome WHERE id > ? AND type = 1 AND answer <> 0 AND mark = (SELECT id FROM word WHERE text = ?)
			AND job IN (SELECT id FROM job WHERE provider = ? AND state <> ?) ORDER BY id LIMIT ?`, after, realm.Emulated, realm.Provider, removing, successPage)
	})
	return page, err
}
