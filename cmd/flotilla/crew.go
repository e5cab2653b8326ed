package main

import (
	"context"
	"errors"
	"io"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// crew is what a command that sends works with: the journal, the orgs, and the
// fleet that goes over them.
type crew struct {
	settings *Settings
	sends    *runFlags // what the flags ask of a fleet
	err      io.Writer

	errTerminal *terminal // that standard error leads to; nil: none

	notify  func(flotilla.Notice)      // told of what people should know
	observe func(flotilla.Observation) // told of every attempt; nil: nobody

	journal  *journal.Journal
	store    flotilla.Store // the journal
	shares   *shares
	fleet    *flotilla.Fleet
	maxConns int // of the fleet to an org; 0: as many as it likes
	infos    []flotilla.OrgInfo
	trace    io.WriteCloser // nil: none
	profile  profile        // what was measured of the provider
}

func newCrew(s *Settings, sends *runFlags, stderr io.Writer) crew {
	return crew{settings: s, sends: sends, err: &lockedWriter{w: stderr}, errTerminal: terminalOf(stderr)}
}

// with opens the journal at a path and a fleet beside it, in the order in which
// they can go wrong cheaply, and closes both after do.
func (c *crew) with(ctx context.Context, path string, do func() error) (err error) {
	s := c.settings
	s.knownLimits(ctx, c.sends.prices())
	for _, w := range s.Warnings {
		warn(c.err, w)
	}
	if c.journal, err = journal.Open(ctx, path, journal.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.journal.Close()) }()
	if c.journal.Exclusive() {
		warn(c.err, path+" is on a network file system: one process at a time can use it")
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer func() {
		if e := c.disconnect(); err == nil {
			err = e
		}
	}()
	return do()
}

// connect makes the fleet and learns who the orgs are.
func (c *crew) connect(ctx context.Context) (err error) {
	if c.trace, err = openTrace(c.sends.trace); err != nil {
		return err
	}
	c.shares, c.store = &shares{journal: c.journal}, testStore(c.journal)
	asks := c.config()
	if limit, _, err := fileLimit(); err == nil {
		c.boundConns(&asks, limit)
		c.maxConns = asks.MaxConns
	}
	if c.fleet, err = flotilla.New(asks); err != nil {
		return err
	}
	if c.infos, err = connect(ctx, c.fleet, c.err); err != nil {
		return errors.Join(err, c.disconnect())
	}
	return nil
}

// config is what is asked of the fleet.
func (c *crew) config() flotilla.Config {
	asks := c.sends.fleetConfig(c.settings)
	asks.MaxConns = c.maxConns
	asks.Store, asks.Slots, asks.Memory, asks.Notify, asks.Observe = c.store, c.shares, c.shares, c.notify, c.observe
	if c.trace != nil {
		asks.Trace = c.trace
	}
	return asks
}

// testStore lets a test put something between a fleet and its journal.
var testStore = func(s flotilla.Store) flotilla.Store { return s }

// known takes in who answers: what the journal knows of it, and what was
// measured. mark is the emulator's; empty: it is the real provider.
func (c *crew) known(ctx context.Context) (mark string, err error) {
	if mark, err = emulatedMark(c.infos); err != nil {
		return "", err
	}
	provider, err := flotilla.Provider(c.settings.BaseURL)
	if err != nil {
		return "", err
	}
	c.shares.learn(journal.Realm{Provider: provider, Emulated: mark}, c.infos, c.fleet.Now)
	return mark, c.takeProfile(ctx, mark)
}

// refit puts a fleet of the settings as they are now in the place of one that has
// sent nothing yet.
func (c *crew) refit(ctx context.Context) (err error) {
	if err := c.fleet.Close(); err != nil {
		return err
	}
	if c.fleet, err = flotilla.New(c.config()); err != nil {
		return err
	}
	c.infos, err = c.fleet.Connect(ctx)
	return err
}

func (c *crew) disconnect() error {
	err := c.fleet.Close()
	if c.trace != nil {
		err = errors.Join(err, c.trace.Close())
	}
	return err
}
