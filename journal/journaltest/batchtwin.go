package journaltest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// slowBatches keeps the batches of one job by the obvious means.
type slowBatches struct {
	open        map[int64]*slowBatch
	spent       flotilla.Money
	doubt       flotilla.Money
	doubts      int
	doubtful    map[int]bool
	settled     map[int]bool
	nextNumber  int64
	rows, worst int // of the job; of one row, at most
}

type slowBatch struct {
	worst map[int]flotilla.Money // of rows that are out
	made  bool
}

func (s *slowBatches) held() (held flotilla.Money) {
	for _, b := range s.open {
		for _, w := range b.worst {
			held += w
		}
	}
	return held
}

// step draws one record and takes it in.
func (s *slowBatches) step(rt *rapid.T, job int64) flotilla.Record {
	numbers := slices.Sorted(maps.Keys(s.open))
	if len(numbers) == 0 || rapid.IntRange(0, 4).Draw(rt, "new") == 0 {
		return s.send(rt, job)
	}
	n := rapid.SampledFrom(numbers).Draw(rt, "batch")
	b := s.open[n]
	switch rapid.IntRange(0, 9).Draw(rt, "step") {
	case 0:
		b.made = true
		return Step(job, n, flotilla.BatchMade)
	case 1:
		delete(s.open, n)
		return Step(job, n, flotilla.BatchClosed)
	case 2:
		for row, w := range b.worst {
			s.spent, s.doubt, s.doubts, s.doubtful[row] = s.spent+w, s.doubt+w, s.doubts+1, true
		}
		delete(s.open, n)
		return Step(job, n, flotilla.BatchLost)
	}
	return s.comeBack(rt, job, n, b)
}

func (s *slowBatches) send(rt *rapid.T, job int64) flotilla.Record {
	s.nextNumber++
	rows := rapid.SliceOfNDistinct(rapid.IntRange(0, s.rows-1), 1, 5, rapid.ID[int]).Draw(rt, "rows")
	b := &slowBatch{worst: map[int]flotilla.Money{}}
	total := flotilla.Money(0)
	for _, row := range rows {
		b.worst[row] = flotilla.Money(rapid.IntRange(0, s.worst).Draw(rt, "worst"))
		total += b.worst[row]
	}
	s.open[s.nextNumber] = b
	return Sent(job, s.nextNumber, total, rows...)
}

func (s *slowBatches) comeBack(rt *rapid.T, job, n int64, b *slowBatch) flotilla.Record {
	row := rapid.SampledFrom(slices.Sorted(maps.Keys(b.worst))).Draw(rt, "row")
	worst := b.worst[row]
	delete(b.worst, row)
	if len(b.worst) == 0 {
		delete(s.open, n)
	}
	charged := flotilla.Money(rapid.IntRange(0, int(worst)).Draw(rt, "charged"))
	s.spent += charged
	doubt := rapid.IntRange(0, 4).Draw(rt, "doubt") == 0
	if doubt {
		s.doubt, s.doubts = s.doubt+charged, s.doubts+1
	}
	if rapid.Bool().Draw(rt, "settled") {
		s.settled[row] = true
		r := Carried(job, n, row, rapid.SampledFrom([]string{"succeeded", "errored", "expired"}).Draw(rt, "kind"), worst, charged)
		r.InDoubt = doubt
		return r
	}
	if doubt {
		s.doubtful[row] = true
	}
	return Back(job, n, row, worst, charged, doubt)
}

// batchTwin draws what batches go through, with runs that end at any moment and
// groups of records that are refused as a whole, and compares.
func batchTwin(t *testing.T, b Book) {
	jobs := 0
	rapid.Check(t, func(rt *rapid.T) {
		jobs++
		s := &slowBatches{open: map[int64]*slowBatch{}, doubtful: map[int]bool{}, settled: map[int]bool{}, rows: 9, worst: 100}
		spec := Spec(fmt.Sprintf("batches %d", jobs), s.rows)
		job := begin(t, b, spec)
		for range rapid.IntRange(1, 12).Draw(rt, "groups") {
			var group []flotilla.Record
			for range rapid.IntRange(1, 6).Draw(rt, "records") {
				group = append(group, s.step(rt, job.Number()))
			}
			if rapid.IntRange(0, 3).Draw(rt, "refused first") == 0 {
				if err := b.Append(append(slices.Clone(group), Step(job.Number(), -1, flotilla.BatchMade))); err == nil {
					rt.Fatal("a step without an intent was taken")
				}
			}
			if err := b.Append(group); err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 4).Draw(rt, "end") == 0 {
				end(t, job, journal.Stopped)
				job = begin(t, b, spec)
			}
			s.compare(rt, t, b, job)
		}
		end(t, job, journal.Stopped)
	})
}

func (s *slowBatches) compare(rt *rapid.T, t *testing.T, b Book, job Job) {
	st := state(t, job)
	if st.Spent != s.spent+s.held() || st.Held != s.held() || st.Doubt != s.doubt || st.Doubts != s.doubts || st.Batches != len(s.open) {
		rt.Fatalf("%v spent, %v held for %d batches, %d in doubt with %v; want %v, %v, %d, %d, %v",
			st.Spent, st.Held, st.Batches, st.Doubts, st.Doubt, s.spent+s.held(), s.held(), len(s.open), s.doubts, s.doubt)
	}
	in := map[int]bool{}
	got := map[int64][]int{}
	for _, o := range batches(t, job) {
		got[o.Number] = o.Rows
		if want := s.open[o.Number]; want != nil && (o.ID != "") != want.made {
			rt.Fatalf("batch %d has id %q, made %v", o.Number, o.ID, want.made)
		}
	}
	want := map[int64][]int{}
	for n, o := range s.open {
		want[n] = slices.Sorted(maps.Keys(o.worst))
		for row := range o.worst {
			in[row] = true
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		rt.Fatalf("rows in batches (-want +got):\n%s", d)
	}
	for row := range s.rows {
		if st.InBatch(row) != in[row] || st.InDoubt(row) != s.doubtful[row] || (st.Outcome(row) != journal.Pending) != s.settled[row] {
			rt.Fatalf("row %d is %v, in a batch %v, in doubt %v; want settled %v, %v, %v",
				row, st.Outcome(row), st.InBatch(row), st.InDoubt(row), s.settled[row], in[row], s.doubtful[row])
		}
	}
	a, err := b.Audit(t.Context(), job.Number(), nil)
	if err != nil || a.Booked != a.Counted || len(a.Adrift) != 0 || len(a.Doubts) != s.doubts {
		rt.Fatalf("audit: booked %v, counted %v, adrift %v, %d doubts, %v", a.Booked, a.Counted, a.Adrift, len(a.Doubts), err)
	}
}
