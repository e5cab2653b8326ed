package lab

import (
	"context"
	"maps"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// look reads how the open batches of each org stand, by a list, and those that
// a list does not show one by one.
func (t *turn) look(ctx context.Context) error {
	for org, oldest := range t.openByOrg() {
		found := map[string]wire.Batch{}
		err := t.d.list(ctx, org, func(b wire.Batch) bool {
			found[b.ID] = b
			return !b.CreatedAt.Before(oldest.Add(-24 * time.Hour)) // no older one is open
		})
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		t.others[org] = max(t.others[org], t.queuedByOthers(found))
		for i := range t.slots {
			s := &t.slots[i]
			if s.state != open || s.Org != org {
				continue
			}
			b, ok := found[s.batch.ID]
			if !ok {
				if b, err = t.d.poll(ctx, org, s.batch.ID); err != nil {
					if err := t.lost(ctx, s, err); err != nil {
						return err
					}
					continue
				}
			}
			t.take(s, b)
		}
	}
	return nil
}

// lost is bear for a batch that cannot be read: the API may not know a new one
// for a while (facts/peer-faults.md 9).
func (t *turn) lost(ctx context.Context, s *slot, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.tries++; s.tries > mostTries {
		s.state = dropped
		t.giveUp(err)
	}
	return nil
}

func (t *turn) take(s *slot, b wire.Batch) {
	s.tries = 0
	s.batch = b
	if b.Status == wire.BatchEnded {
		s.state = ended
		if t.moved.Before(b.EndedAt) {
			t.moved = b.EndedAt
		}
	}
}

// openByOrg gives the orgs that have open lots, with the oldest creation.
func (t *turn) openByOrg() map[string]time.Time {
	orgs := map[string]time.Time{}
	for i := range t.slots {
		if s := &t.slots[i]; s.state == open {
			if at, ok := orgs[s.Org]; !ok || s.batch.CreatedAt.Before(at) {
				orgs[s.Org] = s.batch.CreatedAt
			}
		}
	}
	return orgs
}

// queuedByOthers is how many rows of a list are in open batches that are not
// ours.
func (t *turn) queuedByOthers(found map[string]wire.Batch) int64 {
	ours := map[string]bool{}
	for i := range t.slots {
		ours[t.slots[i].batch.ID] = true
	}
	sum := int64(0)
	for id := range maps.Keys(found) {
		if b := found[id]; !ours[id] && b.Status != wire.BatchEnded {
			sum += b.Rows()
		}
	}
	return sum
}
