package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/internal/gateway"
)

// Exit codes of a shell for a command that it cannot run.
const (
	exitNotFound      = 127
	exitNotExecutable = 126
	exitSignal        = 128 // and the number of the signal that ended it
)

// childKeyPrefix begins the key that a command gets in the place of all of
// ours. Programs that look at their key expect this much of it.
const childKeyPrefix = "sk-ant-flotilla-"

// child is the command that a gateway is there for.
type child struct {
	args     []string
	path     string // of args[0]
	in       io.Reader
	out, err io.Writer
	key      string // that the gateway takes, and nobody else knows
}

// find looks for the command before anything is opened for it.
func (c *child) find(env *environment) (err error) {
	c.key = childKeyPrefix + strings.TrimPrefix(gateway.NewKey(), "flk_")
	if c.path, err = exec.LookPath(c.args[0]); errors.Is(err, exec.ErrDot) {
		c.path, err = "", withHint(fmt.Errorf("%s is in the working directory, which PATH should not name", c.args[0]), "write ./"+c.args[0])
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return exitWith(exitNotExecutable, fmt.Errorf("%s cannot be run: it is no program, or not yours to run", c.args[0]))
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return exitWith(exitNotFound, fmt.Errorf("there is no command %s", c.args[0]))
	}
	return exitWith(exitNotExecutable, err)
}

// serveChild serves for as long as the command runs.
func (v *server) serveChild(ctx context.Context, broken <-chan error) error {
	c := v.child
	cmd := exec.Command(c.path, c.args[1:]...) //nolint:gosec,noctx // running it is what we were asked; signals are passed on, not a kill
	cmd.Args[0] = c.args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, c.out, c.err
	cmd.Env = v.childEnvironment()
	cmd.WaitDelay = time.Second // for what it left behind with its streams open
	if err := cmd.Start(); err != nil {
		return exitWith(exitNotExecutable, errors.Join(fmt.Errorf("starting %s: %w", c.args[0], err), v.shut(ctx)))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := v.attend(ctx, cmd.Process, ended, broken)
	// Whoever asked is gone: what is under way is of no use to anybody.
	v.http.Close()
	err = errors.Join(err, v.shut(ctx))
	v.summary()
	if err != nil {
		return err
	}
	if code := exitCodeOf(cmd.ProcessState); code != 0 {
		return exitWith(code, nil)
	}
	return nil
}

// attend waits for the command, and passes signals on to it.
func (v *server) attend(ctx context.Context, p *os.Process, ended, broken <-chan error) error {
	asked, now := ctx.Done(), stopNow(ctx)
	for {
		select {
		case err := <-ended:
			if exit := new(exec.ExitError); errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
				err = nil // its exit code says it
			}
			return err
		case err := <-broken:
			// Its calls fail from here on, which it will see.
			v.log.Error("the gateway stopped", "cause", err)
			broken = nil
		case <-asked:
			asked = nil
			passOn(p, signalOf(ctx))
		case <-now:
			now = nil
			_ = p.Kill()
		}
	}
}

// childEnvironment is the command's: ours, with the gateway in the place of the
// provider and a key that is good there alone in the place of every key.
func (v *server) childEnvironment() []string {
	vars := maps.Clone(v.settings.Env.real)
	maps.DeleteFunc(vars, func(name, value string) bool { return v.secret(name, value) })
	delete(vars, "ANTHROPIC_AUTH_TOKEN") // would be sent in the place of the key
	for _, name := range v.keyVariables() {
		vars[name] = v.child.key
	}
	vars["ANTHROPIC_BASE_URL"] = v.outlet.url
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if slices.ContainsFunc(proxyVariables, func(p string) bool { return vars[p] != "" }) {
			vars[name] = strings.TrimPrefix(vars[name]+",127.0.0.1,localhost,::1", ",")
		}
	}
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

var proxyVariables = []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"}

// keyVariables are those that hold, or would hold, the key of an org. All are
// set: a program that reads a .env takes no variable from it that it has.
func (v *server) keyVariables() []string {
	names := slices.Collect(maps.Values(v.settings.KeyEnvs))
	for _, e := range envOrgs {
		names = append(names, e.variable)
	}
	return names
}

// secret says whether a variable holds a key of ours, under whatever name.
func (v *server) secret(name, value string) bool {
	if strings.HasPrefix(name, adminPrefix) {
		return true
	}
	for i := range v.settings.Orgs {
		o := &v.settings.Orgs[i]
		if name == o.AdminKeyEnv || strings.Contains(value, string(o.Key)) {
			return true
		}
	}
	return slices.ContainsFunc(v.settings.AdminKeys, func(k AdminKey) bool {
		return name == k.Env || strings.Contains(value, string(k.Key))
	})
}

// quoted are words as a shell reads them.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellQuote(w)
	}
	return strings.Join(out, " ")
}
