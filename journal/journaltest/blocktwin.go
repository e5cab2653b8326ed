package journaltest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// slowLine is a line and its provider by the obvious means: it knows what each
// call was billed, whether the journal has been told or not.
type slowLine struct {
	job    int64
	number int64
	row    int
	blocks map[int64]*slowBlock
	calls  []slowCall // in flight, or ended and not told

	told   flotilla.Money            // charges that the journal was told
	tolds  map[string]flotilla.Money // … by day
	doubts flotilla.Money            // what is left of blocks that a crash left open
	now    time.Time
}

type slowBlock struct {
	left flotilla.Money // that the journal was told of
	free flotilla.Money // that no call has taken
	of   string         // day of opening
}

type slowCall struct {
	block  int64
	worst  flotilla.Money
	billed flotilla.Money // once it has ended
	ended  bool
	row    int
}

func dayOf(at time.Time) string { return at.Format(time.DateOnly) }

// step draws one step; the record is of the zero kind and job where there is
// nothing to tell.
func (s *slowLine) step(rt *rapid.T) (r flotilla.Record, tells bool) {
	switch rapid.IntRange(0, 9).Draw(rt, "step") {
	case 0:
		s.number++
		worst := flotilla.Money(rapid.IntRange(1, 1000).Draw(rt, "reserve"))
		s.blocks[s.number] = &slowBlock{left: worst, free: worst, of: dayOf(s.now)}
		r = Reserved(s.job, s.number, worst)
	case 1:
		return s.closeBlock(rt)
	case 2:
		s.now = s.now.Add(time.Duration(rapid.IntRange(0, 10).Draw(rt, "hours")) * time.Hour)
		return r, false
	case 3, 4, 5:
		s.send(rt)
		return r, false
	case 6, 7:
		for i := range s.calls {
			if c := &s.calls[i]; !c.ended {
				c.ended, c.billed = true, flotilla.Money(rapid.Int64Range(0, int64(c.worst)).Draw(rt, "billed"))
				break
			}
		}
		return r, false
	default:
		return s.tell(rt)
	}
	r.At = s.now
	return r, true
}

func (s *slowLine) send(rt *rapid.T) {
	for n := int64(1); n <= s.number; n++ {
		b := s.blocks[n]
		if b == nil || b.free == 0 {
			continue
		}
		worst := flotilla.Money(rapid.Int64Range(1, int64(b.free)).Draw(rt, "worst"))
		b.free -= worst
		s.calls = append(s.calls, slowCall{block: n, worst: worst, row: s.row})
		s.row++
		return
	}
}

// tell is the record of the first call that ended.
func (s *slowLine) tell(rt *rapid.T) (r flotilla.Record, tells bool) {
	for i, c := range s.calls {
		if !c.ended {
			continue
		}
		s.calls = append(s.calls[:i], s.calls[i+1:]...)
		s.blocks[c.block].left -= c.worst
		r = Drawn(s.job, c.block, c.row, c.worst, c.billed)
		if rapid.IntRange(0, 3).Draw(rt, "unsettled") == 0 {
			r = Ended(s.job, c.row, int64(c.row+1), c.billed, false)
			r.Block, r.Worst = c.block, c.worst
		}
		r.At = s.now
		s.told += c.billed
		s.tolds[dayOf(s.now)] += c.billed
		return r, true
	}
	return r, false
}

func (s *slowLine) closeBlock(rt *rapid.T) (r flotilla.Record, tells bool) {
	for n := int64(1); n <= s.number; n++ {
		b := s.blocks[n]
		if b == nil || s.drawn(n) || rapid.Bool().Draw(rt, "keep") {
			continue
		}
		delete(s.blocks, n)
		r = Freed(s.job, n)
		r.At = s.now
		return r, true
	}
	return r, false
}

func (s *slowLine) drawn(n int64) bool {
	for _, c := range s.calls {
		if c.block == n {
			return true
		}
	}
	return false
}

// billable is what the provider may have billed, told or not: never more may the
// journal lack.
func (s *slowLine) billable() (sum flotilla.Money) {
	sum = s.told
	for _, c := range s.calls {
		if c.ended {
			sum += c.billed
		} else {
			sum += c.worst
		}
	}
	return sum
}

func (s *slowLine) left() (sum flotilla.Money) {
	for _, b := range s.blocks {
		sum += b.left
	}
	return sum
}

// crash forgets the line: what was left of its blocks is in doubt.
func (s *slowLine) crash() {
	s.doubts += s.left()
	s.blocks, s.calls = map[int64]*slowBlock{}, nil
}

// blockTwin draws what a line does, with crashes at any moment, and holds the
// journal's money to the line's: never less than what may have been billed, and
// exact once the line is closed.
func blockTwin(t *testing.T, b Book) {
	jobs := 0
	rapid.Check(t, func(rt *rapid.T) {
		jobs++
		client := fmt.Sprintf("client %d", jobs)
		spec := serving(client, client)
		job := begin(t, b, spec)
		s := &slowLine{job: job.Number(), blocks: map[int64]*slowBlock{}, tolds: map[string]flotilla.Money{}, now: Noon}
		lost := flotilla.Money(0) // billable of crashed runs that was not told
		for range rapid.IntRange(1, 10).Draw(rt, "groups") {
			var group []flotilla.Record
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				if r, tells := s.step(rt); tells {
					group = append(group, r)
				}
			}
			if err := b.Append(group); err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 5).Draw(rt, "crash") == 0 {
				lost += s.billable() - s.told
				s.crash()
				end(t, job, journal.Stopped)
				job = begin(t, b, spec)
			}
			s.compare(rt, t, b, job, client, lost)
		}
		var rest []flotilla.Record
		for range s.calls {
			s.calls[0].ended = true
			r, _ := s.tell(rt)
			rest = append(rest, r)
		}
		for n := range s.blocks {
			rest = append(rest, Freed(s.job, n))
		}
		s.blocks = nil
		if err := b.Append(rest); err != nil {
			rt.Fatal(err)
		}
		if spent, err := job.Spent(t.Context()); err != nil || spent != s.told+s.doubts {
			rt.Fatalf("%v spent of a closed line, %v; want %v and %v in doubt", spent, err, s.told, s.doubts)
		}
		end(t, job, journal.Stopped)
	})
}

func (s *slowLine) compare(rt *rapid.T, t *testing.T, b Book, job Job, client string, lost flotilla.Money) {
	spent, err := job.Spent(t.Context())
	if err != nil || spent != s.told+s.left()+s.doubts {
		rt.Fatalf("%v spent, %v; want %v told, %v left in blocks and %v in doubt", spent, err, s.told, s.left(), s.doubts)
	}
	if may := s.billable() + lost; spent < may {
		rt.Fatalf("%v spent, and %v may have been billed", spent, may)
	}
	today, err := b.SpentBy(t.Context(), client, s.now)
	if may := s.tolds[dayOf(s.now)] + s.billable() - s.told; err != nil || today < may {
		rt.Fatalf("%v spent today, %v, and %v may have been billed", today, err, may)
	}
	st := state(t, job)
	if st.Doubt != s.doubts || st.Spent != spent {
		rt.Fatalf("%v in doubt of %v, want %v", st.Doubt, st.Spent, s.doubts)
	}
	a, err := b.Audit(t.Context(), s.job, nil)
	if err != nil || a.Booked != a.Counted || len(a.Blocks) > 0 || len(a.Doubled) > 0 {
		rt.Fatalf("audit %+v, %v", a, err)
	}
}
