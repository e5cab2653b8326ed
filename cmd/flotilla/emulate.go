package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/emulator"
)

// emulateFlags are the flags of flotilla emulate as typed.
type emulateFlags struct {
	listen, scenario, start string
	seed                    uint64
	speed                   float64
}

func newEmulateCmd() *cobra.Command {
	var f emulateFlags
	cmd := &cobra.Command{
		Use:   "emulate",
		Short: "Serve an emulated Claude API with rate limits, for trying things without a key",
		Long: `emulate serves an imitation of the Claude API: Messages (JSON and streams),
token counting, Message Batches, Models, the Rate Limits API and the usage report,
with the limits, headers, errors and delays of the real one. Its answers are filler.

Keys are ` + emulator.Key("ORG") + ` (also ` + emulator.Key("ORG") + `-2, the same org) for the
orgs high, batch and low, and ` + emulator.AdminKey("ORG") + ` for the Admin API.
GET /emulator/stats counts what it served.

Scenarios: ` + strings.Join(emulator.Scenarios(), ", ") + `.
A file is YAML; what it leaves out is as in the scenario that its "base" names.`,
		Example: `  flotilla emulate --scenario tier-start --speed 20
  ANTHROPIC_BASE_URL=http://127.0.0.1:4010 ANTHROPIC_API_KEY=` + emulator.Key("high") + ` flotilla run --speed 20 prompts.csv …`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			return emulate(cmd.Context(), o, f.listen, cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:4010", "`address` to listen on; port 0 picks a free one")
	fl.StringVar(&f.scenario, "scenario", "default", "`name` of a scenario, or a YAML file")
	fl.Uint64Var(&f.seed, "seed", 1, "everything drawn follows from it")
	fl.Float64Var(&f.speed, "speed", 1, "seconds that pass in a real one")
	fl.StringVar(&f.start, "start", "", "RFC 3339 `time` at which its clock starts (default: now)")
	return cmd
}

func (f *emulateFlags) options() (emulator.Options, error) {
	o := emulator.Options{Seed: f.seed, Speed: f.speed}
	if !(f.speed > 0) || f.speed > 1e6 {
		return o, withHint(fmt.Errorf("--speed %v is not a positive number", f.speed), "--speed 20 lets a minute pass in three seconds")
	}
	if f.start != "" {
		t, err := time.Parse(time.RFC3339, f.start)
		if err != nil {
			return o, withHint(fmt.Errorf("--start %q is not a time", f.start), "write it as 2026-11-30T09:00:00Z")
		}
		o.Start = t
	}
	var err error
	o.Scenario, err = scenarioOf(f.scenario)
	return o, err
}

// scenarioOf finds a scenario by name, else reads the file of that name.
func scenarioOf(name string) (emulator.Scenario, error) {
	sc, named := emulator.Named(name)
	if named == nil {
		return sc, nil
	}
	file, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sc, withHint(fmt.Errorf("there is no scenario and no file %q", name), "scenarios are "+strings.Join(emulator.Scenarios(), ", "))
	case err != nil:
		return sc, fmt.Errorf("opening the scenario: %w", err)
	}
	defer file.Close()
	sc, err = emulator.Load(file)
	if err != nil {
		return sc, fmt.Errorf("%s: %w", name, err)
	}
	return sc, nil
}

// keysOf are the keys that a scenario's orgs take.
func keysOf(sc *emulator.Scenario) (keys []string) {
	for i := range sc.Orgs {
		keys = append(keys, emulator.Key(sc.Orgs[i].Name))
	}
	return keys
}

// drainTime is how long answers under way may take when the emulator is told
// to stop. It is short: who stops an emulator wants it gone.
const drainTime = 500 * time.Millisecond

// emulate serves until ctx ends.
func emulate(ctx context.Context, o emulator.Options, listen string, say io.Writer) error {
	s, err := emulator.New(o)
	if err != nil {
		return err
	}
	url, err := s.Listen(listen)
	if err != nil {
		return withHint(err, "--listen 127.0.0.1:0 picks a free port")
	}
	if _, err := fmt.Fprintf(say, "listening on %s\nkeys: %s\n", url, strings.Join(keysOf(&o.Scenario), ", ")); err != nil {
		return errors.Join(fmt.Errorf("telling the address: %w", err), s.Close())
	}
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := s.Shutdown(drain); errors.Is(err, context.DeadlineExceeded) {
		return s.Close()
	}
	return nil
}
