package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := Run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// Run is the command as a value. Its code is 0 where every target was met, 1
// where one was missed or the run could not be made.
func Run(ctx context.Context, args []string, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = c.run(ctx)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "accept: error:", err)
		return 1
	}
	return 0
}

// parse reads the flags.
func parse(args []string, stderr io.Writer) (*course, error) {
	c := course{log: stderr}
	quick := false
	fs := flag.NewFlagSet("accept", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&quick, "quick", false, "few rows, for tests")
	fs.BoolVar(&c.again, "page", false, "write acceptance.md anew from acceptance.json, and run nothing")
	fs.StringVar(&c.out, "out", "docs", "`DIR` that acceptance.md and acceptance.json are written to")
	fs.StringVar(&c.profile, "profile", "", "profile.json measured before, `FILE`, in place of measuring")
	fs.StringVar(&c.program, "flotilla", "", "`FILE` of the program (default: it is built)")
	fs.BoolVar(&c.virtual, "virtual", false, "virtual time alone, nothing over HTTP")
	fs.Float64Var(&c.speed, "speed", 0, "how many times faster the clock of arms with sync calls runs over HTTP, `X`: at most 20 (default 10; 20 with -quick)")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	sizes := whole
	if quick {
		sizes = short
	}
	c.rows, c.syncs, c.script, c.quick = sizes.rows, sizes.syncs, sizes.script, sizes.quick
	c.batchSpeed, c.scriptSpeed, c.speed = sizes.batchSpeed, sizes.scriptSpeed, cmp.Or(c.speed, sizes.speed)
	if c.speed < 1 || c.speed > 20 {
		return nil, errors.New("-speed is from 1 to 20")
	}
	return &c, nil
}
