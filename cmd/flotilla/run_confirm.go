package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flotilla-llm/flotilla"
)

// errDeclined says that the person at the terminal said no.
var errDeclined = errors.New("nothing was sent")

// needsAsking says whether a person must agree before a job begins
// (interface.md, "Flags of run"): there is one to ask, no cap guards the purse,
// and the money is real.
func (f *runFlags) needsAsking(s *Settings, expected flotilla.Money, in, out *terminal) bool {
	capped := s.MaxSpend > 0 || s.MaxSpendPerDay > 0
	return in != nil && out != nil && !f.yes && !capped && !s.Loopback() && expected > s.Confirm
}

// ask puts the question of a job's price and waits for the answer, or for the end
// of ctx.
func ask(ctx context.Context, in io.Reader, out io.Writer, expected, worst flotilla.Money) error {
	_, _ = fmt.Fprintf(out, "This costs about %s, at most %s. Go on? [y/N] ", expected, worst)
	return answered(ctx, in, out, "-y or --max-spend starts without a question")
}

// answered waits for a yes to the question that was put; hint is said after a no.
func answered(ctx context.Context, in io.Reader, out io.Writer, hint string) error {
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // an end of input is a no
		answer <- line
	}()
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(out)
		return ctx.Err()
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return withHint(errDeclined, hint)
	}
}
