package journal

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// The low marks move past what has ended and never past what is open: a call
// that hangs while thousands pass is found in doubt after a crash.
func TestLowMarksKeepStragglers(t *testing.T) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	path := t.TempDir() + "/" + fileName
	j, other := c.open(t, path), c.open(t, path)
	const n = 3 * lowStep
	job, err := j.Begin(t.Context(), JobSpec{N: n + 2})
	if err != nil {
		t.Fatal(err)
	}
	record := func(kind flotilla.RecordKind, row int) flotilla.Record {
		return flotilla.Record{Kind: kind, Job: job.ID, Row: row, Attempt: int64(row + 1), At: time.Unix(0, 1), Worst: 7, Type: "succeeded"}
	}
	pass := func(from, to int) {
		for row := from; row < to; row += 512 {
			var group []flotilla.Record
			for r := row; r < row+512; r++ {
				group = append(group, record(flotilla.IntentRecord, r), record(flotilla.OutcomeRecord, r))
			}
			if err := j.Append(group); err != nil {
				t.Fatal(err)
			}
		}
	}
	low := func() int64 {
		n, err := j.w.number("SELECT low_intent FROM run")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pass(0, lowStep+512)
	if low() < lowStep {
		t.Errorf("the low mark is %d after %d intents that ended", low(), lowStep+512)
	}
	before := low()
	if err := j.Append([]flotilla.Record{record(flotilla.IntentRecord, n)}); err != nil {
		t.Fatal(err)
	}
	pass(lowStep+512, n)
	if err := j.Append([]flotilla.Record{record(flotilla.IntentRecord, n+1)}); err != nil {
		t.Fatal(err)
	}
	if low() > lowStep+512 || low() < before {
		t.Errorf("the low mark is %d, past intent %d that is open", low(), lowStep+513)
	}
	j.die()
	again, err := other.Begin(t.Context(), JobSpec{N: n + 2})
	if err != nil {
		t.Fatal(err)
	}
	st, err := again.State(t.Context())
	if err != nil || st.Doubts != 2 || !st.InDoubt(n) || !st.InDoubt(n+1) || st.Counts[Succeeded] != n {
		t.Errorf("%d in doubt, counts %v, %v; want the straggler and the last", st.Doubts, st.Counts, err)
	}
}
