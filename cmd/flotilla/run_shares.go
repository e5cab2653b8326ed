package main

import (
	"context"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// shares is what a fleet shares through a journal with other processes and with
// later runs: slots of a cap, and what is known of lanes.
type shares struct {
	journal *journal.Journal
	realm   journal.Realm
	now     func() time.Time // scaled clock, as records have it

	mu    sync.Mutex
	names map[string]string // org name by id
}

// learn takes in what the orgs said of themselves.
func (s *shares) learn(realm journal.Realm, infos []flotilla.OrgInfo, now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.realm, s.now, s.names = realm, now, map[string]string{}
	for _, o := range infos {
		if o.Usable() && o.ID != "" {
			s.names[o.ID] = o.Name
		}
	}
}

// org is the name that the journal's records have for an org.
func (s *shares) org(key string) (journal.Realm, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := s.names[key]; ok {
		return s.realm, name
	}
	return s.realm, key
}

// Lease is part of flotilla.Slots.
func (s *shares) Lease(ctx context.Context, pot string, limit, want int, ttl time.Duration) (held, target int, err error) {
	got, err := s.journal.Lease(ctx, pot, limit, want, ttl)
	return got.Held, got.Target, err
}

// Release is part of flotilla.Slots.
func (s *shares) Release(ctx context.Context, pot string, keep int) error {
	return s.journal.Release(ctx, pot, keep)
}

// DayUse is part of flotilla.Memory.
func (s *shares) DayUse(org, pool string, since time.Time) ([]flotilla.DayUse, error) {
	realm, name := s.org(org)
	uses, err := s.journal.DayUse(context.Background(), realm, name, pool, since.Add(24*time.Hour))
	if err != nil {
		return nil, err
	}
	out := make([]flotilla.DayUse, len(uses))
	for i, u := range uses {
		out[i] = flotilla.DayUse{Start: u.Start, Tokens: u.Tokens}
	}
	return out, nil
}

// hintLife is how long what was learned of a lane is worth anything: as long as
// a profile is (interface.md, "Journal and provenance").
const hintLife = 14 * 24 * time.Hour

// openLife is how long it matters how wide a lane stood open at the end of a
// run: the provider's patience with a sharp rise, and a colleague's load that
// cut the window, are of the hour.
const openLife = time.Hour

// Hints is part of flotilla.Memory.
func (s *shares) Hints(org, pool string) (map[string]float64, error) {
	realm, name := s.org(org)
	hints, err := s.journal.Hints(context.Background(), realm, laneName(name, pool))
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for key, h := range hints {
		life := hintLife
		if key == "ramp" || key == "window" {
			life = openLife
		}
		if s.now().Sub(h.At) < life {
			out[key] = h.Value
		}
	}
	return out, nil
}

// Remember is part of flotilla.Memory.
func (s *shares) Remember(org, pool string, hints map[string]float64) error {
	realm, name := s.org(org)
	return s.journal.Notes(context.Background(), realm, laneName(name, pool), hints, s.now())
}

func laneName(org, pool string) string { return org + "/" + pool }

// purse is a cap per local day, shared by everything on a journal: it is
// flotilla.Purse. Days are those of the scaled clock, as spending is booked.
type purse struct {
	journal *journal.Journal
	job     int64
	limit   flotilla.Money
	now     func() time.Time
}

// purseBlock is how much is asked for at once: few transactions, and no more
// than a hundredth of the cap held back from the other processes.
const purseBlock = 100

// Grant asks for money of today. What was granted and not spent lapses at
// midnight: the journal counts what a run spent of each day.
func (p *purse) Grant(ctx context.Context, want flotilla.Money) (flotilla.Money, time.Time, error) {
	at := p.now()
	y, m, d := at.Local().Date()
	a, err := p.journal.Grant(ctx, p.job, at, max(want, p.limit/purseBlock), p.limit)
	return a.Granted, time.Date(y, m, d+1, 0, 0, 0, 0, time.Local), err
}

// Free is what nobody has spent for good today: it is flotilla.PatientPurse.
func (p *purse) Free(ctx context.Context) (flotilla.Money, error) {
	spent, err := p.journal.SettledOn(ctx, p.now())
	return p.limit - spent, err
}
