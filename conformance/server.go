package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// target is an API to ask.
type target struct {
	name     string
	url, key string
	emulator string // that answers in the end
	env      []string
	stops    []func() error
}

func (t *target) stop() error {
	var errs []error
	for i := len(t.stops) - 1; i >= 0; i-- {
		errs = append(errs, t.stops[i]())
	}
	return errors.Join(errs...)
}

// direct is an emulator alone.
func (r *run) direct(ctx context.Context) (*target, error) {
	return r.emulated(ctx, filepath.Join(r.home, "scenario.yaml"))
}

func (r *run) emulated(ctx context.Context, scenario string) (*target, error) {
	t := &target{name: "direct", key: "sk-ant-emulated-high"}
	p, err := r.start(ctx, "emulator", nil, "emulate", "--listen", "127.0.0.1:0", "--scenario", scenario)
	if err != nil {
		return nil, err
	}
	t.url, t.emulator = p.url, p.url
	t.stops = append(t.stops, p.stop)
	return t, nil
}

// gateway is flotilla serve before an emulator of its own, with one client key.
func (r *run) gateway(ctx context.Context) (*target, error) {
	t, err := r.direct(ctx)
	if err != nil {
		return nil, err
	}
	t.name = "gateway"
	if r.standIn {
		r.putProxy(t)
		return t, nil
	}
	dir, err := os.MkdirTemp(r.scratch, "gateway")
	if err != nil {
		return nil, errors.Join(err, t.stop())
	}
	env := append(orgs(t.emulator), "FLOTILLA_JOURNAL="+filepath.Join(dir, "journal.db"))
	add := exec.CommandContext(ctx, r.binary, "serve", "keys", "add", "conformance")
	add.Env, add.Dir = append(plainEnv(), env...), dir
	out, err := add.Output()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a client key: %w", err), t.stop())
	}
	if t.key = keyIn(string(out)); t.key == "" {
		return nil, errors.Join(fmt.Errorf("no client key in %q", out), t.stop())
	}
	p, err := r.start(ctx, "gateway", env, "serve", "--listen", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, t.stop())
	}
	t.url = p.url
	t.stops = append(t.stops, p.stop)
	return t, nil
}

// transport is an emulator that the suite sends to by a fleet of its own.
func (r *run) transport(ctx context.Context) (*target, error) {
	t, err := r.direct(ctx)
	if err == nil {
		t.name, t.env = "transport", []string{"CONFORMANCE_TRANSPORT=1"}
	}
	return t, err
}

// keyIn finds a client key in what serve keys add says.
func keyIn(text string) string {
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "flk_") {
			return word
		}
	}
	return ""
}

// putProxy puts what forwards everything before a target.
func (r *run) putProxy(t *target) {
	to, _ := url.Parse(t.url) // it was announced, and served
	s := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.Out.Host = p.In.Host // results_url leads here
	}})
	t.url = s.URL
	t.stops = append(t.stops, func() error { s.Close(); return nil })
}

// orgs is an environment in which flotilla has all orgs of an emulator.
func orgs(emulator string) []string {
	return []string{
		"ANTHROPIC_BASE_URL=" + emulator,
		"ANTHROPIC_API_KEY=sk-ant-emulated-high", "ANTHROPIC_BATCH_KEY=sk-ant-emulated-batch", "ANTHROPIC_API_KEY_LOW_PRIO=sk-ant-emulated-low",
	}
}

// plainEnv is ours without what would lead a program elsewhere.
func plainEnv() (env []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "ANTHROPIC_") && !strings.HasPrefix(name, "FLOTILLA_") && !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			env = append(env, v)
		}
	}
	return env
}

// process is a flotilla that serves.
type process struct {
	cmd   *exec.Cmd
	url   string
	log   string // file of its standard error
	ended chan error
}

// start runs flotilla until it says where it listens.
func (r *run) start(ctx context.Context, name string, env []string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, r.binary, args...), ended: make(chan error, 1)}
	dir, err := os.MkdirTemp(r.scratch, name)
	if err != nil {
		return nil, err
	}
	p.log = filepath.Join(dir, "log")
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	p.cmd.Env, p.cmd.Dir = append(plainEnv(), env...), dir
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = stopTime
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the %s: %w", name, err)
	}
	said := make(chan string, 1)
	go func() {
		defer log.Close()
		listenFor(io.TeeReader(out, log), said)
		p.ended <- p.cmd.Wait()
	}()
	select {
	case p.url = <-said:
	case <-time.After(startTime):
	}
	if p.url == "" {
		text, _ := os.ReadFile(p.log)
		return nil, errors.Join(fmt.Errorf("the %s does not say where it listens:\n%s", name, text), p.stop())
	}
	return p, nil
}

const (
	startTime = 30 * time.Second
	stopTime  = 30 * time.Second
)

// listenFor reads all that a program says, and tells the address in it; the
// empty one where it ends without.
func listenFor(r io.Reader, said chan<- string) {
	told := false
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "listening on "); ok && !told {
			told = true
			said <- strings.Fields(after)[0]
		}
	}
	if !told {
		said <- ""
	}
}

// stop ends it as a service manager does.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // one that has ended says so below
	select {
	case err := <-p.ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil // of a signal
		}
		return err
	case <-time.After(stopTime):
		return errors.Join(errors.New("it does not stop"), p.cmd.Process.Kill())
	}
}

// get reads a page of a server of ours.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}
