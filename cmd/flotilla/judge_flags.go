package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/price"
)

// groupJudge is the heading of the flags that say who judges what.
const groupJudge = "Judging"

// judgeFlags are what judge has besides the flags of run.
type judgeFlags struct {
	rubrics []string
	models  []string // in place of run's one
	fields  []string // NAME=FIELD
	by      string
	label   string
	swap    bool
	seed    uint64
	show    string
}

func builtinList() string { return strings.Join(judge.Builtins(), ", ") }

func (f *judgeFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.rubrics, "rubric", nil, "a rubric, built in or a YAML file: `NAME|FILE`; repeatable, each goes with each --model")
	fs.StringArrayVar(&f.models, "model", nil, "the judge, a `MODEL`; repeatable (default the rubric's own)")
	fs.StringVar(&f.by, "by", "", "group the summary by this `FIELD` of the rows")
	fs.StringVar(&f.label, "label", "", "what is true stands in this `FIELD` of the rows: the summary tells agreement")
	fs.BoolVar(&f.swap, "swap", false, "judge pairs in both orders, to tell how much the order decides")
	fs.StringArrayVar(&f.fields, "field", nil, "rows call NAME of the rubric FIELD: `NAME=FIELD`; repeatable")
	fs.Uint64Var(&f.seed, "seed", 0, "intervals are drawn by this number, `N`")
	fs.StringVar(&f.show, "show", "", "print the built-in rubric `NAME`, and nothing else")
	group(cmd, groupJudge, "rubric", "model", "by", "label", "swap", "field", "seed", "show")
}

// showRubric prints the file of a built-in rubric.
func showRubric(w io.Writer, name string) error {
	text, err := judge.Source(name)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// checkJudge refuses flags of run that a rubric has in its own hands.
func (f *runFlags) checkJudge() error {
	switch {
	case f.judge == nil && slices.Contains(f.retry, judge.Unparsable):
		return withHint(errors.New("--retry unparsable is of judge: run reads no answers"), "--rubric NAME|FILE foretells a judge job")
	case f.judge == nil:
		return nil
	case len(f.judge.rubrics) == 0:
		return withHint(errors.New("no rubric was given"), "--rubric NAME|FILE; built in are "+builtinList())
	case f.prompt != "" || f.system != "":
		return withHint(errors.New("--prompt and --system are the rubric's"), "flotilla judge --show alignment > mine.yaml, change it, --rubric mine.yaml")
	case f.maxTokens != nil && *f.maxTokens == 0:
		return errors.New("--max-tokens 0 leaves no room for a verdict")
	case f.price != nil && len(f.judge.models) != 1:
		return withHint(errors.New("--price is the price of one --model"), "--model NAME --price in=3,out=15, or prices in flotilla.yaml")
	}
	return nil
}

// kind is that of the job in the journal; empty: a run's.
func (f *runFlags) kind() string {
	if f.judge == nil {
		return ""
	}
	return journal.KindJudge
}

// panel puts the judges together; nil: the command is no judge.
func (f *runFlags) panel(warn func(string)) (*judge.Panel, error) {
	j := f.judge
	if j == nil {
		return nil, nil
	}
	s := judge.Settings{Models: j.models, Swap: j.swap, By: j.by, Label: j.label, Draw: judge.Bootstrap{Seed: j.seed}, Prices: f.prices(), Fields: map[string]string{}, Warn: warn}
	for _, name := range j.rubrics {
		r, err := judge.Load(name)
		if err != nil {
			return nil, err
		}
		s.Rubrics = append(s.Rubrics, r)
	}
	for _, pair := range j.fields {
		name, field, ok := strings.Cut(pair, "=")
		if !ok || name == "" || field == "" {
			return nil, fmt.Errorf("--field %s: NAME=FIELD is needed, such as completion=answer", pair)
		}
		s.Fields[name] = field
	}
	var err error
	if s.Params, err = job.ReadText(f.params); err != nil {
		return nil, fmt.Errorf("--params: %w", err)
	}
	if f.maxTokens != nil {
		s.MaxTokens = *f.maxTokens
	}
	p, err := judge.NewPanel(s)
	if err != nil {
		return nil, err
	}
	return p, f.knownJudges(p)
}

// knownJudges refuses models that no price is known of, before any row is read.
func (f *runFlags) knownJudges(p *judge.Panel) error {
	for _, r := range p.Judges() {
		if m, ok := f.prices().Lookup(r.Model); !ok || !m.Priced() {
			unknown := &flotilla.UnknownModelError{Model: r.Model}
			return withHint(fmt.Errorf("judge of rubric %s: %w", r.Name, unknown), f.familyHint(r.Model)+hintFor(unknown))
		}
	}
	return nil
}

// familyHint names the models that are known of a model's family, as the beginning
// of a hint; empty: none is.
func (f *runFlags) familyHint(model string) string {
	var known []string
	table := f.prices()
	for _, m := range table.Models() {
		if m.Family() == price.FamilyOf(model) && m.Lifecycle(time.Now()) == price.Active {
			known = append(known, m.ID)
		}
	}
	if len(known) == 0 {
		return ""
	}
	return "known are " + strings.Join(known, ", ") + "; "
}
