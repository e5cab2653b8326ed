package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// pty is a terminal that a test looks at and types into.
type pty struct {
	master *os.File
	slave  *os.File

	mu   sync.Mutex
	seen bytes.Buffer
}

func newPty(t *testing.T, width, height uint16) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width})
	}
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	p := &pty{master: master, slave: slave}
	t.Cleanup(func() { _ = slave.Close(); _ = master.Close() })
	go p.read()
	return p
}

func (p *pty) read() {
	buf := make([]byte, 4096)
	for {
		n, err := p.master.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// await waits until the terminal shows text.
func (p *pty) await(t *testing.T, text string) {
	t.Helper()
	for range 1500 {
		if strings.Contains(ansi.Strip(p.text()), text) {
			return
		}
		time.Sleep(10 * time.Millisecond) // another process is waited for
	}
	t.Fatalf("the terminal never showed %q:\n%s", text, ansi.Strip(p.text()))
}

// inTerminal runs the program with the terminal as its controlling one; stdout
// goes to out unless that is nil.
func (w *world) inTerminal(t *testing.T, p *pty, out *os.File, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("flotilla", args...)
	cmd.Dir = w.dir
	cmd.Env = append(w.environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	if out != nil {
		cmd.Stdout = out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestLiveBlockAndCtrlC looks at a run as a person at a terminal does, types
// Ctrl-C and goes on later.
func TestLiveBlockAndCtrlC(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "default", 5)
	w.demoRows(3000)
	args := []string{
		"run", "in.jsonl", "--prompt", "{{.question}}", "--model", "claude-sonnet-4-6", "--max-tokens", "100", "--tier", "sync",
		"--base-url", w.url, "--speed", "5", "-o", "out.jsonl",
	}
	p := newPty(t, 110, 30)
	cmd := w.inTerminal(t, p, nil, []string{"TERM=xterm"}, args...)
	p.await(t, "calls/min")
	p.await(t, "org batch sonnet-4.x")
	if _, err := p.master.Write([]byte{3}); err != nil { // what a keyboard sends for Ctrl-C
		t.Fatal(err)
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d, %v, want %d\n%s", code, err, exitInterrupted, p.text())
	}
	p.await(t, " in flight may end, 20 s at most; Ctrl-C again stops at once")
	p.await(t, "interrupted; ")
	if !strings.Contains(p.text(), "\x1b[") {
		t.Error("nothing was redrawn")
	}
	lines, err := readResults(w.path("out.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) == 0 || len(lines) == 3000 {
		t.Errorf("%d of 3000 rows are done", len(lines))
	}
	// What was in flight was waited for, so nothing is paid for twice.
	w.run(0, append([]string{"run", w.path("in.jsonl"), "--journal", w.path(".flotilla"), "--progress", "none", "--limit", "400"}, replaceOut(args[2:], w.path("out.jsonl"))...))
	if lines, err = readResults(w.path("out.jsonl")); err != nil {
		t.Fatal(err)
	}
	w.wantStats(map[string]string{"requests": fmt.Sprint(len(lines)), "succeeded": fmt.Sprint(len(lines))})
}

// replaceOut gives the last flag, -o, another file.
func replaceOut(args []string, path string) []string {
	return append(args[:len(args)-1:len(args)-1], path)
}

// TestLiveBlockBesidePipedResults sees that the block is on the terminal and
// nothing but results goes down the pipe.
func TestLiveBlockBesidePipedResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "default", 20)
	w.demoRows(400)
	out, err := os.Create(w.path("piped.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := newPty(t, 80, 24)
	cmd := w.inTerminal(t, p, out, []string{"TERM=xterm", "NO_COLOR=1"},
		"run", "in.jsonl", "--prompt", "{{.question}}", "--model", "claude-haiku-4-5", "--max-tokens", "100", "--base-url", w.url, "--speed", "20")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, p.text())
	}
	p.await(t, "calls/min")
	p.await(t, "400 of 400 rows: 400 succeeded")
	if lines, err := readResults(w.path("piped.jsonl")); err != nil || len(lines) != 400 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	for _, code := range []string{"\x1b[1m", "\x1b[2m", "\x1b[33m"} {
		if strings.Contains(p.text(), code) {
			t.Errorf("colour %q in spite of NO_COLOR", code)
		}
	}
}
