package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// World is an emulator inside this process, for measuring without a key.
type World struct {
	Server *emulator.Server
	URL    string
}

// Emulate starts an emulator of a scenario at a speed. Close ends it.
func Emulate(scenario emulator.Scenario, seed uint64, speed float64, start time.Time) (*World, error) {
	s, err := emulator.New(emulator.Options{Scenario: scenario, Seed: seed, Speed: speed, Start: start})
	if err != nil {
		return nil, fmt.Errorf("starting the emulator: %w", err)
	}
	url, err := s.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &World{Server: s, URL: url}, nil
}

// Close stops the emulator.
func (w *World) Close() error { return w.Server.Close() }

// Env is base with the world's orgs and address in the place of its own. Admin
// keys are given to all orgs: the emulator has them.
func (w *World) Env(ctx context.Context, base *Env, scenario emulator.Scenario, speed float64) (*Env, error) {
	env := *base
	env.Orgs, env.BaseURL, env.Speed, env.Start, env.Transport = EmulatedOrgs(scenario), w.URL, speed, time.Time{}, nil
	if _, err := Greet(ctx, &env); err != nil {
		return nil, err
	}
	env.Start = w.Server.Now() // finer than the header's whole seconds
	return &env, nil
}

// EmulatedOrgs are the orgs of a scenario with the emulator's keys.
func EmulatedOrgs(scenario emulator.Scenario) []Org {
	var orgs []Org
	for i := range scenario.Orgs {
		name := scenario.Orgs[i].Name
		orgs = append(orgs, Org{Name: name, Key: flotilla.Key(emulator.Key(name)), Admin: flotilla.Key(emulator.AdminKey(name))})
	}
	return orgs
}
