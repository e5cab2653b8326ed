// Command flotilla carries a file of prompts to a file of results, as fast as
// the orgs behind your Claude keys allow and no faster than manners do.
package main

import (
	"context"
	"io"
	"os"
)

func main() {
	os.Exit(interruptible(notified(), func(ctx context.Context) int {
		return Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	}))
}

// Run is the program as a value: it runs one command line and returns its exit
// code (interface.md, "Exit codes"). Cancelling ctx is the first Ctrl-C:
// commands stop sending and drain. It never ends the process.
func Run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	env, err := newEnvironment(environ, ".")
	if err != nil {
		return report(ctx, stderr, err)
	}
	root := newRootCmd()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return report(ctx, stderr, root.ExecuteContext(withEnvironment(ctx, env)))
}
