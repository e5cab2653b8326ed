package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/job/sample"
)

// batchStats are the counts of one org's batches in the emulator.
type batchStats struct {
	Created, Rows, Succeeded, Errored, Canceled, Expired int64
	PeakQueued                                           int64 `json:"peak_queued"`
}

// batches are the counts of every org, and of all together.
func (w *world) batches() (byOrg map[string]batchStats, all batchStats) {
	w.t.Helper()
	text, err := json.Marshal(w.stats()["orgs"])
	var orgs map[string]struct{ Batches batchStats }
	if err == nil {
		err = json.Unmarshal(text, &orgs)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	byOrg = map[string]batchStats{}
	for name, o := range orgs {
		b := o.Batches
		byOrg[name] = b
		all.Created, all.Rows, all.Succeeded = all.Created+b.Created, all.Rows+b.Rows, all.Succeeded+b.Succeeded
		all.Canceled, all.Expired, all.Errored = all.Canceled+b.Canceled, all.Expired+b.Expired, all.Errored+b.Errored
	}
	return byOrg, all
}

// byTier counts lines.
func byTier(lines []resultLine, tier string) (n int64) {
	for _, l := range lines {
		if l.Flotilla.Tier == tier {
			n++
		}
	}
	return n
}

// wantNothingDoubled holds what was billed to what was used: every answer of a
// batch is a line, and the dollars are the emulator's.
func (w *world) wantNothingDoubled(lines []resultLine) {
	w.t.Helper()
	_, all := w.batches()
	if n := byTier(lines, tierNameBatch); all.Succeeded != n {
		w.t.Errorf("batches answered %d rows, %d lines are of that tier", all.Succeeded, n)
	}
	if s := w.summary(); s.CostUSD.Exact() != fmt.Sprint(w.stats()["billed_usd"]) {
		w.t.Errorf("cost %s, billed %v", s.CostUSD.Exact(), w.stats()["billed_usd"])
	}
}

// quick makes a scenario's batches end within seconds of its clock.
func quick(sc *emulator.Scenario) {
	answersNumbers(sc)
	sc.Batches.Overhead, sc.Batches.RowsPerSecond, sc.Batches.SD = 2*time.Second, 50, 0
}

var numbersArgs = []string{"--prompt", "{{.question}}", "--model", "claude-sonnet-4-6", "--max-tokens", "100", "--hedge", "off"}

func (w *world) numbersJob(more ...string) []string {
	return w.args(w.path("in.jsonl"), append(append([]string{}, numbersArgs...), more...)...)
}

// TestGSM8KByBatch carries the questions by Message Batches: one canary by sync,
// the rest at half price.
func TestGSM8KByBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "default", 200)
	args := w.args(sample.Path(t, sample.Test), "--prompt", "{{.question}}", "--model", "claude-haiku-4-5", "--max-tokens", "300", "--tier", "batch")
	_, stderr := w.run(0, args)
	lines := w.wantResults(1319)
	if n := byTier(lines, tierNameSync); n != 1 {
		t.Errorf("%d rows went by sync, want the canary alone", n)
	}
	w.wantNothingDoubled(lines)
	for _, want := range []string{"batch over 3 orgs: 1,319 to send", "batches go on without this process", "forecast "} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not said:\n%s", want, stderr)
		}
	}
	_, before := w.batches()
	w.run(0, args)
	if _, after := w.batches(); after != before {
		t.Errorf("the second run made batches: %+v, before %+v", after, before)
	}
}

// TestGSM8KAuto lets the forecast choose: cheap with time to spare is by batch,
// fast is within minutes.
func TestGSM8KAuto(t *testing.T) {
	t.Parallel()
	for prefer, tier := range map[string]string{"cheap": tierNameBatch, "fast": tierNameSync} {
		w := newWorld(t, "default", 200)
		args := w.args(sample.Path(t, sample.Test), "--prompt", "{{.question}}", "--model", "claude-haiku-4-5", "--max-tokens", "300", "--prefer", prefer, "--deadline", "14h")
		_, stderr := w.run(0, args)
		lines := w.wantResults(1319)
		if n := byTier(lines, tier); n < 1000 {
			t.Errorf("--prefer %s: %d rows went by %s\n%s", prefer, n, tier, stderr)
		}
		w.wantNothingDoubled(lines)
	}
}

// TestStreamedRowsGoBySync: no batch may carry them.
func TestStreamedRowsGoBySync(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "default", 200, quick)
	var rows strings.Builder
	for i := range 60 {
		stream := ""
		if i%3 == 0 {
			stream = `"stream":true,`
		}
		fmt.Fprintf(&rows, `{"custom_id":"r/%d","params":{%s"model":"claude-sonnet-4-6","max_tokens":100,"messages":[{"role":"user","content":"Say number %d."}]}}`+"\n", i, stream, i)
	}
	if err := os.WriteFile(w.path("in.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(0, w.args(w.path("in.jsonl"), "--tier", "batch"))
	lines := w.wantNumbers(60)
	if n := byTier(lines, tierNameBatch); n < 38 || n > 40 {
		t.Errorf("%d rows went by batch, want the 40 without stream but for a canary or two", n)
	}
	w.wantNothingDoubled(lines)
}

// TestSmallQueue keeps below a queue's cap, with room for colleagues.
func TestSmallQueue(t *testing.T) {
	t.Parallel()
	const queue = 1000
	w := newWorldOf(t, "default", 200, func(sc *emulator.Scenario) {
		quick(sc)
		for i := range sc.Orgs {
			sc.Orgs[i].BatchQueue = queue
		}
	})
	w.numbers(5000)
	w.run(0, w.numbersJob("--tier", "batch", "--orgs", "high"))
	lines := w.wantNumbers(5000)
	w.wantNothingDoubled(lines)
	byOrg, _ := w.batches()
	if b := byOrg["high"]; b.PeakQueued > queue {
		t.Errorf("%d rows were in a queue of %d", b.PeakQueued, queue)
	}
}

// TestResumeWithoutAKey: a batch waits for the key of its org, the rest goes on.
func TestResumeWithoutAKey(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "default", 100, func(sc *emulator.Scenario) {
		answersNumbers(sc)
		sc.Batches.Overhead, sc.Batches.OverheadSD, sc.Batches.SD = 5*time.Minute, 0, 0
	})
	w.numbers(1200)
	w.run(4, w.numbersJob("--tier", "batch", "--deadline", "3m"))
	byOrg, _ := w.batches()
	if byOrg["low"].Created == 0 || byOrg["high"].Created == 0 {
		t.Fatalf("batches by org: %+v", byOrg)
	}
	if s := w.summary(); len(s.RunningBatches) == 0 {
		t.Errorf("no batch is named in %+v", s)
	}
	_, stderr := w.run(5, w.numbersJob("--tier", "batch", "--orgs", "high,batch", "--max-wait", "5m"))
	for _, want := range []string{"low", "ANTHROPIC_API_KEY_LOW_PRIO"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not said:\n%s", want, stderr)
		}
	}
	s := w.summary()
	if s.Pending == 0 || int64(s.Pending) > byOrg["low"].Rows {
		t.Errorf("%d rows are pending, %d are in batches of low", s.Pending, byOrg["low"].Rows)
	}
	w.run(0, w.numbersJob("--tier", "batch"))
	w.wantNothingDoubled(w.wantNumbers(1200))
}

// TestCancelEndsBatches: what they had answered counts, the rest is canceled.
func TestCancelEndsBatches(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "default", 100, func(sc *emulator.Scenario) {
		answersNumbers(sc)
		sc.Batches.Overhead, sc.Batches.RowsPerSecond, sc.Batches.SD = time.Minute, 0.05, 0
	})
	w.numbers(1200)
	w.run(4, w.numbersJob("--tier", "batch", "--deadline", "3m"))
	key := w.summary().JobID
	w.run(1, []string{"jobs", "rm", key, "--journal", w.path(".flotilla")})
	w.run(0, []string{"jobs", "cancel", key, "--journal", w.path(".flotilla")})
	lines, err := readResults(w.path("out.jsonl"))
	if err != nil || len(lines) != 1200 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	_, all := w.batches()
	if n := byTier(lines, tierNameBatch); all.Canceled == 0 || n == 0 {
		t.Errorf("%d lines of the tier batch, the emulator canceled %d", n, all.Canceled)
	}
	w.run(0, []string{"jobs", "audit", key, "--journal", w.path(".flotilla")})
	w.run(0, []string{"jobs", "rm", key, "--journal", w.path(".flotilla")})
}

// TestForgottenBatches: batches of a job that nobody carries are announced by
// other runs, shown by jobs, and guard their job.
func TestForgottenBatches(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "default", 100, func(sc *emulator.Scenario) {
		answersNumbers(sc)
		sc.Batches.Overhead, sc.Batches.OverheadSD = time.Hour, 0
	})
	w.numbers(600)
	w.run(4, w.numbersJob("--tier", "batch", "--deadline", "3m", "--orgs", "high"))
	s := w.summary()
	if len(s.RunningBatches) == 0 {
		t.Fatal("no batch was left running")
	}
	n, rows := batchesText(len(s.RunningBatches)), 0
	for _, b := range s.RunningBatches {
		rows += b.Rows
	}
	other := w.args(w.path("in.jsonl"), "--prompt", "Again: {{.question}}", "--model", "claude-haiku-4-5", "--max-tokens", "100", "--limit", "2", "-o", w.path("other.jsonl"))
	_, stderr := w.run(0, other)
	if want := fmt.Sprintf("flotilla: warning: job %s has %s at the provider that nobody collects: %s,", s.JobID, n, plural(rows, "row")); !strings.Contains(stderr, want) {
		t.Errorf("%q is not said:\n%s", want, stderr)
	}
	journal := []string{"--journal", w.path(".flotilla")}
	for command, want := range map[string]string{
		"list": n + " open", "show " + s.JobID: "high msgbatch_", "audit " + s.JobID: "open at the provider: " + n,
	} {
		if out, _ := w.run(0, append(append([]string{"jobs"}, strings.Fields(command)...), journal...)); !strings.Contains(out, want) {
			t.Errorf("jobs %s does not say %q:\n%s", command, want, out)
		}
	}
	_, stderr = w.run(1, append([]string{"jobs", "rm", s.JobID}, journal...))
	if want := "jobs rm --abandon"; !strings.Contains(stderr, want) {
		t.Errorf("%q is not said:\n%s", want, stderr)
	}
	w.run(0, append([]string{"jobs", "rm", "--abandon", s.JobID}, journal...))
}

// TestCapHoldsOverBatches: what is reserved for batches counts.
func TestCapHoldsOverBatches(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "default", 200, quick)
	w.numbers(300)
	const limit = "0.006"
	w.run(3, w.numbersJob("--tier", "batch", "--max-tokens", "8", "--max-spend", limit))
	if billed := fmt.Sprint(w.stats()["billed_usd"]); billed > limit {
		t.Errorf("$%s was billed under a cap of $%s", billed, limit)
	}
	w.run(0, w.numbersJob("--tier", "batch", "--max-tokens", "8", "--max-spend", "20"))
	w.wantNothingDoubled(w.wantNumbers(300))
}
