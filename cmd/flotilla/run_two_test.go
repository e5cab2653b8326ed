//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// job starts a run of in.jsonl in a process of its own, with its results apart.
func (w *world) job(name string, more ...string) *exec.Cmd {
	w.t.Helper()
	args := append(w.args(w.path("in.jsonl"), more...), "-o", w.path(name+".jsonl"), "--summary", w.path(name+".json"))
	cmd := exec.Command("flotilla", args...)
	cmd.Env = w.environ()
	cmd.Stderr = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd
}

// TestTwoProcessesShareTheCap runs two jobs on one journal at a time: together
// they stay within the cap of each key, and both end.
func TestTwoProcessesShareTheCap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "default", 10)
	w.demoRows(3000)
	const limit = 20
	flags := func(tokens string) []string {
		return []string{"--prompt", "{{.question}}", "--model", "claude-sonnet-4-6", "--max-tokens", tokens, "--conc", fmt.Sprintf("sonnet=%d", limit), "--ramp", "fast", "--limit", "600", "--tier", "sync"}
	}
	a, b := w.job("a", flags("100")...), w.job("b", flags("101")...)
	for _, cmd := range []*exec.Cmd{a, b} {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, cmd.Stderr)
		}
	}
	w.wantNoRefusal(limit)
	w.wantStats(map[string]string{"requests": "1200", "succeeded": "1200"})
	for _, name := range []string{"a.jsonl", "b.jsonl"} {
		lines, err := readResults(w.path(name))
		if err != nil || len(lines) != 600 {
			t.Errorf("%s: %d lines, %v", name, len(lines), err)
		}
	}
}

// TestTwoProcessesShareADay runs two jobs under one cap per day: together they
// spend no more, and both say so.
func TestTwoProcessesShareADay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "default", 50)
	w.demoRows(2000)
	flags := func(tokens string) []string {
		return []string{"--prompt", "{{.question}}", "--model", "claude-haiku-4-5", "--max-tokens", tokens, "--max-spend", "0.30/day"}
	}
	for _, cmd := range []*exec.Cmd{w.job("a", flags("100")...), w.job("b", flags("101")...)} {
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 3 {
			t.Errorf("exit code %d, want 3\n%s", code, cmd.Stderr)
		}
	}
	var billed float64
	if _, err := fmt.Sscan(fmt.Sprint(w.stats()["billed_usd"]), &billed); err != nil {
		t.Fatal(err)
	}
	if billed > 0.30 || billed < 0.25 {
		t.Errorf("%v dollars were billed under a cap of 0.30", billed)
	}
}

// TestSecondSignalStopsAtOnce sees that one signal drains and a second does not
// wait: what was in flight is in doubt, as after a crash, and the job goes on.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "default", 1)
	w.demoRows(500)
	flags := []string{"--prompt", "{{.question}}", "--model", "claude-sonnet-4-6", "--max-tokens", "100", "--tier", "sync"}
	cmd := w.job("a", flags...)
	w.await("a.jsonl")
	began := time.Now()
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // two signals at once are one
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Fatalf("%v, want exit code %d\n%s", err, exitInterrupted, cmd.Stderr)
	}
	t.Logf("stopped after %v", time.Since(began))
	args := append(w.args(w.path("in.jsonl"), flags...), "-o", w.path("a.jsonl"), "--limit", "60")
	if _, stderr := w.run(0, args); !bytes.Contains([]byte(stderr), []byte("in doubt")) {
		t.Errorf("what was in flight is not in doubt:\n%s", stderr)
	}
}

// await waits until a file has content.
func (w *world) await(name string) {
	w.t.Helper()
	for range 3000 {
		if info, err := os.Stat(filepath.Join(w.dir, name)); err == nil && info.Size() > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // another process is waited for
	}
	w.t.Fatalf("%s has no content", name)
}
