//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// killRows is how many rows the killed jobs have.
const killRows = 1500

// killWorld is a world whose answers name the row they answer, and the job that
// is killed in it. Hedging is off, so that every duplicate is a kill's.
type killWorld struct {
	*world
	job []string
}

func newKillWorld(t *testing.T, speed float64) *killWorld {
	t.Helper()
	w := newWorldOf(t, "default", speed, answersNumbers)
	w.numbers(killRows)
	return &killWorld{w, w.args(w.path("in.jsonl"), "--prompt", "{{.question}}", "--model", "claude-sonnet-4-6", "--max-tokens", "100", "--hedge", "off")}
}

// answersNumbers makes a scenario answer each row of numbers by its number.
func answersNumbers(sc *emulator.Scenario) {
	sc.Answers = []emulator.AnswerRule{{Match: `number ([0-9]+)\.`, Template: "It is $1."}}
}

// numbers writes in.jsonl, rows that ask for a number each.
func (w *world) numbers(n int) {
	w.t.Helper()
	var rows bytes.Buffer
	for i := range n {
		fmt.Fprintf(&rows, "{\"id\":\"r/%d\",\"question\":\"Say number %d.\"}\n", i, i)
	}
	if err := os.WriteFile(w.path("in.jsonl"), rows.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// wantNumbers sees that every row has its own number for an answer, once.
func (w *world) wantNumbers(n int) []resultLine {
	w.t.Helper()
	lines := w.wantResults(n)
	for _, l := range lines {
		text := ""
		for _, c := range l.Result.Message.Content {
			text += c.Text
		}
		if want := "It is " + strings.TrimPrefix(l.ID, "r/") + "."; text != want {
			w.t.Errorf("the answer of %s is %q, want %q", l.ID, text, want)
		}
	}
	return lines
}

// start begins the job in a process of its own, armed or not.
func (w *killWorld) start(kill string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command("flotilla", w.job...)
	cmd.Env = append(w.environ(), killVariable+"="+kill)
	cmd.Stderr = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd
}

// killed waits for a process and says whether it was killed; any other end but
// that of a finished job is a fault.
func (w *killWorld) killed(cmd *exec.Cmd) bool {
	w.t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		w.t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	return false
}

// finish runs the job to its end and holds everything to the promise: each id
// once, the right answer for each, and no more paid for twice than was in flight
// at the kills.
func (w *killWorld) finish() {
	w.t.Helper()
	if w.killed(w.start("")) {
		w.t.Fatal("killed by somebody else")
	}
	w.wantNumbers(killRows)
	st := w.stats()
	doubled := number(w.t, st["succeeded"]) - number(w.t, st["distinct_bodies_succeeded"])
	s := w.summary()
	if doubled > int64(s.InDoubt) {
		w.t.Errorf("%d answers were paid for twice, %d were in flight at the kills", doubled, s.InDoubt)
	}
	w.t.Logf("%d paid for twice, %d in flight at the kills", doubled, s.InDoubt)
	if n := number(w.t, st["distinct_bodies_succeeded"]); n != killRows {
		w.t.Errorf("%d bodies were answered, want %d", n, killRows)
	}
	requests := fmt.Sprint(st["requests"])
	w.run(0, w.job)
	w.wantStats(map[string]string{"requests": requests})
}

func number(t testing.TB, v any) int64 {
	t.Helper()
	n, err := v.(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestKillAtRandom kills the job ten times at random moments.
func TestKillAtRandom(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newKillWorld(t, 3)
	kills := 0
	for range 10 {
		cmd := w.start("")
		time.Sleep(time.Duration(150+random.IntN(800)) * time.Millisecond) // a moment of the real program is the input of this test
		_ = cmd.Process.Kill()
		if w.killed(cmd) {
			kills++
		}
	}
	t.Logf("%d kills", kills)
	w.finish()
}

// TestKillAtBoundaries kills the job at each kind of boundary, early, in the
// middle and late.
func TestKillAtBoundaries(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{killIntent, killSent, killAnswer, killCommit} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			w := newKillWorld(t, 30)
			for _, nth := range []int{1, 2 + random.IntN(10), 12 + random.IntN(30)} {
				if !w.killed(w.start(fmt.Sprintf("%s:%d", kind, nth))) {
					t.Logf("the job ended before %s number %d", kind, nth)
				}
			}
			w.finish()
		})
	}
}

// TestKillMidLine kills the job between the commit of a result and its line, and
// leaves the line as a write that was cut in the middle would.
func TestKillMidLine(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{
		`{`, `{"custom_id":"r/7","result":{"type":"succ`, `{"custom_id":"r/7","result":{"type":"succeeded","message":{}},"flotilla":{}}`,
	} {
		w := newKillWorld(t, 30)
		if !w.killed(w.start(killCommit + ":4")) {
			t.Fatal("the job ended before its fourth commit")
		}
		f, err := os.OpenFile(w.path("out.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(tail)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		w.finish()
	}
}
