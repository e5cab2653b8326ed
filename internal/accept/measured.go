package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// build makes the program that carries the arms over HTTP.
func (c *course) build(ctx context.Context) (string, error) {
	c.say("building flotilla")
	path := filepath.Join(c.dir, "flotilla")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/flotilla-llm/flotilla/cmd/flotilla")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building flotilla: %w\n%s", err, out)
	}
	return path, nil
}

// measured is what is known of the emulator: a profile from before, or one that
// is measured now, by every experiment or, in a quick run, by the quickest.
func (c *course) measured(ctx context.Context) (*lab.Profile, error) {
	path := c.profile
	if path == "" {
		experiment := "all"
		if c.quick {
			experiment = "limits"
		}
		c.say("flotilla measure %s, against the emulator", experiment)
		dir := filepath.Join(c.dir, "lab")
		if err := os.MkdirAll(filepath.Join(dir, ".flotilla"), 0o700); err != nil {
			return nil, err
		}
		for _, args := range [][]string{{"measure", experiment, "--emulate", scenarioName, "-y"}, {"report"}} {
			cmd := exec.CommandContext(ctx, c.program, append(args, "--journal", filepath.Join(dir, ".flotilla"), "--config", os.DevNull)...)
			cmd.Dir, cmd.Env = dir, c.environ(dir)
			cmd.Stderr = c.log
			if err := cmd.Run(); err != nil {
				return nil, fmt.Errorf("flotilla %s: %w", args[0], err)
			}
		}
		path = filepath.Join(dir, ".flotilla", lab.ProfileName)
	}
	p, err := lab.ReadProfile(path)
	if err == nil && p == nil {
		err = fmt.Errorf("there is no profile %s", path)
	}
	if err == nil && p.Emulated != fmt.Sprintf("%s/%d", scenarioName, seed) {
		err = fmt.Errorf("the profile %s is of %q, not of the emulator's %s/%d", path, p.Emulated, scenarioName, seed)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}
