package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// loop is a script that counts the signals it gets for a while and says so by
// its exit code: 40 and their number.
const loop = `n=0; trap 'n=$((n+1))' INT TERM; echo ready; echo > ready; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; exit $((40+n))`

// A Ctrl-C of the terminal reaches the command by itself: serve does not pass it
// on a second time, which many programs would take for "at once".
func TestCtrlCReachesTheCommandOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "default", 1)
	p := newPty(t, 110, 30)
	cmd := w.inTerminal(t, p, nil, nil, "serve", "--base-url", w.url, "--", "/bin/sh", "-c", loop)
	p.await(t, "ready")
	if _, err := p.master.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 41 {
		t.Errorf("exit code %d, want 41\n%s", code, p.text())
	}
}

// A signal to serve alone is passed on, and the command's answer to it is ours.
func TestSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal syscall.Signal
		times  int
		script string
		want   []int
	}{
		{syscall.SIGTERM, 1, loop, []int{41}},
		{syscall.SIGINT, 1, loop, []int{41}},
		{syscall.SIGTERM, 1, `echo > ready; exec sleep 20`, []int{exitSignal + int(syscall.SIGTERM)}},
		// Who does not listen is ended by the second one. What is reported then
		// depends on who is quicker.
		{syscall.SIGTERM, 2, `trap '' TERM; echo > ready; while :; do sleep 0.05; done`, []int{exitSignal + int(syscall.SIGKILL), exitInterrupted}},
	} {
		t.Run(c.signal.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "default", 1)
			cmd := exec.Command("flotilla", "serve", "--base-url", w.url, "--", "/bin/sh", "-c", c.script)
			cmd.Dir, cmd.Env, cmd.Stderr = w.dir, w.environ(), os.Stderr
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.await("ready")
			for range c.times {
				if err := cmd.Process.Signal(c.signal); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond) // two signals of one kind at once are one
			}
			_ = cmd.Wait()
			code := cmd.ProcessState.ExitCode()
			for _, want := range c.want {
				if code == want {
					return
				}
			}
			t.Errorf("%s %d times: exit code %d, want %v", c.signal, c.times, code, c.want)
		})
	}
}
