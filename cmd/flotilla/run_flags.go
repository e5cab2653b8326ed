package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// runFlags is everything one may say to run. A flag that was not given has its
// zero value, or what its help calls the default.
type runFlags struct {
	settings settingsFlags

	prompt, system, params string // TEXT or @FILE
	model                  string
	maxTokens              *int
	idFields               []string
	repeats                int
	dedupe, skipBad        bool
	limit                  int
	outTokens              outTokens

	tier     tierChoice
	prefer   flotilla.Prefer
	deadline deadline
	conc     map[string]int
	share    *flotilla.Share
	ramp     *flotilla.Ramp
	maxWait  time.Duration

	spend  spendCaps
	price  *price.Prices // of model
	priced []pricedModel
	table  *price.Table // of the settings; nil: the published one
	yes    bool

	output    string
	keep      []string
	order     order
	summary   string
	trace     string
	progress  progressMode
	ui        string // address of a dashboard; empty: none
	uiStays   bool   // until a signal, after the end
	overwrite bool
	retry     []string
	noCache   bool
	reuse     []string
	failFast  bool
	retries   flotilla.Retry
	softFloor floor
	hardFloor floor
	stream    flotilla.StreamMode
	hedge     *bool
	dryRun    bool
	json      bool        // of a dry run
	bare      *bareJob    // plan's; nil: run's flags
	judge     *judgeFlags // who judges; nil: the command is run
	cancels   int64       // a job in the journal whose batches are to be ended, and nothing else; 0: none
}

// add declares the flags, each under its heading.
func (f *runFlags) add(cmd *cobra.Command) {
	f.settings.add(cmd)
	if f.judge != nil {
		f.judge.add(cmd)
	}
	f.addRequest(cmd)
	f.addRoute(cmd)
	f.addMoney(cmd)
	f.addOutput(cmd)
	f.addResume(cmd)
	f.addAdvanced(cmd)
}

func (f *runFlags) addRequest(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.prompt, "prompt", "", "prompt of a row, a template as `TEXT|@FILE`: '{{.question}}'")
	fs.StringVar(&f.system, "system", "", "system prompt, a template as `TEXT|@FILE`")
	if f.judge == nil {
		fs.StringVar(&f.model, "model", "", "`MODEL` of rows that name none")
		group(cmd, groupRequest, "model")
	}
	given(fs, "max-tokens", "N", "most tokens of an answer, for rows that do not say", "", atLeast(0), func(n int) { f.maxTokens = &n })
	fs.StringVar(&f.params, "params", "", "`JSON|@FILE` merged into each body, every string in it a template")
	fs.StringSliceVar(&f.idFields, "id-field", nil, "`FIELDS` that make a row's id, joined by /; - for row numbers")
	given(fs, "repeats", "K", "calls for each row: ids q1#1 … q1#K; answers that the journal has count, unless --no-cache", "", atLeast(1), func(n int) { f.repeats = n })
	fs.BoolVar(&f.dedupe, "dedupe", false, "one call for equal bodies, a line for each id")
	fs.BoolVar(&f.skipBad, "skip-bad", false, "put bad rows into OUT.rejected.jsonl and go on")
	given(fs, "limit", "N", "only the first N rows", "", atLeast(1), func(n int) { f.limit = n })
	given(fs, "out-tokens", "MEAN[,P95]", "expected tokens of an answer for forecasts", "", parseOutTokens, func(o outTokens) { f.outTokens = o })
	group(cmd, groupRequest, "prompt", "system", "max-tokens", "params", "id-field", "repeats", "dedupe", "skip-bad", "limit", "out-tokens")
}

func (f *runFlags) addRoute(cmd *cobra.Command) {
	fs := cmd.Flags()
	given(fs, "tier", "auto|sync|batch", "way of being served", "auto", parseTier, func(t tierChoice) { f.tier = t })
	given(fs, "prefer", "fast|balanced|cheap", "what to care for", "balanced", parsePrefer, func(p flotilla.Prefer) { f.prefer = p })
	given(fs, "deadline", "14h|08:00|RFC3339", "send nothing new after this moment", "", parseDeadline, func(d deadline) { f.deadline = d })
	given(fs, "max-wait", "TIME", "give up when every lane is closed for longer than this", "1h; a daily cap 25h", parseSpan, func(d time.Duration) { f.maxWait = d })
	group(cmd, groupRoute, "tier", "prefer", "deadline", "max-wait")
	f.addManners(cmd)
}

// addManners declares how to stand beside others on the same keys.
func (f *runFlags) addManners(cmd *cobra.Command) {
	fs := cmd.Flags()
	given(fs, "conc", "FAMILY=N", "calls in flight of a family in one org; repeatable", "", parseConc, func(c map[string]int) {
		if f.conc == nil {
			f.conc = map[string]int{}
		}
		for family, n := range c {
			f.conc[family] = n
		}
	})
	given(fs, "share", "polite|default|fair", "how to stand beside colleagues", "default", parseShare, func(s flotilla.Share) { f.share = &s })
	given(fs, "ramp", "polite|fast", "how fast to open up", "polite", parseRamp, func(r flotilla.Ramp) { f.ramp = &r })
	group(cmd, groupRoute, "conc", "share", "ramp")
}

func (f *runFlags) addMoney(cmd *cobra.Command) {
	fs := cmd.Flags()
	given(fs, "max-spend", "40", "cap in dollars: 40 on this job, 40/day on this journal; repeatable", "", parseSpend, func(c spendCaps) { f.spend.merge(c) })
	given(fs, "price", "in=3,out=15", "dollars per million tokens of --model", "", parsePrices, func(p price.Prices) { f.price = &p })
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask before an expensive job")
	group(cmd, groupMoney, "max-spend", "price", "yes")
}

func (f *runFlags) addOutput(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.output, "output", "o", "", "`FILE` of results: .jsonl (.gz, .zst), .csv, .parquet (default: standard output)")
	fs.StringSliceVar(&f.keep, "keep", nil, "input fields to repeat in each line, `all|a,b` (default none in JSON lines, all in tables)")
	given(fs, "order", "completion|input", "order of lines", "completion", parseOrder, func(o order) { f.order = o })
	fs.StringVar(&f.summary, "summary", "", "write the summary as JSON to `FILE`")
	fs.StringVar(&f.trace, "trace", "", "write every decision as JSON lines to `FILE`")
	given(fs, "progress", "auto|tty|plain|json|none", "how to show how far a run is", "auto", parseProgress, func(m progressMode) { f.progress = m })
	fs.StringVar(&f.ui, "ui", "", "show the job in a browser, at `ADDR` such as 127.0.0.1:8788; port 0 picks a free one")
	fs.BoolVar(&f.uiStays, "ui-stays", false, "keep that up after the end, until a signal")
	fs.BoolVar(&f.overwrite, "overwrite", false, "move an OUT that is not of this job aside")
	group(cmd, groupOutput, "output", "keep", "order", "summary", "trace", "progress", "ui", "ui-stays", "overwrite")
}

func (f *runFlags) addResume(cmd *cobra.Command) {
	fs := cmd.Flags()
	kinds := retryKinds
	if f.judge != nil {
		kinds = judgeRetryKinds
	}
	given(fs, "retry", "KINDS", "send these again: "+strings.Join(kinds, ","), "", parseRetry(kinds), func(kinds []string) { f.retry = append(f.retry, kinds...) })
	fs.BoolVar(&f.noCache, "no-cache", false, "do not use answers of finished jobs")
	fs.StringArrayVar(&f.reuse, "reuse", nil, "take answers from an earlier result `FILE`; repeatable")
	fs.BoolVar(&f.failFast, "fail-fast", false, "stop at the first row that errors")
	fs.BoolVarP(&f.dryRun, "dry-run", "n", f.dryRun, "read, price and foretell everything, send nothing")
	fs.BoolVar(&f.json, "json", false, "print a dry run as JSON")
	group(cmd, groupResume, "retry", "no-cache", "reuse", "fail-fast")
	group(cmd, groupMoney, "dry-run")
	group(cmd, groupOutput, "json")
}

func (f *runFlags) addAdvanced(cmd *cobra.Command) {
	fs := cmd.Flags()
	given(fs, "max-attempts", "N", "failures of a row's own before it is errored", "3", parseAttempts, func(n int) { f.retries.MaxAttempts = n })
	given(fs, "stream", "auto|on|off", "take answers as a stream", "auto", parseStream, func(m flotilla.StreamMode) { f.stream = m })
	given(fs, "hedge", "on|off", "second attempts for stragglers at the end", "on with a deadline or --prefer fast", parseOnOff, func(on bool) { f.hedge = &on })
	group(cmd, groupAdvanced, "max-attempts", "stream", "hedge")
	f.addLaw(cmd)
}

// addLaw declares what shapes the law by which lanes send.
func (f *runFlags) addLaw(cmd *cobra.Command) {
	fs := cmd.Flags()
	given(fs, "retry-budget", "20[,0.1]", "retries per minute and per success", "20,0.1", parseRetryBudget, func(r flotilla.Retry) {
		f.retries.BudgetPerMin, f.retries.BudgetPerSucc = r.BudgetPerMin, r.BudgetPerSucc
	})
	given(fs, "soft-floor", "SHARE|TOKENS", "what is left of a limit when sending slows to a trickle", "10%", parseFloor, func(v floor) { f.softFloor = v })
	given(fs, "hard-floor", "SHARE|TOKENS", "what is left of a limit when nothing is sent", "2%", parseFloor, func(v floor) { f.hardFloor = v })
	group(cmd, groupAdvanced, "retry-budget", "soft-floor", "hard-floor")
}

// given declares a flag whose text a function reads; set is told the value each
// time the flag is given, so that no default has to be told from a choice. value
// is what the help calls the text.
func given[T any](fs *pflag.FlagSet, name, value, usage, standard string, parse func(string) (T, error), set func(T)) {
	if standard != "" {
		usage += " (default " + standard + ")"
	}
	fs.Var(&givenFlag{value: value, read: func(text string) error {
		v, err := parse(text)
		if err == nil {
			set(v)
		}
		return err
	}}, name, usage)
}

// givenFlag is a pflag.Value that keeps nothing but what was typed.
type givenFlag struct {
	value string // for the help
	texts []string
	read  func(string) error
}

func (g *givenFlag) Set(text string) error {
	if err := g.read(strings.TrimSpace(text)); err != nil {
		return err
	}
	g.texts = append(g.texts, text)
	return nil
}

func (g *givenFlag) String() string { return strings.Join(g.texts, ",") }
func (g *givenFlag) Type() string   { return g.value }

// check refuses what no input could mend.
func (f *runFlags) check(inputs []string) error {
	if err := errors.Join(f.checkBare(inputs), f.checkJudge()); err != nil {
		return err
	}
	switch {
	case f.noFile(inputs):
	case len(inputs) == 0 && f.bare != nil:
		return withHint(errors.New("no INPUT was given"), "flotilla plan rows.jsonl, or --n, --in-tokens, --out-tokens and --model without a file")
	case len(inputs) == 0:
		return withHint(errors.New("no INPUT was given"), "flotilla run rows.jsonl -o results.jsonl, or - for standard input")
	case f.json && !f.dryRun:
		return withHint(errors.New("--json is of a dry run"), "-n --json, or --summary FILE and --progress json of a run")
	case f.price != nil && f.model == "" && f.judge == nil:
		return withHint(errors.New("--price needs --model: it is the price of that model"), "--model NAME --price in=3,out=15")
	case slices.Contains(f.keep, "all") && len(f.keep) > 1:
		return errors.New("--keep all goes alone")
	}
	if i := slices.Index(inputs, "-"); i >= 0 && slices.Contains(inputs[i+1:], "-") {
		return errors.New("standard input (-) was given twice")
	}
	for _, name := range slices.Concat(inputs, f.reuse) {
		if name == "" {
			return fmt.Errorf("the name of a file is empty")
		}
	}
	return nil
}
