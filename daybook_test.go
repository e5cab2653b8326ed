package flotilla_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/flotilla-llm/flotilla"
)

// daybook is a Store that knows what a journal tells the next run. It fails
// after a number of records, as a process that is killed does.
type daybook struct {
	mu   sync.Mutex
	left int // records until it dies; negative: it does not
	all  []flotilla.Record
}

var errKilled = errors.New("killed")

func (d *daybook) Append(records []flotilla.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range records {
		if d.left == 0 {
			return errKilled
		}
		if d.left > 0 {
			d.left--
		}
		r.Answer = append([]byte(nil), records[i].Answer...)
		d.all = append(d.all, r)
	}
	return nil
}

// standing is what a run finds.
type standing struct {
	settled map[int]flotilla.Record
	doubted map[int]bool // an attempt by sync had no end
	open    []flotilla.OpenBatch
	spent   flotilla.Money // what was charged, and what is in doubt; not what open batches reserve
}

func (d *daybook) standing(t *testing.T) standing {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := standing{settled: map[int]flotilla.Record{}, doubted: map[int]bool{}}
	open := map[int64]*flotilla.OpenBatch{}
	var order []int64
	type key struct {
		row     int
		attempt int64
	}
	intents := map[key]flotilla.Money{}
	for _, r := range d.all {
		b := open[r.Batch]
		switch {
		case r.Kind == flotilla.IntentRecord:
			intents[key{r.Row, r.Attempt}] = r.Worst
		case r.Kind == flotilla.BatchRecord && r.Step == flotilla.BatchIntent:
			open[r.Batch] = &flotilla.OpenBatch{
				Number: r.Batch, Org: r.Org, OrgID: r.OrgID, Pool: r.Pool, Rows: append([]int(nil), r.Rows...),
				Sent: len(r.Rows), Bytes: r.Bytes, Worst: r.Worst, At: r.At,
			}
			order = append(order, r.Batch)
		case r.Kind == flotilla.BatchRecord && b == nil:
			t.Errorf("a step of no open batch: %+v", r)
		case r.Kind == flotilla.BatchRecord && r.Step == flotilla.BatchMade:
			b.ID, b.Sure = r.BatchID, r.Sure
		case r.Kind == flotilla.BatchRecord && r.Step == flotilla.BatchCanceling:
			b.Canceling = true
		case r.Kind == flotilla.BatchRecord:
			if r.Step == flotilla.BatchLost {
				s.spent += b.Worst
			}
			delete(open, r.Batch)
		default:
			s.spent += r.Charged
			if r.Batch == 0 {
				delete(intents, key{r.Row, r.Attempt})
			} else if b == nil {
				t.Errorf("a row of no open batch: %+v", r)
			} else {
				b.Worst -= r.Worst
				for i, row := range b.Rows {
					if row == r.Row {
						b.Rows = append(b.Rows[:i], b.Rows[i+1:]...)
						break
					}
				}
			}
			if r.Kind == flotilla.OutcomeRecord {
				if _, twice := s.settled[r.Row]; twice {
					t.Errorf("row %d settled twice", r.Row)
				}
				s.settled[r.Row] = r
			}
		}
	}
	for k, worst := range intents { // of calls whose process died
		s.spent += worst
		s.doubted[k.row] = true
	}
	for _, n := range order {
		if b := open[n]; b != nil {
			s.open = append(s.open, *b)
		}
	}
	return s
}

// resumed is a pile as a next run finds it.
func (s *standing) resumed(fleet *flotilla.Fleet, bodies [][]byte) *pile {
	p := newPile(fleet, bodies)
	for row := range s.settled {
		p.where[row] = settled
	}
	for row := range s.doubted {
		p.rows[row].InDoubt = true
	}
	p.kept = map[int]bool{}
	for _, b := range s.open {
		for _, row := range b.Rows {
			p.kept[row] = true
		}
	}
	return p
}
