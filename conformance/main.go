package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// missingError says that a check cannot be done on this machine.
type missingError struct{ what string }

func (e *missingError) Error() string { return e.what }

// exitMissing is what scripts/test takes for "could not be done here".
const exitMissing = 75

// run is one invocation.
type run struct {
	suites  []string
	only    string
	standIn bool
	tests   bool
	rerun   bool
	renew   bool
	show    bool

	home    string // this directory
	scratch string // gone at the end
	binary  string // flotilla
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := mainly(ctx, os.Args[1:])
	var missing *missingError
	switch {
	case err == nil:
	case errors.As(err, &missing) && os.Getenv("CI") != "true":
		fmt.Println("SKIPPED conformance:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(exitMissing) //nolint:gocritic // nothing is left to be stopped
	default:
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func mainly(ctx context.Context, args []string) (err error) {
	r := &run{}
	fs := flag.NewFlagSet("conformance", flag.ContinueOnError)
	suites := fs.String("suites", "python,typescript,go", "which SDKs ask")
	fs.StringVar(&r.only, "only", "", "run the checks whose name matches `REGEXP`")
	fs.BoolVar(&r.standIn, "stand-in", false, "put a bare reverse proxy in the gateway's place, to see that the suites agree with themselves")
	fs.BoolVar(&r.tests, "sdk-tests", false, "run the Go SDK's own tests")
	fs.BoolVar(&r.rerun, "rerun", false, "kill a script under serve, and run it again")
	fs.BoolVar(&r.renew, "restart", false, "restart the gateway under a script")
	fs.BoolVar(&r.show, "examples", false, "run the examples, and the recipes of the pages that are in Python")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if _, err := regexp.Compile(r.only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	r.suites = strings.Split(*suites, ",")
	if err := r.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	switch {
	case r.tests:
		return r.sdkTests(ctx)
	case r.rerun:
		return r.reruns(ctx)
	case r.renew:
		return r.restarts(ctx)
	case r.show:
		return r.examples(ctx)
	}
	return r.compareSuites(ctx)
}

// prepare builds flotilla into a scratch directory.
func (r *run) prepare(ctx context.Context) (err error) {
	if r.home, err = os.Getwd(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.home, "scenario.yaml")); err != nil {
		return fmt.Errorf("run it in its own directory: %w", err)
	}
	if r.scratch, err = os.MkdirTemp("", "conformance"); err != nil {
		return err
	}
	r.binary = filepath.Join(r.scratch, "flotilla")
	return r.do(ctx, filepath.Dir(r.home), nil, "go", "build", "-o", r.binary, "./cmd/flotilla")
}

// do runs a command whose output matters only where it fails.
func (r *run) do(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
