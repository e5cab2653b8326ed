package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// provider is an emulator that an arm over HTTP has for itself.
type provider struct {
	server *emulator.Server
	url    string
	speed  float64
	dir    string // of the arm's files
}

// provide starts one. It begins where the profile was measured, so that it is fresh.
func (s *setting) provide(scenario string, speed float64) (*provider, error) {
	sc, err := world(scenario)
	if err != nil {
		return nil, err
	}
	p := &provider{speed: speed}
	if p.dir, err = os.MkdirTemp(s.course.dir, "arm-*"); err != nil {
		return nil, err
	}
	if p.server, err = emulator.New(emulator.Options{Scenario: sc, Seed: seed, Speed: speed, Start: s.profile.Measured.Truncate(time.Minute)}); err != nil {
		return nil, err
	}
	if p.url, err = p.server.Listen("127.0.0.1:0"); err != nil {
		return nil, errors.Join(err, p.server.Close())
	}
	return p, nil
}

// close ends it and leaves nothing.
func (p *provider) close() error { return errors.Join(p.server.Close(), os.RemoveAll(p.dir)) }

// sleep waits for a time on the emulator's clock.
func (p *provider) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(time.Duration(float64(d) / p.speed))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// with runs an arm against an emulator of its own and adds up what both sides saw.
func (s *setting) with(t *table, a *arm, speed float64, run func(p *provider) error) (err error) {
	s.course.say("HTTP, speed %.0f: (%s) %s, %s rows of %s", speed, a.ID, a.Name, grouped(a.Rows), a.Scenario)
	p, err := s.provide(a.Scenario, speed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	a.Over, a.Speed = overHTTP, speed
	began := p.server.Now()
	if err := run(p); err != nil {
		return fmt.Errorf("arm %s over HTTP: %w", a.ID, err)
	}
	if a.WallS == 0 {
		a.WallS = p.server.Now().Sub(began).Seconds()
	}
	st := p.server.Stats()
	a.bill(st, flotilla.DefaultConc(family))
	a.Lost = max(a.Lost, a.Rows-a.Pending-int(st.Succeeded))
	t.add(a)
	return nil
}

// live carries rows over HTTP, in every way.
func (c *course) live(ctx context.Context, in *input, s *setting, t *table) error {
	a := &arm{ID: "a", Name: scriptName(), Scenario: scenarioName, Orgs: oneOrg, Rows: c.script, Route: "batch"}
	err := s.with(t, a, c.scriptSpeed, func(p *provider) error { return p.script(ctx, in, a) })
	if err != nil {
		return err
	}
	s.hold(a, tiers{batch: true})
	for _, l := range s.lives() {
		if err := s.live(ctx, in, t, l); err != nil {
			return err
		}
	}
	for i, name := range []string{scenarioName, starterName} {
		a := &arm{ID: fmt.Sprint("d", i+1), Name: semaphoreName(), Scenario: name, Orgs: oneOrg, Rows: c.syncs, Route: "sync"}
		if err := s.with(t, a, c.speed, func(p *provider) error { return p.semaphore(ctx, in, a) }); err != nil {
			return err
		}
		s.hold(a, tiers{sync: true})
	}
	return nil
}

// environ is what the program gets: the emulator's keys and nothing else.
func (c *course) environ(dir string) []string {
	return []string{
		"HOME=" + dir, "ANTHROPIC_API_KEY=" + emulator.Key("high"), "ANTHROPIC_BATCH_KEY=" + emulator.Key("batch"),
		"ANTHROPIC_API_KEY_LOW_PRIO=" + emulator.Key("low"),
	}
}

// path is a file of the arm's.
func (p *provider) path(name string) string { return filepath.Join(p.dir, name) }
