package main

import (
	"errors"
	"syscall"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// hinted is an error with a way out, which is printed below it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint is the way out.
func (h *hinted) Hint() string { return h.hint }

// withHint adds a way out to an error; nil stays nil.
func withHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hinted{err, hint}
}

// hintFor is the way out of an error: the one it carries, else the one that
// this table knows for its type. Libraries carry none (style.md, habit 11).
func hintFor(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		return h.Hint()
	}
	for _, row := range hints {
		if hint := row(err); hint != "" {
			return hint
		}
	}
	return ""
}

// hints has one row for each error of a library that we know a way out of.
var hints = []func(error) string{
	onIs(flotilla.ErrUnreachable, "is the network up, or the emulator? ANTHROPIC_BASE_URL and --base-url say where calls go; flotilla doctor tries each org"),
	onIs(flotilla.ErrNoOrg, "flotilla doctor says what is wrong with each key; flotilla demo needs none"),
	onIs(flotilla.ErrOurselves, "set --base-url or ANTHROPIC_BASE_URL to the provider or an emulator"),
	onAs(func(e *flotilla.SpeedError) string { return "give both the same --speed" }),
	onAs(func(e *flotilla.UnknownModelError) string {
		return "--price in=3,out=15 (dollars per million tokens) lets it pass"
	}),
	onAs(func(e *journal.FullError) string {
		return "free some space and run the same command again: everything done is kept"
	}),
	onAs(func(e *journal.ReadOnlyError) string {
		return "--journal PATH (or FLOTILLA_JOURNAL) puts the journal where you may write"
	}),
	onAs(func(e *journal.CorruptError) string {
		return "it was left as it is; --journal PATH begins another one"
	}),
	onAs(func(e *journal.NewerError) string { return "a later flotilla wrote it: use that one" }),
	onAs(func(e *journal.HeldError) string {
		return "wait for it, or stop that process; two processes on different jobs may share a journal"
	}),
	onAs(func(e *journal.OpenBatchesError) string {
		return "its command collects them and flotilla jobs cancel ends them; jobs rm --abandon removes the job all the same"
	}),
	onAs(func(e *journal.ClientBatchError) string {
		return "its client's DELETE of the batch ends that; jobs rm --abandon removes the job all the same, and with it the batch's results"
	}),
	onAs(func(e *journal.NoClientError) string { return "flotilla serve keys list names those that there are" }),
	onAs(func(e *journal.NoJobError) string { return "flotilla jobs lists them" }),
	onIs(syscall.EPIPE, "every result so far is in the journal, and the same command goes on; -o FILE needs no reader"),
}

func onIs(target error, hint string) func(error) string {
	return func(err error) string {
		if errors.Is(err, target) {
			return hint
		}
		return ""
	}
}

func onAs[E error](hint func(E) string) func(error) string {
	return func(err error) string {
		var e E
		if errors.As(err, &e) {
			return hint(e)
		}
		return ""
	}
}
