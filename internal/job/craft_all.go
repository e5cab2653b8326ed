package job

import (
	"context"
	"iter"
)

// all yields every call of this run that has settled for good, in the order of
// settling. What it yields is valid until the next.
func (r *Run) all(ctx context.Context) iter.Seq2[*Done, error] {
	return func(yield func(*Done, error) bool) {
		standing, err := r.book.Standing(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		var rec record
		for a, err := range r.book.Answers(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if a.Row >= r.limit || !r.x.holds(a.Row) || standing.At(a.Row) != a.At || r.src.again[a.Row].craft {
				continue
			}
			d, err := r.doneOf(&a, &rec)
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

func (r *Run) doneOf(a *Answer, rec *record) (*Done, error) {
	if err := r.x.read(a.Row/r.x.repeats, rec); err != nil {
		return nil, err
	}
	id, err := r.x.id(a.Row, rec)
	return r.x.done(a, rec, id, r.chains), err
}
