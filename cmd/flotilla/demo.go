package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/emulator"
)

// The demo's job: large enough to see lanes open up and a limit bind, small
// enough to be over within a minute on two cores. Its clock runs faster.
const (
	demoRowCount = 6000
	demoSpeed    = 10
	demoModel    = "claude-sonnet-4-6"
	demoTokens   = 200
	demoSeed     = 1
)

// demo is one run of the demo.
type demo struct {
	keep string // directory that results go to; empty: a temporary one
	rows int
	seed uint64
	ui   string // address of the dashboard, which stays then; empty: a free one, while the job runs
}

func newDemoCmd() *cobra.Command {
	d := &demo{seed: demoSeed}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a real job of some thousand rows against an emulator in this process; needs no key and no network",
		Long: `Run a real job of some thousand rows over three emulated orgs, all in this process: no
key, no network, no cost. It takes well under a minute. What stays is one file of
results, whose place is printed at the end. The dashboard shows it as it runs.`,
		Example: "  flotilla demo\n  flotilla demo --ui 127.0.0.1:8788\n  flotilla demo --keep demo-results",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.run(cmd) },
	}
	cmd.Flags().StringVar(&d.keep, "keep", "", "put everything into `DIR`: prompts, results, summary, journal")
	cmd.Flags().StringVar(&d.ui, "ui", "", "`ADDR` of the dashboard, which then stays until Ctrl-C (default: a free port, while the job runs)")
	given(cmd.Flags(), "rows", "N", "how many rows", whole(demoRowCount), atLeast(1), func(n int) { d.rows = n })
	cmd.Flags().Uint64Var(&d.seed, "seed", demoSeed, "`SEED` of prompts and emulator")
	group(cmd, groupAdvanced, "rows", "seed")
	return cmd
}

func (d *demo) run(cmd *cobra.Command) (err error) {
	dir, results, err := d.places()
	if err != nil {
		return err
	}
	if d.keep == "" {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	scenario, err := emulator.Named("default")
	if err != nil {
		return err
	}
	server, err := emulator.New(emulator.Options{Scenario: scenario, Seed: d.seed, Speed: demoSpeed})
	if err != nil {
		return err
	}
	defer server.Close()
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	prompts := filepath.Join(dir, "prompts.jsonl")
	if err := d.writePrompts(prompts); err != nil {
		return err
	}
	w := cmd.ErrOrStderr()
	args := d.args(url, dir, prompts, results)
	fmt.Fprintf(w, "Three orgs are emulated at %s; their clock runs %d times as fast. The same on your own keys:\n\n  %s\n\n", url, demoSpeed, d.yourCommand())
	began := time.Now()
	if err := d.job(cmd, args); err != nil {
		return err
	}
	fmt.Fprintf(w, `
That took %s here; the times above are of the emulated clock. Nothing was sent to
Anthropic and nothing was spent: the dollars are what the same job would cost there.
results: %s
`, span(time.Since(began)), results)
	return nil
}

// places are where the demo works and where its results go. A result outlives
// the demo; everything else does with --keep alone.
func (d *demo) places() (dir, results string, err error) {
	if d.keep != "" {
		if dir, err = filepath.Abs(d.keep); err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		return dir, filepath.Join(dir, "results.jsonl"), err
	}
	if dir, err = os.MkdirTemp("", "flotilla-demo-*"); err != nil {
		return "", "", err
	}
	f, err := os.CreateTemp("", "flotilla-demo-results-*.jsonl")
	if err != nil {
		return "", "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, f.Name(), f.Close()
}

func (d *demo) writePrompts(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(writeDemoRows(f, cmp.Or(d.rows, demoRowCount), d.seed), f.Close())
}

func (d *demo) yourCommand() string {
	return fmt.Sprintf("flotilla run prompts.jsonl --prompt '{{.question}}' --model %s --max-tokens %d -o results.jsonl", demoModel, demoTokens)
}

func (d *demo) args(url, dir, prompts, results string) []string {
	args := []string{
		"run", prompts, "--prompt", "{{.question}}", "--model", demoModel, "--max-tokens", strconv.Itoa(demoTokens), "-o", results,
		"--base-url", url, "--speed", strconv.Itoa(demoSpeed), "--journal", filepath.Join(dir, ".flotilla"), "--config", os.DevNull, "--tier", "sync", "--overwrite",
		"--ui", cmp.Or(d.ui, "127.0.0.1:0"),
	}
	if d.ui != "" {
		args = append(args, "--ui-stays")
	}
	if d.keep != "" {
		args = append(args, "--summary", filepath.Join(dir, "summary.json"))
	}
	return args
}

// job runs the demo's job as flotilla run does, with the emulator's keys in
// place of whatever the environment has.
func (d *demo) job(cmd *cobra.Command, args []string) error {
	root := newRootCmd()
	root.SetArgs(args)
	root.SetIn(cmd.InOrStdin())
	root.SetOut(cmd.OutOrStdout())
	root.SetErr(cmd.ErrOrStderr())
	return root.ExecuteContext(d.environment(cmd.Context()))
}

func (d *demo) environment(ctx context.Context) context.Context {
	e := &environment{real: map[string]string{
		"ANTHROPIC_API_KEY": emulator.Key("high"), "ANTHROPIC_BATCH_KEY": emulator.Key("batch"), "ANTHROPIC_API_KEY_LOW_PRIO": emulator.Key("low"),
	}}
	for _, name := range []string{"NO_COLOR", "TERM"} {
		if v, _, ok := environmentOf(ctx).lookup(name); ok {
			e.real[name] = v
		}
	}
	return withEnvironment(ctx, e)
}
