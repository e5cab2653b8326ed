package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/journal"
)

// gatewayJournal is a journal with a job of a gateway's kind that has an answer
// to its first row, kept or not.
func gatewayJournal(t *testing.T, kind string, kept bool) (path, key string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "journal.db")
	j, err := journal.Open(t.Context(), path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	id, key := beginGatewayJob(t, j, kind)
	r := flotilla.Record{
		Kind: flotilla.OutcomeRecord, Job: id, Row: 0, At: time.Now(), Type: "succeeded", Org: "high", Pool: "haiku-4-5", Tier: "sync",
		Model: "claude-haiku-4-5", Attempts: 1, Charged: 5, Cost: 5, StopReason: "end_turn",
	}
	if kept {
		r.Answer = []byte(`{"id":"msg_1"}`)
	}
	if err := j.Append([]flotilla.Record{r}); err != nil {
		t.Fatal(err)
	}
	return path, key
}

// beginGatewayJob begins a job of calls, or one that a client's batch has.
func beginGatewayJob(t *testing.T, j *journal.Journal, kind string) (id int64, key string) {
	t.Helper()
	if kind == journal.KindServe {
		begun, err := j.Begin(t.Context(), journal.JobSpec{Identity: [32]byte{7}, Kind: kind, Client: "ada", Command: "calls"})
		if err != nil {
			t.Fatal(err)
		}
		return begun.ID, begun.Key
	}
	spool := filepath.Join(t.TempDir(), "spool.jsonl")
	row := `{"custom_id":"mine","params":{"model":"claude-haiku-4-5","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}}` + "\n"
	if err := os.WriteFile(spool, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	fleet, err := flotilla.New(flotilla.Config{Orgs: []flotilla.Org{{Name: "none", Key: "none"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	run, err := job.Open(t.Context(), fleet, job.Config{
		Inputs: []string{spool}, Shape: job.Shape{Version: flotilla.DefaultVersion}, Salt: []byte("msgbatch_1"), Kind: kind, Client: "ada", AsIs: true,
		Command: "batch msgbatch_1", Output: job.Output{Path: spool + ".out.jsonl"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Begin(t.Context(), jobbook.Books{Journal: j, Began: func(b *jobbook.Book) { id, key = b.ID(), b.Key() }}); err != nil {
		t.Fatal(err)
	}
	if err := j.PutClientBatch(t.Context(), journal.ClientBatch{ID: "msgbatch_1", Client: "ada", Job: id, N: 1}); err != nil {
		t.Fatal(err)
	}
	return id, key
}

func jobsSays(args ...string) (code int, out, errOut string) {
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(), append([]string{"jobs"}, args...), nil, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestJobsOfAGateway(t *testing.T) {
	for _, tt := range []struct {
		kind string
		kept bool
		id   string // that the line has; empty: there is no line
	}{{journal.KindServe, true, "row-1"}, {journal.KindServe, false, ""}, {journal.KindBatch, true, "mine"}} {
		path, key := gatewayJournal(t, tt.kind, tt.kept)
		file := filepath.Join(t.TempDir(), "out.jsonl")
		_, _, _ = jobsSays("export", key, "-o", file, "--journal", path)
		written, missing := os.ReadFile(file)
		code, out, errOut := jobsSays("export", key, "--journal", path)
		if (missing != nil) != (tt.id == "") || string(written) != out {
			t.Errorf("%s: %s, %v is in the file, and %s is printed", tt.kind, written, missing, out)
		}
		if tt.id == "" {
			if code != 1 || !strings.Contains(errOut, "has 1 answer, and the journal has none") || !strings.Contains(errOut, "--cache") {
				t.Errorf("%s: exit %d, %s", tt.kind, code, errOut)
			}
			continue
		}
		want := `{"custom_id":"` + tt.id + `","result":{"type":"succeeded","message":{"id":"msg_1"}},"flotilla":{"org":"high",`
		if code != 0 || !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "}}\n") {
			t.Errorf("%s: exit %d, %s%s", tt.kind, code, out, errOut)
		}
		if _, out, _ = jobsSays("--json", "--journal", path); !strings.Contains(out, `"client": "ada"`) || !strings.Contains(out, `"kind": "`+tt.kind+`"`) {
			t.Errorf("list:\n%s", out)
		}
		if _, out, _ = jobsSays("show", key, "--journal", path); !strings.Contains(out, "client       ada") {
			t.Errorf("show:\n%s", out)
		}
		code, _, errOut = jobsSays("rm", key, "--journal", path)
		if batch := tt.kind == journal.KindBatch; batch != (code != 0) || batch && !strings.Contains(errOut, "--abandon") {
			t.Errorf("rm of %s: exit %d, %s", tt.kind, code, errOut)
		}
		if code, _, errOut = jobsSays("rm", key, "--abandon", "--journal", path); tt.kind == journal.KindBatch && code != 0 {
			t.Errorf("rm --abandon: exit %d, %s", code, errOut)
		}
	}
}
