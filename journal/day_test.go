package journal

import (
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
)

// spender is a process that keeps to the contract of Grant.
type spender struct {
	j       *Journal
	job     *Job
	granted flotilla.Money
	spent   flotilla.Money
	open    []flotilla.Record
	attempt int64
}

func (s *spender) used() flotilla.Money {
	sum := s.spent
	for _, r := range s.open {
		sum += r.Worst
	}
	return sum
}

// TestDayCapHoldsForAll lets processes ask, send, settle, give back, end and die
// in any order: what all have spent and reserved is never above the cap.
func TestDayCapHoldsForAll(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)
	rapid.Check(t, func(rt *rapid.T) {
		limit := flotilla.Money(rapid.IntRange(0, 1000).Draw(rt, "limit"))
		c := &clock{time.Unix(1_800_000_000, 0)}
		path := filepath.Join(t.TempDir(), fileName)
		jobs := byte(0)
		join := func() *spender {
			jobs++
			s := &spender{j: c.open(t, path)}
			var err error
			if s.job, err = s.j.Begin(t.Context(), JobSpec{Identity: [32]byte{jobs}, N: 1}); err != nil {
				rt.Fatal(err)
			}
			return s
		}
		all := []*spender{join(), join()}
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			who := rapid.IntRange(0, 1).Draw(rt, "who")
			s := all[who]
			switch rapid.IntRange(0, 7).Draw(rt, "op") {
			case 0, 1:
				a, err := s.job.Grant(t.Context(), noon, flotilla.Money(rapid.IntRange(0, 400).Draw(rt, "want")), limit)
				if err != nil || a.Used > limit || a.Granted < s.granted {
					rt.Fatalf("%+v of %v, %v", a, limit, err)
				}
				s.granted = a.Granted
			case 2, 3, 4:
				s.send(rt, t, noon)
			case 5:
				s.settle(rt, t, noon.Add(time.Duration(rapid.IntRange(0, 20).Draw(rt, "hours"))*time.Hour))
			case 6:
				if err := s.j.Return(t.Context(), s.job.ID, noon, 0); err != nil {
					rt.Fatal(err)
				}
				s.granted = s.used()
			case 7:
				if rapid.Bool().Draw(rt, "dies") {
					s.j.die()
				} else if err := s.j.Close(); err != nil {
					rt.Fatal(err)
				}
				all[who] = join()
			}
			spent, err := all[0].j.SpentOn(t.Context(), noon)
			if err != nil || spent > limit {
				rt.Fatalf("%v of %v spent, %v", spent, limit, err)
			}
		}
	})
}

func (s *spender) send(rt *rapid.T, t *testing.T, at time.Time) {
	left := s.granted - s.used()
	if left <= 0 {
		return
	}
	s.attempt++
	r := flotilla.Record{Kind: flotilla.IntentRecord, Job: s.job.ID, Attempt: s.attempt, At: at, Worst: flotilla.Money(rapid.Int64Range(1, int64(left)).Draw(rt, "worst"))}
	if err := s.j.Append([]flotilla.Record{r}); err != nil {
		rt.Fatal(err)
	}
	s.open = append(s.open, r)
}

// settle ends the oldest open call, perhaps on the next day: the money is the
// day's on which it was sent.
func (s *spender) settle(rt *rapid.T, t *testing.T, at time.Time) {
	if len(s.open) == 0 {
		return
	}
	r := s.open[0]
	s.open = s.open[1:]
	r.Kind, r.At, r.Type = flotilla.OutcomeRecord, at, "succeeded"
	r.Charged = flotilla.Money(rapid.Int64Range(0, int64(r.Worst)).Draw(rt, "charged"))
	if err := s.j.Append([]flotilla.Record{r}); err != nil {
		rt.Fatal(err)
	}
	s.spent += r.Charged
}

// A day is as long as the clocks make it.
func TestDayBounds(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		at    time.Time
		day   int
		hours float64
	}{
		{time.Date(2026, 10, 24, 22, 30, 0, 0, time.UTC), 20261025, 25},
		{time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC), 20260329, 23},
		{time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC), 20270101, 24},
	} {
		from, to, day := dayBounds(tt.at, berlin)
		if hours := time.Duration(to - from).Hours(); day != tt.day || hours != tt.hours || from > tt.at.UnixNano() || to <= tt.at.UnixNano() {
			t.Errorf("%v is on %d of %v hours", tt.at, day, hours)
		}
	}
}

// What a line reserved ahead is not in the ledger that its allowance bounds: were
// it given out as granted, that ledger's limit would grow past the cap with each
// block.
func TestDayCapHoldsWithBlocks(t *testing.T) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	j := c.open(t, filepath.Join(t.TempDir(), fileName))
	job, err := j.Begin(t.Context(), JobSpec{Identity: [32]byte{1}, Kind: KindServe})
	if err != nil {
		t.Fatal(err)
	}
	at := c.now
	for block := range int64(5) {
		r := flotilla.Record{Kind: flotilla.BlockRecord, Step: flotilla.BlockOpen, Job: job.ID, Block: block + 1, Worst: 30, At: at}
		if err := j.Append([]flotilla.Record{r}); err != nil {
			t.Fatal(err)
		}
		a, err := job.Grant(t.Context(), at, 20, 100)
		if err != nil || a.Granted > 100 || a.Granted < min(100, flotilla.Money(30*(block+1))) {
			t.Errorf("%+v with %d blocks, %v", a, block+1, err)
		}
	}
}
