package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/price"
)

// defaultGuidelines is the document that report writes.
const defaultGuidelines = "docs/api_throughput_guidelines.md"

// reportFlags are the flags of flotilla report as typed.
type reportFlags struct {
	settings settingsFlags

	results, figures, out string
	pointer               []string
	models                []string
	in, tokens            int // of a call
	json                  bool
}

func newReportCmd() *cobra.Command {
	f := &reportFlags{in: reportIn, tokens: reportOut}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Make guidelines, figures and the profile of what was measured",
		Long: `report reads the results of flotilla measure and writes ` + defaultGuidelines + `:
which tier, how many orgs, rows a batch and calls at once, for jobs of 10 to 1,000,000
calls, with the time and the dollars they will take; the limits; what was measured and
what was not. Figures go beside it, and a profile beside the journal, by which plan and
run go from then on. It sends nothing and needs no key.`,
		Example: "  flotilla report\n  flotilla report --pointer CLAUDE.md --in-tokens 1200 --out-tokens 300",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.settings.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.results, "results", defaultResults, "directory of result files, `DIR`")
	fs.StringVar(&f.figures, "figures", defaultFigures, "directory of figures, `DIR`")
	fs.StringVarP(&f.out, "output", "o", defaultGuidelines, "`FILE` of the guidelines")
	fs.StringArrayVar(&f.pointer, "pointer", nil, "keep one line in `FILE` that leads to the guidelines; repeatable")
	fs.StringSliceVar(&f.models, "models", reportModels, "`MODELS` of the decision table")
	given(fs, "in-tokens", "N", "input tokens of a call", whole(reportIn), atLeast(1), func(n int) { f.in = n })
	given(fs, "out-tokens", "N", "output tokens of a call", whole(reportOut), atLeast(1), func(n int) { f.tokens = n })
	fs.BoolVar(&f.json, "json", false, "print what was written as JSON")
	group(cmd, groupRequest, "models", "in-tokens", "out-tokens")
	group(cmd, groupOutput, "output", "pointer", "json", "results", "figures")
	return cmd
}

// The calls that the decision table is for where nobody says: a judgement of a
// short answer.
const reportIn, reportOut = 400, 60

var reportModels = []string{"claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-8"}

// reported is what was written.
type reported struct {
	Emulated   string   `json:"emulated,omitempty"`
	Results    int      `json:"results"`
	Guidelines string   `json:"guidelines"`
	Profile    string   `json:"profile"`
	Figures    []string `json:"figures"`
	Pointers   []string `json:"pointers"`
	Left       []string `json:"left_out"`
	NotDrawn   []string `json:"not_drawn"`
}

func (f *reportFlags) run(cmd *cobra.Command) error {
	s, err := f.settings.load(cmd)
	if err != nil {
		return err
	}
	chosen, err := f.read(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	models, err := f.modelsOf(s.Prices)
	if err != nil {
		return err
	}
	w := &reporting{flags: f, settings: s, chosen: chosen, models: models, now: time.Now(), err: cmd.ErrOrStderr()}
	done, err := w.write(cmd.Context())
	if err != nil {
		return err
	}
	for _, line := range done.Left {
		warn(cmd.ErrOrStderr(), "left out: "+line)
	}
	for _, line := range done.NotDrawn {
		warn(cmd.ErrOrStderr(), line)
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), done)
	}
	return done.print(cmd.OutOrStdout())
}

// read reads the results there are.
func (f *reportFlags) read(stderr io.Writer) (lab.Chosen, error) {
	results, err := lab.ReadAll(f.results)
	if len(results) == 0 {
		return lab.Chosen{}, errors.Join(withHint(fmt.Errorf("%s holds no results", f.results), "flotilla measure all --estimate prices the experiments; --emulate tier-start tries them without a key"), err)
	}
	if err != nil {
		warn(stderr, err.Error())
	}
	return lab.Choose(results), nil
}

func (f *reportFlags) modelsOf(table *price.Table) ([]price.Model, error) {
	var out []price.Model
	for _, name := range f.models {
		m, ok := table.Lookup(name)
		if !ok || !m.Priced() {
			return nil, withHint(fmt.Errorf("--models: no price is known for %q", name), "flotilla plan --price prices a model that is not in the table")
		}
		out = append(out, m)
	}
	return out, nil
}

func (r *reported) print(w io.Writer) error {
	of := ""
	if r.Emulated != "" {
		of = " of the emulator (" + r.Emulated + ")"
	}
	_, err := fmt.Fprintf(w, "%s%s: %s\nprofile: %s\nfigures: %d\n", plural(r.Results, "result"), of, r.Guidelines, r.Profile, len(r.Figures))
	for _, p := range r.Pointers {
		_, e := fmt.Fprintf(w, "pointer: %s\n", p)
		err = errors.Join(err, e)
	}
	return err
}

// reporting writes everything that a report consists of.
type reporting struct {
	flags    *reportFlags
	settings *Settings
	chosen   lab.Chosen
	models   []price.Model
	now      time.Time
	err      io.Writer
}

func (w *reporting) write(ctx context.Context) (*reported, error) {
	f := w.flags
	done := &reported{Emulated: w.chosen.Emulated(), Results: len(w.chosen.Results), Guidelines: f.out, Figures: []string{}, Pointers: []string{}, Left: append([]string{}, w.chosen.Left...), NotDrawn: []string{}}
	made := lab.MakeProfile(&w.chosen, w.settings.Prices, w.now)
	path, err := w.storeProfile(made)
	if err != nil {
		return nil, err
	}
	done.Profile = path
	g := &lab.Guide{Chosen: w.chosen, Profile: made, Prices: w.settings.Prices, Made: w.now}
	if err := w.forecast(ctx, g); err != nil {
		return nil, err
	}
	files, err := drawFigures(f.figures, w.chosen.Results, g.Crossings)
	if err != nil {
		done.NotDrawn = append(done.NotDrawn, err.Error()) // the numbers are worth having all the same
	}
	done.Figures = append(done.Figures, files...)
	g.Figures = stemsOf(done.Figures)
	if g.ResultsIn, err = linkFrom(f.out, f.results); err != nil {
		return nil, err
	}
	if g.FiguresIn, err = linkFrom(f.out, f.figures); err != nil {
		return nil, err
	}
	if err := replaceFile(f.out, g.Markdown()); err != nil {
		return nil, err
	}
	for _, p := range f.pointer {
		if err := keepPointer(p, f.out, made); err != nil {
			return nil, err
		}
		done.Pointers = append(done.Pointers, p)
	}
	return done, nil
}

// forecast rehearses the jobs of the decision table.
func (w *reporting) forecast(ctx context.Context, g *lab.Guide) error {
	at := w.now
	if g.Profile.Emulated != "" {
		at = g.Profile.Measured // an emulator's clock is its own
	}
	fc := &forecaster{settings: w.settings, profile: &profile{Profile: g.Profile, at: at}, in: w.flags.in, out: w.flags.tokens}
	for i, m := range w.models {
		_, _ = fmt.Fprintf(w.err, "flotilla: foretelling jobs of %s (%d of %d)\n", m.ID, i+1, len(w.models)) // it takes a while
		c, ds, err := fc.model(ctx, m)
		if err != nil {
			return err
		}
		g.Crossings = append(g.Crossings, c)
		g.Decisions = append(g.Decisions, ds...)
	}
	g.Assumed = fc.assumed
	g.Rubrics = []lab.Rubric{{Name: fmt.Sprintf("%s input and %s output tokens", whole(w.flags.in), whole(w.flags.tokens)), Tokens: w.flags.in}}
	return nil
}

// storeProfile puts the profile beside the journal.
func (w *reporting) storeProfile(p *lab.Profile) (string, error) {
	path, err := w.settings.profilePath()
	if err != nil {
		return "", err
	}
	old, err := lab.ReadProfile(path)
	if err == nil && old != nil && old.Emulated == "" && p.Emulated != "" {
		return "", withHint(fmt.Errorf("%s is of %s: an emulator's profile does not take its place", path, old.BaseURL), "--journal PATH or profile: in "+configName+" names another place")
	}
	if err := p.Store(path); err != nil {
		return "", err
	}
	return path, ignoreAll(filepath.Dir(path))
}

// ignoreAll keeps a .flotilla directory that we have made out of version control,
// as the journal does.
func ignoreAll(dir string) error {
	if filepath.Base(dir) != ".flotilla" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// linkFrom is how a document links to a directory.
func linkFrom(document, dir string) (string, error) {
	from, err := filepath.Abs(filepath.Dir(document))
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(from, to)
	return filepath.ToSlash(rel), err
}

// replaceFile writes a file, whole or not at all.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, data, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.Rename(next, path)
}

// stemsOf are the names of figures, each once.
func stemsOf(files []string) (stems []string) {
	for _, f := range files {
		stem := filepath.Base(f)
		stem = stem[:len(stem)-len(filepath.Ext(stem))]
		if !slices.Contains(stems, stem) {
			stems = append(stems, stem)
		}
	}
	return stems
}
