package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/lab"
)

// measuredLine is what is printed of one experiment that was carried out.
type measuredLine struct {
	Experiment string         `json:"experiment"`
	Window     string         `json:"window"`
	Emulated   string         `json:"emulated,omitempty"`
	File       string         `json:"file"` // empty: nothing was stored
	Verdict    string         `json:"verdict,omitempty"`
	Confidence float64        `json:"confidence"`
	USD        flotilla.Money `json:"usd"`
	InDoubt    flotilla.Money `json:"in_doubt_usd,omitempty"` // may have been billed unseen, beside USD
	WallS      float64        `json:"wall_s"`
	Before     bool           `json:"measured_before,omitempty"` // within a day, and left as it is
	Figures    []string       `json:"figures,omitempty"`
	Stopped    string         `json:"stopped,omitempty"` // by itself, before its end
	Refused    string         `json:"refused,omitempty"` // before anything was sent
	Hint       string         `json:"hint,omitempty"`

	code int // of exit: something is left at all, for the cap on money
}

// carry runs experiments, one after the other.
func (m *measuring) carry(ctx context.Context, xs []lab.Experiment) error {
	if err := m.consent(ctx, xs); err != nil {
		return err
	}
	lines := []measuredLine{}
	code := job.ExitOK
	for l, err := range m.each(ctx, xs) {
		if err != nil {
			return err
		}
		code = max(code, l.code)
		lines = append(lines, *l)
		if m.flags.json {
			continue
		}
		if err := l.print(m.out); err != nil {
			return err
		}
	}
	if m.flags.json {
		if err := printJSON(m.out, lines); err != nil {
			return err
		}
	}
	if code == job.ExitOK {
		return nil
	}
	return exitWith(code, nil)
}

// each gives the experiments' lines, in order. They are carried out one after the
// other, since they share orgs and money; but each has an emulator of its own, so
// those may go side by side.
func (m *measuring) each(ctx context.Context, xs []lab.Experiment) iter.Seq2[*measuredLine, error] {
	if m.scenario != nil && m.base.MaxSpend == 0 {
		return m.sideBySide(ctx, xs)
	}
	return func(yield func(*measuredLine, error) bool) {
		left := m.base.MaxSpend
		for _, x := range xs {
			l, err := m.one(ctx, x, left)
			if !yield(l, err) {
				return
			}
			if m.base.MaxSpend > 0 {
				left = leftAfter(left, l)
			}
		}
	}
}

// leftAfter is what an experiment leaves of a cap: what may have been billed
// unseen is gone too. It is never 0, which would be no cap.
func leftAfter(left flotilla.Money, l *measuredLine) flotilla.Money {
	return max(left-l.USD-l.InDoubt, 1)
}

// one runs an experiment and gives its line; an error ends the command.
func (m *measuring) one(ctx context.Context, x lab.Experiment, left flotilla.Money) (*measuredLine, error) {
	l := &measuredLine{Experiment: x.Name(), Window: windowOf(m.flags.window)}
	file := m.base.File(x.Name())
	if r := m.before(x, file); r != nil {
		l.take(r, file)
		l.Before, l.USD, l.InDoubt, l.WallS = true, 0, 0, 0
		return l, nil
	}
	env, end, err := m.world(ctx, x)
	if err != nil {
		return nil, err
	}
	defer end()
	env.MaxSpend = left
	if err := m.mayReplace(env, file); err != nil {
		return nil, err
	}
	m.announce(x, env)
	r, err := lab.Run(ctx, env, x)
	var refused *lab.RefusedError
	var abort *lab.AbortError
	var budget *lab.BudgetError
	switch {
	case errors.As(err, &refused):
		if !m.all {
			return nil, withHint(refused, refused.Hint)
		}
		l.Refused, l.Hint, l.code = refused.Why, refused.Hint, job.ExitRows
		return l, nil
	case errors.As(err, &abort):
		l.code = job.ExitRows
	case errors.As(err, &budget):
		l.code = job.ExitCap
	case ctx.Err() != nil:
		_, _ = fmt.Fprintf(m.err, "flotilla: %s is interrupted: the same command goes on\n", x.Name())
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", x.Name(), err)
	}
	m.learn(r)
	m.draw(r, env)
	l.take(r, file)
	return l, nil
}

// draw draws what an experiment has found, in all windows of the provider, and
// notes the files in its result. The numbers are worth having without them. Of
// what stopped itself report draws what there is.
func (m *measuring) draw(r *lab.Result, env *lab.Env) {
	if r.Stopped != "" {
		return
	}
	all := lab.ChooseOf(r, m.known())
	files, err := drawFigures(m.flags.figures, all.Of(r.Experiment), nil)
	if err == nil {
		r.Figures = files
		err = r.Store(env)
	}
	if err != nil {
		warn(m.err, err.Error())
	}
}

// again is how old a result may be for measure all to leave it as it is: an
// interrupted round goes on, one of the next day begins anew.
const again = 24 * time.Hour

// before is the finished result of this round; nil: there is none. Its age is by
// the file, since an emulator's clock is its own.
func (m *measuring) before(x lab.Experiment, file string) *lab.Result {
	if !m.all || m.flags.again {
		return nil
	}
	info, err := os.Stat(file)
	if err != nil || time.Since(info.ModTime()) > again {
		return nil
	}
	r, err := lab.Read(file)
	if err != nil || r.Stopped != "" || r.Experiment != x.Name() || r.Seed != m.base.Seed || r.Emulated != m.base.Emulated || r.Emulated == "" && r.BaseURL != m.base.BaseURL {
		return nil
	}
	return r
}

// mayReplace refuses to write what an emulator said over what a provider said.
func (m *measuring) mayReplace(env *lab.Env, file string) error {
	r, err := lab.Read(file)
	if err != nil || r.Emulated != "" || env.Emulated == "" {
		return nil
	}
	return withHint(fmt.Errorf("%s was measured at %s: an emulator's result does not take its place", file, r.BaseURL),
		"--window NAME or --results DIR keeps them apart")
}

// announce says what is about to be tried.
func (m *measuring) announce(x lab.Experiment, env *lab.Env) {
	est, h := x.Estimate(env), x.Hypothesis(env)
	if est.Refused != "" {
		return
	}
	by := ""
	if env.Emulated != "" {
		by = fmt.Sprintf(" (emulated: %s, speed %g)", env.Emulated, env.Speed)
	}
	text := fmt.Sprintf("flotilla: %s%s: %s\n  expected: %s Binds: %s\n  about %s, %s\n",
		x.Name(), by, x.Question(), h.Text, h.Binding, est.Cost(m.settings.Prices), span(est.Takes))
	for _, w := range est.Warnings {
		text += "  " + w + "\n"
	}
	_, _ = io.WriteString(m.err, text) // at once: several may speak
}

func windowOf(name string) string {
	if name == "" {
		return "any"
	}
	return name
}

func (l *measuredLine) take(r *lab.Result, file string) {
	l.File, l.Emulated, l.Verdict, l.Confidence = file, r.Emulated, r.Verdict, r.Confidence
	l.USD, l.InDoubt, l.WallS, l.Stopped, l.Figures = r.Cost.Total, r.Cost.InDoubt, r.Totals.WallS, r.Stopped, r.Figures
}
