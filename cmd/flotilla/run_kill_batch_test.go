//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// TestKillAtEveryWriteOfABatchJob kills a small batch job before and after every
// write to its journal, and lets the next run finish it: each row is answered
// once, no batch is bought twice, and the cap holds.
func TestKillAtEveryWriteOfABatchJob(t *testing.T) {
	if testing.Short() {
		t.Skip("two processes for each write of a job")
	}
	t.Parallel()
	for _, kind := range []string{killBefore, killAfter} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			kills := 0
			for nth := 1; ; nth++ {
				if nth > 500 {
					t.Fatal("the job does not come to its end")
				}
				if !killedAt(t, fmt.Sprintf("%s:%d", kind, nth)) {
					break
				}
				kills++
			}
			if kills < 6 {
				t.Errorf("%d writes; the canary, an intent, a batch made, its rows and its end are more", kills)
			}
			t.Logf("%d kills", kills)
		})
	}
}

// killedAt begins the job anew, kills it at a boundary and finishes it; false:
// it had ended before.
func killedAt(t *testing.T, boundary string) bool {
	t.Helper()
	const n = 60
	w := newWorldOf(t, "default", 200, quick)
	w.numbers(n)
	const limit = price.Dollar / 4
	k := &killWorld{w, w.numbersJob("--tier", "batch", "--max-spend", limit.Exact())}
	if !k.killed(k.start(boundary)) {
		return false
	}
	if k.killed(k.start("")) {
		t.Fatal("killed by somebody else")
	}
	lines := w.wantNumbers(n)
	_, all := w.batches()
	if got := byTier(lines, tierNameBatch); got != all.Succeeded {
		t.Errorf("%s: batches answered %d rows, %d lines are of that tier", boundary, all.Succeeded, got)
	}
	s := w.summary()
	billed, err := price.Parse(fmt.Sprint(w.stats()["billed_usd"]))
	if err != nil {
		t.Fatal(err)
	}
	if billed > s.CostUSD || s.CostUSD > limit {
		t.Errorf("%s: billed %s, counted %s, cap %s", boundary, billed, s.CostUSD, limit)
	}
	return true
}

// TestInterruptLeavesBatches: Ctrl-C names the batches that go on; the next run
// collects them.
func TestInterruptLeavesBatches(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, "default", 100, func(sc *emulator.Scenario) {
		answersNumbers(sc)
		sc.Batches.Overhead, sc.Batches.OverheadSD, sc.Batches.SD = 5*time.Minute, 0, 0
	})
	w.numbers(1200)
	k := &killWorld{w, w.numbersJob("--tier", "batch")}
	cmd := k.start("")
	waitFor(t, "batches are made", func() bool {
		_, all := w.batches()
		return all.Rows >= 1100
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	stderr := cmd.Stderr.(*bytes.Buffer).String()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Fatalf("exit code %d, %v\n%s", code, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), stderr)
	}
	for _, want := range []string{"left running at the provider", "msgbatch_", "the same command collects them"} {
		if !bytes.Contains([]byte(stderr), []byte(want)) {
			t.Errorf("%q is not said:\n%s", want, stderr)
		}
	}
	byOrg, before := w.batches()
	w.wantInQueue(byOrg)
	w.run(0, k.job)
	lines := w.wantNumbers(1200)
	w.wantNothingDoubled(lines)
	if n := byTier(lines, tierNameSync); n != 1 {
		t.Errorf("%d rows went by sync, want the canary alone", n)
	}
	if _, after := w.batches(); after.Rows-after.Canceled > 1199 || after.Rows < before.Rows {
		t.Errorf("batches: %+v before, %+v after", before, after)
	}
}

// wantInQueue holds what limits says of batch queues to the emulator's counts:
// all of it is ours.
func (w *world) wantInQueue(byOrg map[string]batchStats) {
	w.t.Helper()
	out, _ := w.run(0, []string{"limits", "--json", "--base-url", w.url, "--speed", strconv.FormatFloat(w.speed, 'g', -1, 64), "--journal", w.path(".flotilla")})
	var r limitsReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Pool != batchPool {
			continue
		}
		if q, want := row.InQueue, byOrg[row.Org].Rows; q == nil || q.Rows != want || q.Ours != want {
			w.t.Errorf("%s: %+v in the queue, want %d rows, all ours", row.Org, q, want)
		}
	}
}

// waitFor waits for what another process does.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 3000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond) // real time: another process is waited for
	}
	t.Fatalf("%s: never", what)
}
