//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/judge"
)

// TestJudgeKilled kills a judge job at boundaries of calls' lives, those of second
// questions among them; the next run goes on, and the verdicts are whole.
func TestJudgeKilled(t *testing.T) {
	t.Parallel()
	const n = 300
	w := newWorldOf(t, "steady", 4, echoes(emulator.AnswerRule{Cut: 0.1, Prose: 0.1}))
	w.echoRows(n)
	args := w.judgeArgs(w.path("in.jsonl"), "--rubric", w.path("echo.yaml"), "--by", "topic", "--tier", "sync", "--hedge", "off")
	kills := 0
	for _, at := range []string{"commit:3", "answer:9", "sent:70", "intent:4", "after:12", "before:15", "commit:8", "answer:6"} {
		cmd := exec.Command("flotilla", args...)
		cmd.Env = append(w.environ(), killVariable+"="+at)
		cmd.Stderr = new(bytes.Buffer)
		k := killWorld{world: w}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if k.killed(cmd) {
			kills++
		}
	}
	if kills < 4 {
		t.Errorf("%d kills, want at least 4", kills)
	}
	w.run(0, args)
	got := w.verdicts()
	if len(got) != n {
		t.Errorf("%d lines, want %d", len(got), n)
	}
	asked := int64(0)
	for i := range n {
		v := got[fmt.Sprintf("r/%d echo claude-haiku-4-5 0 false", i)].Verdict
		if v.Status == judge.Scored && *v.Score != float64(i*7%101) {
			t.Errorf("row %d has %v, want %d", i, *v.Score, i*7%101)
		}
		asked += int64(v.Attempts)
	}
	if c := w.judged().Judges[0].Total.Counts; c.Total() != n || c.Scored < n*9/10 {
		t.Errorf("%+v", c)
	}
	doubled := number(t, w.stats()["succeeded"]) - asked
	if doubled < 0 || doubled > int64(w.summary().InDoubt) {
		t.Errorf("%d answers more than lines tell of, %d were in flight at the kills", doubled, w.summary().InDoubt)
	}
	requests := fmt.Sprint(w.stats()["requests"])
	w.run(0, args)
	w.wantStats(map[string]string{"requests": requests})
}
