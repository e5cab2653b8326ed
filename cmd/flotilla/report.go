package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// exitUsage is the exit code of usage, configuration, input and I/O errors.
const exitUsage = 1

// exitError ends a command with an exit code of its own. A nil Err means that
// all has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitWith ends a command with a code; err may be nil.
func exitWith(code int, err error) error { return &exitError{code, err} }

// report prints what went wrong and the way out, and returns the exit code.
func report(ctx context.Context, stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	code := exitUsage
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		code, err = exit.code, exit.err
	case errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errInterrupted):
		code, err = exitInterrupted, nil
	}
	printError(stderr, err)
	return code
}

// printError writes an error as every command does (interface.md, "Exit codes").
func printError(stderr io.Writer, err error) {
	if err == nil {
		return
	}
	say(stderr, "error", err.Error())
	if hint := hintFor(err); hint != "" {
		say(stderr, "hint", hint)
	}
}

// warn tells of something that does not stop the command.
func warn(stderr io.Writer, text string) { say(stderr, "warning", text) }

func say(w io.Writer, kind, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		_, _ = fmt.Fprintf(w, "flotilla: %s: %s\n", kind, strings.TrimRight(line, "\n"))
	}
}
