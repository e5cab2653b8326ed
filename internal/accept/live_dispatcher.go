package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/plan"
	"github.com/flotilla-llm/flotilla/price"
)

// lived is one arm of the program over HTTP.
type lived struct {
	id, name string
	args     []string
	rows     int
	speed    float64
	profiled bool
	broken   bool    // Ctrl-C at a third of the rows, kill -9 at two thirds, the same command again each time
	cap      float64 // of the dollars of all rows, where it stops; 0: none that binds
}

// lives are arms (b) and (c).
func (s *setting) lives() []*lived {
	c := s.course
	fast := lived{name: "flotilla judge --prefer fast", args: []string{"--prefer", "fast"}, rows: c.syncs, speed: c.speed}
	out := []*lived{{id: "b", name: "flotilla judge --tier batch", args: []string{"--tier", "batch"}, rows: c.rows, speed: c.batchSpeed}}
	for _, profiled := range []bool{false, true} {
		plain, broken, capped := fast, fast, fast
		plain.id = "c-fast"
		broken.id, broken.name, broken.broken = "c-fast-killed", broken.name+", Ctrl-C at a third, kill -9 at two thirds, each time resumed", true
		capped.id, capped.cap, capped.args = "c-sync-cap", capShare, []string{"--tier", "sync"}
		capped.name = fmt.Sprintf("flotilla judge --tier sync, --max-spend %.0f %% of what all rows cost", 100*capShare)
		group := []*lived{&plain, &broken, &capped}
		if c.quick && profiled {
			group = group[:1]
		}
		if !c.quick {
			group = append(
				group,
				&lived{id: "c-balanced", name: "flotilla judge --prefer balanced", args: []string{"--prefer", "balanced"}, rows: c.syncs, speed: c.speed},
				&lived{id: "c-cheap", name: "flotilla judge --prefer cheap", args: []string{"--prefer", "cheap"}, rows: c.rows, speed: c.batchSpeed})
		}
		for _, l := range group {
			if profiled {
				l.id, l.name, l.profiled = l.id+"-p", l.name+", by the profile", true
			}
			out = append(out, l)
		}
	}
	return out
}

// live carries one of them.
func (s *setting) live(ctx context.Context, in *input, t *table, l *lived) error {
	a := &arm{ID: l.id, Name: l.name, Scenario: scenarioName, Orgs: allOrgs, Rows: l.rows, Profiled: l.profiled, Cap: s.work.class.Worst}
	sync, _, _ := t.priced()
	if l.cap > 0 {
		a.Cap = price.Nanos(l.cap * float64(sync) * float64(l.rows) / float64(s.work.n))
	}
	err := s.with(t, a, l.speed, func(p *provider) error {
		r := &runner{setting: s, provider: p, arm: a, lived: l, input: in}
		return r.run(ctx)
	})
	if err != nil {
		return err
	}
	s.hold(a, a.open())
	return nil
}

// runner is the program at work in one arm.
type runner struct {
	*setting
	*provider
	arm   *arm
	lived *lived
	input *input

	stderr bytes.Buffer // of the last invocation
}

// run carries the arm to its end, over as many invocations as it is broken into.
func (r *runner) run(ctx context.Context) error {
	if r.lived.profiled {
		if err := r.profile.Store(filepath.Join(r.dir, ".flotilla", lab.ProfileName)); err != nil {
			return err
		}
	}
	switch {
	case r.lived.broken:
		for thirds, signal := range []os.Signal{os.Interrupt, os.Kill} {
			code := map[os.Signal]int{os.Interrupt: exitInterrupted, os.Kill: exitKilled}[signal]
			if err := r.invoke(ctx, code, &breach{r.arm.Rows * (thirds + 1) / 3, signal}); err != nil {
				return err
			}
		}
	case r.lived.cap > 0:
		if err := r.invoke(ctx, job.ExitCap, nil); err != nil {
			return err
		}
		return r.take()
	}
	if err := r.invoke(ctx, job.ExitOK, nil); err != nil {
		return err
	}
	return r.take()
}

// Codes of ends that are not the program's own choice.
const (
	exitInterrupted = 130
	exitKilled      = -1
)

// breach is a signal that a process gets when so many rows have been answered.
type breach struct {
	rows   int
	signal os.Signal
}

// await waits for the end of a process, and breaks it when it is due.
func (r *runner) await(cmd *exec.Cmd, b *breach) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	const look = 20 * time.Millisecond // of real time: a moment of the program's life
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for b != nil {
		select {
		case err := <-ended:
			return err
		case <-ticks.C:
		}
		if int(r.server.Stats().Succeeded) >= b.rows {
			if err := cmd.Process.Signal(b.signal); err != nil {
				return err
			}
			break
		}
	}
	return <-ended
}

// invoke runs the command once.
func (r *runner) invoke(ctx context.Context, want int, b *breach) error {
	args := append([]string{
		"judge", "--rubric", "trait", "--by", "trait", r.input.path, "-o", r.path("verdicts.jsonl"), "--summary", r.path("summary.json"), "--limit", strconv.Itoa(r.arm.Rows),
		"--base-url", r.url, "--speed", strconv.FormatFloat(r.speed, 'g', -1, 64), "--journal", r.path(".flotilla"), "--config", os.DevNull,
		"--progress", "none", "--max-spend", strconv.FormatFloat(r.arm.Cap.Float(), 'f', -1, 64),
	}, r.lived.args...)
	cmd := exec.CommandContext(ctx, r.course.program, args...)
	cmd.Dir, cmd.Env = r.dir, r.course.environ(r.dir)
	r.stderr.Reset()
	cmd.Stderr = &r.stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	err := r.await(cmd, b)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		return fmt.Errorf("flotilla judge ended with %d, not %d\n%s", got, want, r.stderr.String())
	}
	return nil
}

// take reads what the program left: its summary and its lines.
func (r *runner) take() error {
	text, err := os.ReadFile(r.path("summary.json"))
	if err != nil {
		return err
	}
	var s job.Summary
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("the summary: %w", err)
	}
	a := r.arm
	a.OwnS = s.WallS
	a.USD, a.Pending, a.Hedges, a.InDoubt = s.CostUSD, s.Pending, s.Hedges, s.InDoubt
	a.Route = plan.SyncName
	if s.Forecast != nil {
		a.Route = s.Forecast.Route
	}
	got, statuses, err := verdicts(r.path("verdicts.jsonl"))
	if err != nil {
		return err
	}
	a.Statuses = statuses
	a.count(got)
	if n := statuses["scored"]; n != a.Succeeded {
		return fmt.Errorf("%d of %d verdicts are scored: %v", n, a.Succeeded, statuses)
	}
	return nil
}
