package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// course is one acceptance run.
type course struct {
	rows   int // on virtual time, and over HTTP where only batches are made
	syncs  int // over HTTP, of arms with sync calls
	script int // over HTTP, of the script

	speed       float64 // of arms with sync calls, over HTTP
	batchSpeed  float64 // of arms with batches alone, over HTTP
	scriptSpeed float64 // of the script, over HTTP

	again   bool // only the page, from what an earlier run has written
	quick   bool
	virtual bool   // nothing over HTTP
	out     string // directory of what is written
	profile string // file measured before; empty: it is measured
	program string // flotilla; empty: it is built
	log     io.Writer

	dir string // of whatever the run needs while it goes on
}

// whole is the acceptance run. Speeds are such that two cores keep up: what a
// client itself needs counts so many times over on the emulator's clock.
var whole = course{rows: 141_600, syncs: 20_000, script: 141_600, speed: 10, batchSpeed: 30, scriptSpeed: 400}

// short is for tests.
var short = course{rows: 6_000, syncs: 1_500, script: 1_000, speed: 20, batchSpeed: 60, scriptSpeed: 200, quick: true}

// run makes the arms and writes how they went.
func (c *course) run(ctx context.Context) (err error) {
	if c.again {
		t, err := readTable(filepath.Join(c.out, dataName))
		if err != nil {
			return err
		}
		t.compare()
		return t.write(c.out)
	}
	if c.dir, err = os.MkdirTemp("", "flotilla-accept-*"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	if c.program == "" && !(c.virtual && c.profile != "") {
		if c.program, err = c.build(ctx); err != nil {
			return err
		}
	}
	in, err := c.input()
	if err != nil {
		return err
	}
	p, err := c.measured(ctx)
	if err != nil {
		return err
	}
	s, err := c.setting(in, p)
	if err != nil {
		return err
	}
	t := &table{Rows: s.work.n, Input: in.source, Scenario: scenarioName, Seed: seed, Work: s.work.told(), Profile: profileOf(p)}
	err = s.rehearse(ctx, t)
	if err == nil && !c.virtual {
		err = c.live(ctx, in, s, t)
	}
	if err != nil {
		t.Unfinished = err.Error()
	}
	t.compare()
	if err := errors.Join(err, t.write(c.out)); err != nil {
		return err
	}
	c.say("wrote %s", filepath.Join(c.out, pageName))
	return t.judge(c.quick)
}

// say tells how far the run is.
func (c *course) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.log, "accept: "+format+"\n", args...)
}

// setting is what all arms share.
func (c *course) setting(in *input, p *lab.Profile) (*setting, error) {
	c.say("weighing %d rows", c.rows)
	w, err := in.weigh(c.rows)
	if err != nil {
		return nil, err
	}
	return &setting{course: c, work: w, profile: p}, nil
}

// epoch is where virtual time begins: nothing of the default scenario goes by
// the hour.
var epoch = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
