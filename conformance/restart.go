package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// restarts ends a gateway under a script's calls and its batch, orderly and by
// kill -9, and starts it again: the SDK's own retries are enough for the script
// to get all that it asked for.
func (r *run) restarts(ctx context.Context) error {
	py, err := r.python(ctx)
	if err != nil {
		return err
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := r.restart(ctx, py, s); err != nil {
			return fmt.Errorf("serve ended by %s: %w", s, err)
		}
		fmt.Printf("serve ended by %s and started again: the script gets every answer and its batch\n", s)
	}
	return nil
}

func (r *run) restart(ctx context.Context, py suite, s syscall.Signal) (err error) {
	t, err := r.direct(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	dir, err := os.MkdirTemp(r.scratch, "restart")
	if err != nil {
		return err
	}
	env := append(orgs(t.emulator), "FLOTILLA_JOURNAL="+filepath.Join(dir, "journal.db"))
	first, err := r.start(ctx, "gateway", env, "serve", "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ready := filepath.Join(dir, "ready")
	script := exec.CommandContext(ctx, py.args[0], "restart.py", ready)
	script.Dir, script.Env = py.dir, append(append(plainEnv(), py.env...), "ANTHROPIC_BASE_URL="+first.url, "ANTHROPIC_API_KEY=any")
	said := &bytes.Buffer{}
	script.Stdout, script.Stderr = said, said
	return slowly(ctx, t.emulator, func() error {
		if err := script.Start(); err != nil {
			return errors.Join(err, first.stop())
		}
		_, err := appears(ctx, ready)
		err = errors.Join(err, first.end(s))
		at, bad := url.Parse(first.url)
		if err = errors.Join(err, bad); err != nil {
			return errors.Join(fmt.Errorf("%w\n%s", err, said), script.Process.Kill(), script.Wait())
		}
		second, err := r.start(ctx, "gateway", env, "serve", "--listen", at.Host)
		if err != nil {
			return errors.Join(err, script.Process.Kill(), script.Wait())
		}
		if err = script.Wait(); err != nil {
			log, _ := os.ReadFile(second.log)
			err = fmt.Errorf("the script: %w\n%s\nthe second gateway:\n%s", err, said, log)
		}
		return errors.Join(err, second.stop())
	})
}

// end ends a process by a signal, and waits for it.
func (p *process) end(s syscall.Signal) error {
	if s == syscall.SIGTERM {
		return p.stop()
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		return err
	}
	<-p.ended
	return nil
}
