package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/price"
)

func TestNeedsAsking(t *testing.T) {
	at := &terminal{}
	base := func() (*runFlags, *Settings) {
		return &runFlags{}, &Settings{BaseURL: "https://api.anthropic.com", Confirm: defaultConfirm, Orgs: []OrgSetting{{}}}
	}
	dear := defaultConfirm + 1
	for _, c := range []struct {
		name     string
		change   func(*runFlags, *Settings)
		in, out  *terminal
		expected price.Nanos
		want     bool
	}{
		{"dear", nil, at, at, dear, true},
		{"just cheap enough", nil, at, at, defaultConfirm, false},
		{"no terminal to read from", nil, nil, at, dear, false},
		{"no terminal to ask on", nil, at, nil, dear, false},
		{"-y", func(f *runFlags, _ *Settings) { f.yes = true }, at, at, dear, false},
		{"a cap", func(_ *runFlags, s *Settings) { s.MaxSpend = price.Dollar }, at, at, dear, false},
		{"a cap per day", func(_ *runFlags, s *Settings) { s.MaxSpendPerDay = price.Dollar }, at, at, dear, false},
		{"an emulator", func(_ *runFlags, s *Settings) { s.BaseURL = "http://127.0.0.1:4010" }, at, at, dear, false},
		{"a higher threshold", func(_ *runFlags, s *Settings) { s.Confirm = 2 * dear }, at, at, dear, false},
	} {
		f, s := base()
		if c.change != nil {
			c.change(f, s)
		}
		if got := f.needsAsking(s, c.expected, c.in, c.out); got != c.want {
			t.Errorf("%s: asks %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAsk(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "": false, "yellow\n": false} {
		var out bytes.Buffer
		err := ask(context.Background(), strings.NewReader(answer), &out, 21*price.Dollar, 42*price.Dollar)
		if (err == nil) != want {
			t.Errorf("%q: %v", answer, err)
		}
		if !want && !errors.Is(err, errDeclined) {
			t.Errorf("%q: %v", answer, err)
		}
		if got := out.String(); got != "This costs about $21.00, at most $42.00. Go on? [y/N] " {
			t.Errorf("the question is %q", got)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ask(ctx, blocked{}, &bytes.Buffer{}, 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Ctrl-C at the question: %v", err)
	}
}

// blocked is a terminal at which nobody types.
type blocked struct{}

func (blocked) Read([]byte) (int, error) { select {} }
