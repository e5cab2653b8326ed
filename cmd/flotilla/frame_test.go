package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

func TestSignals(t *testing.T) {
	// untilDrained is a command that needs ten seconds to drain.
	untilDrained := func(ctx context.Context) int {
		<-ctx.Done()
		select {
		case <-time.After(10 * time.Second):
			return 7
		case <-stopNow(ctx):
			return 8
		}
	}
	deaf := func(context.Context) int {
		time.Sleep(time.Hour)
		return 9
	}
	for _, c := range []struct {
		name    string
		command func(context.Context) int
		signals []time.Duration
		want    int
		after   time.Duration
	}{
		{"one lets it drain", untilDrained, []time.Duration{time.Second}, 7, 11 * time.Second},
		{"a second stops it", untilDrained, []time.Duration{time.Second, 3 * time.Second}, 8, 3 * time.Second},
		{"and does not wait for the deaf", deaf, []time.Duration{time.Second, 3 * time.Second}, exitInterrupted, 3*time.Second + lastWords},
		{"none changes nothing", deaf, nil, 9, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, sigs := time.Now(), make(chan os.Signal, 2)
				for _, d := range c.signals {
					time.AfterFunc(d, func() { sigs <- syscall.SIGTERM })
				}
				if got := interruptible(sigs, c.command); got != c.want || time.Since(start) != c.after {
					t.Errorf("exit code %d after %s, want %d after %s", got, time.Since(start), c.want, c.after)
				}
				time.Sleep(2 * time.Hour) // let the deaf one end
			})
		})
	}
}

func TestReport(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		code int
		want string
	}{
		{"none", t.Context(), nil, 0, ""},
		{"an error", t.Context(), errors.New("it broke"), 1, "flotilla: error: it broke\n"},
		{"two lines", t.Context(), errors.New("it broke\ntwice"), 1, "flotilla: error: it broke\nflotilla: error: twice\n"},
		{"a hint deep inside", t.Context(), fmt.Errorf("doing: %w", withHint(errors.New("it broke"), "mend it")), 1, "flotilla: error: doing: it broke\nflotilla: hint: mend it\n"},
		{"an exit code of its own", t.Context(), exitWith(3, withHint(errors.New("cap"), "more")), 3, "flotilla: error: cap\nflotilla: hint: more\n"},
		{"all was said", t.Context(), exitWith(2, nil), 2, ""},
		{"a signal", interrupted, fmt.Errorf("carrying: %w", context.Canceled), exitInterrupted, ""},
		{"a cancel of its own", t.Context(), context.Canceled, 1, "flotilla: error: context canceled\n"},
	} {
		var out strings.Builder
		if code := report(c.ctx, &out, c.err); code != c.code || out.String() != c.want {
			t.Errorf("%s: code %d, %q; want %d, %q", c.name, code, out.String(), c.code, c.want)
		}
	}
}

// Every row of the table gives its hint, however deep the error lies.
func TestHintTable(t *testing.T) {
	known := []error{
		flotilla.ErrNoOrg, flotilla.ErrUnreachable, flotilla.ErrOurselves,
		&flotilla.SpeedError{Server: 20, Client: 1},
		&flotilla.UnknownModelError{Model: "m"},
		&journal.FullError{Err: errors.New("x")}, &journal.ReadOnlyError{Err: errors.New("x")},
		&journal.CorruptError{Err: errors.New("x")}, &journal.NewerError{},
		&journal.HeldError{}, &journal.NoJobError{}, &journal.OpenBatchesError{}, &journal.ClientBatchError{}, &journal.NoClientError{}, syscall.EPIPE,
	}
	for _, err := range known {
		if hintFor(fmt.Errorf("around: %w", err)) == "" {
			t.Errorf("no hint for %T", err)
		}
	}
	if len(known) != len(hints) {
		t.Errorf("%d errors are tested against %d rows", len(known), len(hints))
	}
	if hint := hintFor(errors.New("unheard of")); hint != "" {
		t.Errorf("an unknown error has the hint %q", hint)
	}
}

// Every command has an example, a short text, and no flag without a word.
func TestEveryCommandHelps(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
		}
		if cmd.Name() == "help" || cmd.Hidden {
			return
		}
		if cmd.Short == "" || cmd.Runnable() && cmd.Example == "" {
			t.Errorf("%s: short text %q, example %q", cmd.CommandPath(), cmd.Short, cmd.Example)
		}
		var out strings.Builder
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Error(err)
		}
		if i := strings.Index(out.String(), "\nAdvanced:"); i >= 0 && strings.Contains(out.String()[i+1:], "\n\n") {
			t.Errorf("%s: the advanced flags are not the last", cmd.CommandPath())
		}
	}
	visit(newRootCmd())
}
