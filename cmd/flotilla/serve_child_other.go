//go:build !unix

package main

import "os"

// passOn ends a command where there are no signals to pass on.
func passOn(p *os.Process, _ os.Signal) { _ = p.Kill() }

// exitCodeOf is the exit code of a command.
func exitCodeOf(s *os.ProcessState) int { return s.ExitCode() }
