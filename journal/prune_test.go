package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// big begins the job of a number and settles n rows of it, with an attempt
// before each.
func big(t *testing.T, j *Journal, number byte, n int) *Job {
	t.Helper()
	job, err := j.Begin(t.Context(), JobSpec{Identity: [32]byte{number}, N: n})
	if err != nil {
		t.Fatal(err)
	}
	var records []flotilla.Record
	for row := range n {
		for k, kind := range []flotilla.RecordKind{flotilla.IntentRecord, flotilla.AttemptRecord, flotilla.IntentRecord, flotilla.OutcomeRecord} {
			r := flotilla.Record{Kind: kind, Job: job.ID, Row: row, Attempt: int64(2*row + k/2), At: time.Unix(0, 1), Worst: 5}
			if kind == flotilla.OutcomeRecord {
				r.Type, r.Answer, r.Hash = "succeeded", []byte("{}"), [16]byte{byte(row), byte(row >> 8)}
			}
			records = append(records, r)
		}
	}
	if err := j.Append(records); err != nil {
		t.Fatal(err)
	}
	return job
}

func count(t *testing.T, j *Journal) (counts [4]int64) {
	t.Helper()
	for i, table := range []string{"intent", "attempt", "outcome", "answer"} {
		var err error
		if counts[i], err = j.w.number("SELECT count(*) FROM " + table); err != nil {
			t.Fatal(err)
		}
	}
	return counts
}

// cancelAfter is done after it has been asked so many times.
type cancelAfter struct {
	context.Context
	asked, after int
}

func (c *cancelAfter) Err() error {
	if c.asked++; c.asked > c.after {
		return context.Canceled
	}
	return nil
}

// A removal that was cut off, of more rows than one transaction takes, is
// finished by the next one, and in the end nothing is left of any job.
func TestRemovalLeavesNothing(t *testing.T) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	j := c.open(t, t.TempDir()+"/"+fileName)
	const n = removeRows*3/2 + 7
	first := big(t, j, 1, n)
	second := big(t, j, 2, 3)
	found, err := second.Cached(t.Context(), 1, func(int) ([16]byte, int) { return [16]byte{5}, 0 })
	if err != nil || found[0] == 0 {
		t.Fatal(found, err)
	}
	if err := second.Adopt(t.Context(), []Adoption{{Row: 0, Answer: found[0]}}); err != nil {
		t.Fatal(err)
	}
	if err := first.End(t.Context(), Finished, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Remove(&cancelAfter{t.Context(), 0, 2}, first.ID); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := count(t, j); got[2] == 4 || got[2] == n+4 {
		t.Fatalf("%v left: the removal was not cut off in the middle", got)
	}
	if again, err := j.Begin(t.Context(), JobSpec{Identity: [32]byte{1}, N: n}); err != nil || again.Resumed {
		t.Errorf("a job half removed goes on: %v", err)
	}
	if n, err := j.Prune(t.Context(), c.now.Add(time.Hour)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got, want := count(t, j), [4]int64{6, 3, 4, 4}; got != want {
		t.Errorf("%v intents, attempts, outcomes and answers left, want %v", got, want)
	}
	if err := second.End(t.Context(), Finished, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Remove(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	if got := count(t, j); got != [4]int64{} {
		t.Errorf("%v left", got)
	}
	if err := j.Compact(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	j := Memory()
	job := big(t, j, 1, 1)
	for range 2 {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	_, state := job.State(t.Context())
	_, answer := j.Answer(t.Context(), 1)
	for i, err := range []error{j.Append(make([]flotilla.Record, 1)), job.End(t.Context(), Stopped, nil), j.Compact(t.Context()), state, answer} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("call %d on a closed journal: %v", i, err)
		}
	}
}

// A cancelled caller gets its own error and the journal does nothing.
func TestCanceled(t *testing.T) {
	j := Memory()
	defer j.Close()
	job := big(t, j, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]error{}
	_, calls["begin"] = j.Begin(ctx, JobSpec{Identity: [32]byte{9}})
	_, calls["state"] = job.State(ctx)
	_, calls["lease"] = j.Lease(ctx, "pot", 1, 1, time.Minute)
	_, calls["grant"] = job.Grant(ctx, time.Now(), 1, 1)
	_, calls["clear"] = j.ClearDoubt(ctx, job.ID)
	calls["remove"] = j.Remove(ctx, job.ID)
	calls["signal"] = j.Signal(ctx, job.ID, Pause)
	for _, calls["answers"] = range job.Answers(ctx, 0) {
	}
	_, calls["open"] = Open(ctx, t.TempDir()+"/"+fileName, Options{})
	for name, err := range calls {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if jobs, err := j.Jobs(t.Context(), time.Time{}); len(jobs) != 1 || err != nil {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}
