package journaltest

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Reserved is the record of money that a line reserves ahead.
func Reserved(job, number int64, worst flotilla.Money) flotilla.Record {
	return flotilla.Record{Kind: flotilla.BlockRecord, Step: flotilla.BlockOpen, Job: job, Block: number, Worst: worst, At: Noon}
}

// Freed is the record that nothing draws on a block any more.
func Freed(job, number int64) flotilla.Record {
	return flotilla.Record{Kind: flotilla.BlockRecord, Step: flotilla.BlockClosed, Job: job, Block: number, At: Noon.Add(time.Minute)}
}

// Drawn is the record of a line's call, answered on the money of a block.
func Drawn(job, number int64, row int, worst, charged flotilla.Money) flotilla.Record {
	r := Settled(job, row, int64(row+1), "succeeded", charged)
	r.Block, r.Worst = number, worst
	return r
}

// serving is the job of a client's calls.
func serving(name, client string) journal.JobSpec {
	s := Spec(name, 0)
	s.Kind, s.Client = journal.KindServe, client
	return s
}

// spentBy checks what a job, its day and its client are said to have spent.
func spentBy(t *testing.T, b Book, job Job, client string, want flotilla.Money) {
	t.Helper()
	if spent, err := job.Spent(t.Context()); spent != want || err != nil {
		t.Errorf("%v spent, %v; want %v", spent, err, want)
	}
	if spent, err := b.SpentOn(t.Context(), Noon); spent != want || err != nil {
		t.Errorf("%v spent that day, %v; want %v", spent, err, want)
	}
	if spent, err := b.SpentBy(t.Context(), client, Noon); spent != want || err != nil {
		t.Errorf("%v spent by the client, %v; want %v", spent, err, want)
	}
	sound(t, b, job)
}

// spentOf checks what of that is spent, and what only set aside.
func spentOf(t *testing.T, b Book, job Job, client string, want, reserved flotilla.Money) {
	t.Helper()
	all, err := b.SpentOfClients(t.Context(), Noon)
	if got, some := all[client]; got != want || some != (want != 0) || err != nil {
		t.Errorf("clients spent %v, %v; %s %v", all, err, client, want)
	}
	if got, err := b.SettledOn(t.Context(), Noon); got != want || err != nil {
		t.Errorf("%v spent for good that day, %v; want %v", got, err, want)
	}
	if next, err := b.SpentOfClients(t.Context(), Noon.AddDate(0, 0, 1)); len(next) != 0 || err != nil {
		t.Errorf("on the day after they spent %v, %v", next, err)
	}
	info, err := b.Find(t.Context(), job.Name())
	if err != nil || info.Reserved != reserved || info.Spent != want+reserved {
		t.Errorf("the job spent %v, of it %v set aside, %v; want %v of %v", info.Spent, info.Reserved, err, reserved, want+reserved)
	}
}

func blockDrawn(t *testing.T, b Book) {
	job := begin(t, b, serving("a", "ada"))
	id := job.Number()
	add(t, b, Reserved(id, 7, 1000))
	spentBy(t, b, job, "ada", 1000)
	spentOf(t, b, job, "ada", 0, 1000)
	lost := Ended(id, 1, 2, 200, true)
	lost.Block, lost.Worst = 7, 200
	refused := Ended(id, 2, 3, 0, false)
	refused.Block, refused.Worst = 7, 300
	add(t, b, Drawn(id, 7, 0, 400, 30), lost, refused)
	spentBy(t, b, job, "ada", 330) // 30 and 200, and 100 that nobody drew
	spentOf(t, b, job, "ada", 230, 100)
	if got, err := b.Grant(t.Context(), id, Noon, 50, 340); err != nil || got.Own != 330 || got.Used != 340 || got.Granted != 340 {
		t.Errorf("granted %+v, %v", got, err)
	}
	add(t, b, Freed(id, 7))
	if spent, _ := job.Spent(t.Context()); spent != 230 {
		t.Errorf("%v spent, want 230", spent)
	}
	// What comes late is charged, and takes nothing from anybody.
	add(t, b, Drawn(id, 7, 3, 400, 5), Reserved(id, 8, 50), Freed(id, 8))
	spentBy(t, b, job, "ada", 235)
	if st := state(t, job); st.Doubts != 1 || st.Doubt != 200 || st.Outcome(0) != journal.Succeeded || st.Rows() != 4 {
		t.Errorf("%d in doubt with %v, rows %v", st.Doubts, st.Doubt, st.Counts)
	}
	end(t, job, journal.Stopped)
	spentBy(t, b, job, "ada", 235)
	if spent, err := b.SpentBy(t.Context(), "bob", Noon); spent != 0 || err != nil {
		t.Errorf("another client spent %v, %v", spent, err)
	}
	if err := b.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if spent, err := b.SpentBy(t.Context(), "ada", Noon); spent != 235 || err != nil {
		t.Errorf("%v spent by the client whose job was removed, %v", spent, err)
	}
}

func blockLost(t *testing.T, b Book) {
	job := begin(t, b, serving("a", "ada"))
	id := job.Number()
	add(t, b, Reserved(id, 7, 1000), Drawn(id, 7, 0, 400, 30), Reserved(id, 8, 500), Reserved(id, 9, 100), Freed(id, 9))
	end(t, job, journal.Stopped)
	again := begin(t, b, serving("a", "ada"))
	spentBy(t, b, again, "ada", 1130)
	st := state(t, again)
	if st.Doubts != 2 || st.Doubt != 1100 || st.Counts[journal.Succeeded] != 1 || st.InDoubt(0) {
		t.Errorf("%d in doubt with %v, rows %v", st.Doubts, st.Doubt, st.Counts)
	}
	a, err := b.Audit(t.Context(), id, nil)
	if err != nil || len(a.Doubts) != 2 || len(a.Blocks) != 0 {
		t.Fatalf("audit %+v, %v", a, err)
	}
	for i, want := range []journal.Doubt{{Row: -1, Block: 7, Worst: 600}, {Row: -1, Block: 8, Worst: 500}} {
		got := a.Doubts[i]
		if !got.At.Equal(Noon) || !got.Crashed {
			t.Errorf("doubt %+v", got)
		}
		got.At, got.Crashed = time.Time{}, false
		if got != want {
			t.Errorf("doubt %+v, want %+v", got, want)
		}
	}
	if c, err := b.ClearDoubt(t.Context(), id); err != nil || c.Money != 1100 || c.Attempts != 2 {
		t.Errorf("cleared %+v, %v", c, err)
	}
	spentBy(t, b, again, "ada", 30)
}

func blockRefused(t *testing.T, b Book) {
	job := begin(t, b, serving("a", "ada"))
	id := job.Number()
	add(t, b, Reserved(id, 1, 300))
	strange := Reserved(id, 4, 10)
	strange.Step = flotilla.BatchMade
	for name, records := range map[string][]flotilla.Record{
		"a call on no block":       {Drawn(id, 1, 0, 100, 10), Drawn(id, 2, 1, 100, 10)},
		"the end of no block":      {Drawn(id, 1, 0, 100, 10), Freed(id, 2)},
		"a block twice":            {Reserved(id, 1, 300)},
		"a block without a number": {Reserved(id, 0, 300)},
		"a block that owes":        {Reserved(id, 3, -1)},
		"an unknown step":          {strange},
	} {
		if err := b.Append(records); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	spentBy(t, b, job, "ada", 300)
	add(t, b, Drawn(id, 1, 0, 100, 10))
	spentBy(t, b, job, "ada", 210)
	end(t, job, journal.Stopped)
	begin(t, b, serving("a", "ada"))
	if err := b.Append([]flotilla.Record{Drawn(id, 1, 1, 100, 10)}); err == nil {
		t.Error("a call was drawn on a block of an earlier run")
	}
}

// blockMidnight: what is left of a block may be spent on any day that it is
// open, and counts on each of them.
func blockMidnight(t *testing.T, b Book) {
	before := time.Date(2026, 11, 30, 23, 59, 59, 0, time.Local)
	after := before.Add(2 * time.Second)
	at := func(r flotilla.Record, at time.Time) flotilla.Record { r.At = at; return r }
	days := func(step string, first, second flotilla.Money) {
		t.Helper()
		for day, want := range map[time.Time]flotilla.Money{before: first, after: second} {
			if spent, err := b.SpentOn(t.Context(), day); spent != want || err != nil {
				t.Errorf("%s: %v spent on %s, %v; want %v", step, spent, day.Format(time.DateOnly), err, want)
			}
			if spent, err := b.SpentBy(t.Context(), "ada", day); spent != want || err != nil {
				t.Errorf("%s: %v spent by ada on %s, %v; want %v", step, spent, day.Format(time.DateOnly), err, want)
			}
		}
	}
	job := begin(t, b, serving("a", "ada"))
	other := begin(t, b, Spec("b", 1))
	id := job.Number()
	add(t, b, at(Reserved(id, 1, 1000), before), at(Drawn(id, 1, 0, 300, 100), before))
	days("open", 800, 700)
	if got, err := b.Grant(t.Context(), other.Number(), after, 500, 1000); err != nil || got.Granted != 300 {
		t.Errorf("another run was granted %+v, %v; want the 300 that nobody can spend", got, err)
	}
	if got, err := b.Grant(t.Context(), id, after, 700, 1000); err != nil || got.Own != 700 || got.Granted != 700 {
		t.Errorf("the run itself was granted %+v, %v; want nothing beyond its block", got, err)
	}
	if err := b.Return(t.Context(), other.Number(), after, 0); err != nil {
		t.Fatal(err)
	}
	add(t, b, at(Drawn(id, 1, 1, 300, 50), after))
	days("drawn on the day after", 500, 450)
	end(t, job, journal.Stopped) // the rest is lost in doubt, on the last day of which the run has anything
	days("lost", 100, 450)
	if c, err := b.ClearDoubt(t.Context(), id); err != nil || c.Money != 400 {
		t.Errorf("cleared %+v, %v", c, err)
	}
	days("cleared", 100, 50)
	sound(t, b, job)
}

// rowsGrow: a gateway's calls are numbered on from run to run.
func rowsGrow(t *testing.T, b Book) {
	job := begin(t, b, serving("a", "ada"))
	id := job.Number()
	next := func(job Job, want int) {
		t.Helper()
		if n, err := job.NextRow(t.Context()); n != want || err != nil {
			t.Errorf("the next row is %d, %v; want %d", n, err, want)
		}
	}
	next(job, 0)
	cut := Ended(id, 3, 4, 5, true)
	cut.Block, cut.Worst = 1, 5
	add(t, b, Reserved(id, 1, 1000), Drawn(id, 1, 2, 9, 9), Drawn(id, 1, 0, 9, 9), cut)
	next(job, 4)
	if err := b.Append([]flotilla.Record{Drawn(id, 1, 40, 9, 9), Drawn(id, 77, 41, 9, 9)}); err == nil {
		t.Error("a call on no block was taken")
	}
	next(job, 4)
	end(t, job, journal.Stopped)
	spec := serving("a", "ada")
	spec.N = 1 // what the caller says of a job that grows counts for nothing
	again := begin(t, b, spec)
	next(again, 4)
	add(t, b, Reserved(id, 2, 1000), Drawn(id, 2, 4, 9, 9))
	st := state(t, again)
	if st.Rows() != 5 || st.Counts[journal.Succeeded] != 3 || st.Counts[journal.Pending] != 2 {
		t.Errorf("%d rows: %v", st.Rows(), st.Counts)
	}
	a, err := b.Audit(t.Context(), id, nil)
	if err != nil || len(a.Doubled) != 0 {
		t.Errorf("audit %+v, %v", a, err)
	}
	info, err := b.Find(t.Context(), job.Name())
	if err != nil || info.N != 5 || info.Kind != journal.KindServe || info.Client != "ada" {
		t.Errorf("%+v, %v", info, err)
	}
}
