package journal

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

func temp(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), dirName, fileName)
}

func mustOpen(t testing.TB, path string, opt Options) *Journal {
	t.Helper()
	j, err := Open(t.Context(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func spec(n int) JobSpec {
	return JobSpec{Identity: [32]byte{0x7f, 0x3a}, Provider: "https://api.anthropic.com:443", Command: "flotilla run q.jsonl", Inputs: []string{"q.jsonl"}, N: n}
}

func mustBegin(t testing.TB, j *Journal, s JobSpec) *Job {
	t.Helper()
	job, err := j.Begin(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)

func intent(job *Job, row int, attempt int64, worst flotilla.Money) flotilla.Record {
	return flotilla.Record{Kind: flotilla.IntentRecord, Job: job.ID, Row: row, Attempt: attempt, At: noon, Org: "high", Pool: "sonnet-4", Tier: "sync", Model: "claude-sonnet-4-6", Worst: worst}
}

func succeeded(job *Job, row int, attempt int64, charged flotilla.Money) flotilla.Record {
	r := intent(job, row, attempt, 0)
	r.Kind, r.Type, r.Charged, r.Cost, r.Attempts, r.Latency, r.StopReason = flotilla.OutcomeRecord, "succeeded", charged, charged, 1, 812*time.Millisecond, "end_turn"
	r.Hash, r.Tokens = [16]byte{byte(row), byte(row >> 8), byte(row >> 16)}, 100
	r.Answer = fmt.Appendf(nil, `{"id":"msg_%d"}`, row)
	return r
}

func mustAppend(t testing.TB, j *Journal, records ...flotilla.Record) {
	t.Helper()
	if err := j.Append(records); err != nil {
		t.Fatal(err)
	}
}

func TestJobGoesOnWhereItStopped(t *testing.T) {
	path := temp(t)
	j := mustOpen(t, path, Options{})
	job := mustBegin(t, j, spec(3))
	mustAppend(t, j, intent(job, 0, 1, 500), intent(job, 1, 2, 500))
	mustAppend(t, j, succeeded(job, 0, 1, 200))
	if err := job.End(t.Context(), Stopped, nil); err != nil {
		t.Fatal(err)
	}

	again := mustBegin(t, j, spec(3))
	if again.ID != job.ID || again.Key != "7f3a" || !again.Resumed || again.Left != Stopped {
		t.Errorf("the second invocation began %+v", again)
	}
	st, err := again.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.Outcome(0) != Succeeded || st.Outcome(1) != Pending || !st.InDoubt(1) || st.InDoubt(2) || st.Spent != 700 || st.Doubt != 500 {
		t.Errorf("state %+v", st)
	}
	for a, err := range again.Answers(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if string(a.Body) != `{"id":"msg_0"}` || a.Org != "high" || a.StopReason != "end_turn" || !st.Stands(&a) {
			t.Errorf("answer %+v", a)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	j := mustOpen(b, temp(b), Options{})
	job := mustBegin(b, j, spec(1<<30))
	batch := make([]flotilla.Record, 0, 1000)
	body := make([]byte, 1000)
	b.ResetTimer()
	for n := 0; n < b.N; {
		batch = batch[:0]
		for range 500 {
			r := succeeded(job, n, int64(n+1), 200)
			r.Answer = body
			batch = append(batch, intent(job, n, int64(n+1), 500), r)
			n++
		}
		mustAppend(b, j, batch...)
	}
	b.ReportMetric(float64(2*b.N)/b.Elapsed().Seconds(), "records/s")
}
