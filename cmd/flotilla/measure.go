package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// measureFlags are the flags of flotilla measure as typed.
type measureFlags struct {
	settings settingsFlags

	window, scenario, results, figures string
	seed                               uint64
	spend                              spendCaps
	overCap                            int
	estimate, snapshot, again          bool
	json, yes                          bool
}

func newMeasureCmd() *cobra.Command {
	f := &measureFlags{}
	cmd := &cobra.Command{
		Use:   "measure EXPERIMENT… | list | all",
		Short: "Measure what the keys can do: limits, knees, latencies, how batches proceed",
		Long: `measure runs experiments: politely, under the caps of flotilla run, for a few
dollars, and with the uncertainty stated. measure list names them; measure all runs
them in their best order, and leaves alone those that were finished within a day.

--estimate says what each would send and cost, and sends nothing. An experiment
that is interrupted goes on where it was when the same command is given again. One
that colleagues would feel stops itself. Results are JSON files, described in
docs/measure.md; flotilla report makes guidelines, figures and a profile of them.`,
		Example: `  flotilla measure all --estimate
  flotilla measure limits refill --window off-peak
  flotilla measure all --emulate tier-start`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

func (f *measureFlags) add(cmd *cobra.Command) {
	f.settings.add(cmd)
	fs := cmd.Flags()
	fs.BoolVarP(&f.estimate, "estimate", "n", false, "say what each experiment would send and cost, send nothing")
	given(fs, "window", "NAME", "when this is measured: peak, off-peak; results of several are reported as ranges", "any", parseWindow, func(name string) { f.window = name })
	fs.StringVar(&f.scenario, "emulate", "", "measure an emulator in this process instead, of a `SCENARIO` or its file; needs no key")
	fs.BoolVar(&f.snapshot, "snapshot", false, "batch-cliff: cancel its batches after ten minutes and look at how far they are")
	fs.BoolVar(&f.again, "again", false, "all: run those too that were finished within a day")
	fs.Uint64Var(&f.seed, "seed", 1, "of prompts, order and arrivals, and of an emulator in this process: `SEED`")
	given(fs, "max-spend", "40", "cap in dollars on this command", "", parseSpend, func(c spendCaps) { f.spend.merge(c) })
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask, neither before an expensive experiment nor above a cap")
	given(fs, "over-cap", "N", "calls in flight per key, above our own caps: colleagues may feel it", "", parseCap, func(n int) { f.overCap = n })
	fs.StringVar(&f.results, "results", defaultResults, "directory of result files, `DIR`")
	fs.StringVar(&f.figures, "figures", defaultFigures, "directory of figures, `DIR`")
	fs.BoolVar(&f.json, "json", false, "print what is printed as JSON")
	group(cmd, groupRequest, "estimate", "window", "emulate", "snapshot", "again")
	group(cmd, groupMoney, "max-spend", "yes")
	group(cmd, groupOutput, "json", "results", "figures")
	group(cmd, groupAdvanced, "over-cap", "seed", "journal", "orgs")
}

// Where experiments write (issue: what to build).
const (
	defaultResults = "eval_results/api_throughput"
	defaultFigures = "figures/api_throughput"
)

var windowName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,39}$`)

// parseWindow reads the name of a window: it is part of file names.
func parseWindow(text string) (string, error) {
	if !windowName.MatchString(text) {
		return "", fmt.Errorf("%q is no name of a window: small letters, digits, dots and hyphens", text)
	}
	return text, nil
}

func (f *measureFlags) run(cmd *cobra.Command, args []string) error {
	if slices.Equal(args, []string{"list"}) {
		return f.list(cmd)
	}
	xs, err := experimentsOf(args)
	if err != nil {
		return err
	}
	if f.scenario != "" && f.settings.baseURL != "" {
		return errors.New("--emulate and --base-url: the emulator of one is not the other's")
	}
	if f.spend.day > 0 {
		return withHint(errors.New("--max-spend: experiments are capped one command at a time"), "--max-spend 40, without /day")
	}
	m, err := f.prepare(cmd)
	if err != nil {
		return err
	}
	m.all = slices.Equal(args, []string{"all"})
	if f.estimate {
		return m.printEstimates(xs)
	}
	return m.carry(cmd.Context(), xs)
}

// experimentsOf finds experiments by name.
func experimentsOf(names []string) ([]lab.Experiment, error) {
	if len(names) == 0 {
		return nil, withHint(errors.New("no EXPERIMENT was named"), "flotilla measure list names them; flotilla measure all --estimate prices them")
	}
	if slices.Equal(names, []string{"all"}) {
		return lab.All(), nil
	}
	var xs []lab.Experiment
	for _, name := range names {
		x := lab.Find(name)
		if x == nil {
			return nil, withHint(fmt.Errorf("there is no experiment %q", name), "experiments are "+strings.Join(experimentNames(), ", ")+"; all goes alone")
		}
		if !slices.ContainsFunc(xs, func(o lab.Experiment) bool { return o.Name() == name }) {
			xs = append(xs, x)
		}
	}
	return xs, nil
}

func experimentNames() (names []string) {
	for _, x := range lab.All() {
		names = append(names, x.Name())
	}
	return names
}
