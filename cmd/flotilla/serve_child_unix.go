//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// passOn gives a command the signal that we got. A Ctrl-C of the terminal that
// both are at has reached it already: a second one would make it stop at once.
func passOn(p *os.Process, s os.Signal) {
	if s == nil {
		s = syscall.SIGTERM // nobody's signal: our caller gave up
	}
	if s == os.Interrupt && inForeground() {
		return
	}
	_ = p.Signal(s)
}

// inForeground says that the keys of a terminal reach us.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitCodeOf is the exit code of a command as a shell gives it.
func exitCodeOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return exitSignal + int(w.Signal())
	}
	return s.ExitCode()
}
