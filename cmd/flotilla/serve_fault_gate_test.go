//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// gate is `flotilla serve` in a process of its own.
type gate struct {
	t    testing.TB
	url  string
	cmd  *exec.Cmd
	said *saying
	over chan struct{} // closed when the process has ended
}

// saying is what a process says; first gets the address that it listens on.
type saying struct {
	mu    sync.Mutex
	text  bytes.Buffer
	first chan string
	told  bool
}

func (s *saying) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if _, rest, ok := strings.Cut(s.text.String(), "listening on "); ok && !s.told {
		if url, _, whole := strings.Cut(rest, "\n"); whole {
			s.told = true
			s.first <- url
		}
	}
	return len(p), nil
}

func (s *saying) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// startGate starts the real program and waits until it listens. It is killed at
// the end of the test, if it still runs.
func startGate(t testing.TB, environ []string, args ...string) *gate {
	t.Helper()
	g := &gate{t: t, cmd: exec.Command("flotilla", append([]string{"serve"}, args...)...), over: make(chan struct{})}
	g.said = &saying{first: make(chan string, 1)}
	g.cmd.Env, g.cmd.Stderr = environ, g.said
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = g.cmd.Wait()
		close(g.over)
	}()
	t.Cleanup(func() {
		_ = g.cmd.Process.Kill()
		<-g.over
		if t.Failed() {
			t.Logf("the gateway said:\n%.4000s", g.said)
		}
	})
	select {
	case g.url = <-g.said.first:
	case <-g.over:
		t.Fatalf("the gateway did not start: %s", g.said)
	}
	return g
}

// address is where it listens, for the next one on the same.
func (g *gate) address() string { return strings.TrimPrefix(g.url, "http://") }

// kill is kill -9.
func (g *gate) kill() {
	_ = g.cmd.Process.Kill()
	<-g.over
}

// ended says that the process is no more.
func (g *gate) ended() bool {
	select {
	case <-g.over:
		return true
	default:
		return false
	}
}

// stop is one SIGTERM.
func (g *gate) stop() {
	g.t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
}

// wantExit waits for its end.
func (g *gate) wantExit(code int) {
	g.t.Helper()
	<-g.over
	if got := g.cmd.ProcessState.ExitCode(); got != code {
		g.t.Errorf("exit code %d, want %d", got, code)
	}
}

// peakMB is the most memory that it had; 0: this system does not tell.
func (g *gate) peakMB() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _ := strconv.Atoi(strings.Fields(rest)[0])
	return kb >> 10
}

// serve starts a gateway before a world's emulator.
func (w *world) serve(more ...string) *gate {
	w.t.Helper()
	args := []string{
		"--listen", "127.0.0.1:0", "--base-url", w.url, "--speed", strconv.FormatFloat(w.speed, 'g', -1, 64), "--journal", w.path(".flotilla"),
	}
	return startGate(w.t, w.environ(), append(args, more...)...)
}

// tellsNumbers makes a scenario answer each number by its name, at its beginning
// and at its end, with as many tokens between as give a stream twelve deltas.
func tellsNumbers(sc *emulator.Scenario) {
	sc.Answers = []emulator.AnswerRule{{Match: `number ([0-9]+)\.`, Template: "It is $1. {{words 110}} That was $1."}}
}

// isAnswer says whether a text is the answer to the call of a number, whole and
// once.
func isAnswer(text string, n int) bool {
	return strings.HasPrefix(text, fmt.Sprintf("It is %d. ", n)) && strings.HasSuffix(text, fmt.Sprintf(" That was %d.", n)) && strings.Count(text, "It is") == 1
}

// fault lets things go wrong at the emulator.
func (w *world) fault(spec string) {
	w.t.Helper()
	if err := postJSON(w.url+"/emulator/faults", spec); err != nil {
		w.t.Fatal(err)
	}
}

// requests is how many attempts at a message the emulator saw.
func (w *world) requests() int64 {
	w.t.Helper()
	return number(w.t, w.stats()["requests"])
}

// readJSON reads what a command prints with --json, whatever its exit code.
func (w *world) readJSON(into any, args ...string) {
	w.t.Helper()
	var out, said bytes.Buffer
	Run(w.t.Context(), append(args, "--json", "--journal", w.path(".flotilla")), w.environ(), strings.NewReader(""), &out, &said)
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		w.t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out.String(), said.String())
	}
}
