package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/lab"
)

// measuring is one invocation of measure on its way.
type measuring struct {
	flags    *measureFlags
	settings *Settings
	scenario *emulator.Scenario // measured in this process; nil: what the base URL leads to
	base     lab.Env
	mu       sync.Mutex // guards base.Known
	assumed  []string   // for people
	all      bool       // experiments that cannot run are passed over

	in       io.Reader
	out, err io.Writer
}

// prepare reads what there is to read; nothing is sent.
func (f *measureFlags) prepare(cmd *cobra.Command) (*measuring, error) {
	s, err := f.settings.load(cmd)
	if err != nil {
		return nil, err
	}
	m := &measuring{flags: f, settings: s, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: &lockedWriter{w: cmd.ErrOrStderr()}}
	if err := m.readBase(); err != nil {
		return nil, err
	}
	if f.scenario != "" {
		return m, m.emulateIn(f.scenario)
	}
	for _, w := range s.Warnings {
		warn(m.err, w)
	}
	if f.estimate && len(s.Orgs) == 0 {
		m.supposeOrgs()
		return m, nil
	}
	return m, s.NeedOrgs()
}

func (m *measuring) readBase() error {
	f, s := m.flags, m.settings
	known, err := lab.ReadAll(f.results)
	if err != nil {
		warn(m.err, err.Error()) // the others are of use
	}
	spend := s.MaxSpend
	if f.spend.job > 0 {
		spend = f.spend.job
	}
	provider, err := flotilla.Provider(s.BaseURL)
	if err != nil {
		return err
	}
	m.base = lab.Env{
		Prices: s.Prices, BaseURL: provider, Version: s.Version, Betas: s.Betas, Build: buildVersion().Version,
		Seed: f.seed, Window: f.window, Speed: s.Speed, Conc: s.Conc, OverCap: f.overCap, Soft: s.SoftFloor.Share,
		MaxSpend: spend, Snapshot: f.snapshot, Dir: f.results, Known: known,
	}
	for i := range s.Orgs {
		o := &s.Orgs[i]
		m.base.Orgs = append(m.base.Orgs, lab.Org{
			Name: o.Name, Key: o.Key, Admin: s.adminOf(o), BaseURL: o.BaseURL, NoSync: o.NoSync, NoBatch: o.NoBatch,
			Limits: o.PerMinute, BatchQueue: o.BatchQueue, BatchRPM: o.BatchRPM,
		})
	}
	return nil
}

// adminOf is the admin key that was meant for an org: named for it by a file or
// by its variable, or the only one of the only org. Which org it is of, only the
// provider knows: see matchAdmins.
func (s *Settings) adminOf(o *OrgSetting) flotilla.Key {
	for _, a := range s.AdminKeys {
		if a.Env == o.AdminKeyEnv || strings.EqualFold(a.Env, adminPrefix+"_"+o.Name) || len(s.Orgs) == 1 {
			return a.Key
		}
	}
	return ""
}

// matchAdmins gives each org the admin key that the provider says is of it.
func (m *measuring) matchAdmins(ctx context.Context, e *lab.Env) {
	for _, a := range m.settings.AdminKeys {
		client := newAPI(cmp.Or(a.BaseURL, m.settings.BaseURL), m.settings.Version)
		var me struct {
			ID string `json:"id"`
		}
		_, err := client.get(ctx, a.Key, "/v1/organizations/me", nil, &me)
		client.close()
		if err != nil {
			warn(m.err, fmt.Sprintf("%s: %s", a.Env, err))
			continue
		}
		for i := range e.Orgs {
			switch {
			case e.Orgs[i].ID == me.ID:
				e.Orgs[i].Admin = a.Key
			case e.Orgs[i].Admin == a.Key:
				e.Orgs[i].Admin = "" // it was named for the wrong org
			}
		}
	}
}

// supposeOrgs stands in for keys where an estimate is asked for without any.
func (m *measuring) supposeOrgs() {
	m.assumed = append(m.assumed, "no key is set: the three orgs of the environment, high, batch and low")
	for _, e := range envOrgs {
		m.base.Orgs = append(m.base.Orgs, lab.Org{Name: e.name})
	}
}

// emulateIn sets an emulator of this process in the place of the provider.
func (m *measuring) emulateIn(name string) error {
	sc, err := scenarioOf(name)
	if err != nil {
		return err
	}
	m.scenario = &sc
	m.base.Orgs = lab.EmulatedOrgs(sc)
	m.base.Emulated = fmt.Sprintf("%s/%d", sc.Name, m.flags.seed)
	m.base.BaseURL = ""
	return nil
}

// world is the Env of one experiment: where an emulator is measured, one of its
// own at a speed that fits. end stops it.
func (m *measuring) world(ctx context.Context, x lab.Experiment) (env *lab.Env, end func(), err error) {
	if m.scenario == nil {
		e := m.envOf(x)
		lines, err := lab.Greet(ctx, &e)
		for _, line := range lines {
			warn(m.err, line)
		}
		if err != nil {
			return nil, nil, withHint(err, "flotilla doctor says what is wrong with each key; an emulator's --speed is given to both")
		}
		m.matchAdmins(ctx, &e)
		learnOf(&e)
		return &e, func() {}, nil
	}
	speed := x.Speed()
	if m.settings.Speed > 1 {
		speed = m.settings.Speed
	}
	w, err := lab.Emulate(*m.scenario, m.flags.seed, speed, time.Time{})
	if err != nil {
		return nil, nil, err
	}
	base := m.envOf(x)
	e, err := w.Env(ctx, &base, *m.scenario, speed)
	if err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	learnOf(e)
	return e, func() { _ = w.Close() }, nil
}

// envOf is what one experiment is run with, but for what a greeting tells.
func (m *measuring) envOf(x lab.Experiment) lab.Env {
	e := m.base
	e.Known = m.known()
	e.Log = func(line string) {
		_, _ = fmt.Fprintf(m.err, "  %s: %s\n", x.Name(), strings.TrimPrefix(line, x.Name()+": "))
	}
	return e
}

// learnOf lets an Env start from what was measured of the same provider.
func learnOf(e *lab.Env) {
	e.Known = slices.DeleteFunc(slices.Clone(e.Known), func(r *lab.Result) bool {
		return r.Emulated != e.Emulated || e.Emulated == "" && r.BaseURL != e.BaseURL
	})
	e.Learn()
}
