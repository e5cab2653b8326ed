package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// epoch is when tests without a fleet begin.
var epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// shop is a dashboard over a journal alone, whose jobs a test settles by hand.
type shop struct {
	t       testing.TB
	journal *journal.Journal
	dash    *Dashboard
	attempt int64
}

func newShop(t testing.TB, change func(*Config)) *shop {
	t.Helper()
	j, err := journal.Open(context.Background(), filepath.Join(t.TempDir(), "journal.db"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	cfg := Config{Journal: j, Mode: "view", Version: "test"}
	if change != nil {
		change(&cfg)
	}
	d, err := New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return &shop{t: t, journal: j, dash: d}
}

func (s *shop) begin(n int, change func(*journal.JobSpec)) *journal.Job {
	s.t.Helper()
	spec := journal.JobSpec{Provider: "https://api.anthropic.com", Command: "flotilla run rows.jsonl", Inputs: []string{"rows.jsonl"}, N: n, Kind: journal.KindRun}
	s.attempt++
	spec.Identity[0] = byte(s.attempt)
	if change != nil {
		change(&spec)
	}
	job, err := s.journal.Begin(context.Background(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return job
}

// settle books the outcome of one row.
func (s *shop) settle(job *journal.Job, row int, answer, stop string) {
	s.t.Helper()
	s.append(s.outcome(job, row, answer, stop))
}

func (s *shop) append(records ...flotilla.Record) {
	s.t.Helper()
	if err := s.journal.Append(records); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) outcome(job *journal.Job, row int, answer, stop string) flotilla.Record {
	s.attempt++
	return flotilla.Record{
		Kind: flotilla.OutcomeRecord, Job: job.ID, Row: row, Attempt: s.attempt, At: epoch, Org: "high", Pool: "haiku-4.5", Tier: "sync", Model: "claude-haiku-4-5",
		Type: "succeeded", Cost: 1_000_000, Charged: 1_000_000, Answer: message(answer, stop), Attempts: 1, Latency: 800 * time.Millisecond, StopReason: stop,
	}
}

// message is a Message with one text.
func message(text, stop string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":%s}],"stop_reason":%q,"usage":{"input_tokens":10,"output_tokens":5}}`, quoted, stop)
}

// texts are rows to read by their prompts.
type texts []string

func (r texts) Len() int          { return len(r) }
func (r texts) ID(row int) string { return fmt.Sprintf("set/%d", row) }
func (r texts) Body(row int) ([]byte, error) {
	quoted, err := json.Marshal(r[row])
	return fmt.Appendf(nil, `{"model":"claude-haiku-4-5","max_tokens":64,"messages":[{"role":"user","content":%s}]}`, quoted), err
}
