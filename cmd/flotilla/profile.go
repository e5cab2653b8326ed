package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/plan"
)

// profile is what was measured of the provider, as far as it is believed here.
type profile struct {
	*lab.Profile           // nil: nothing is believed
	said         string    // for people: what is used, or why nothing is
	at           time.Time // when it is asked
}

// profilePath is the file of the profile: as configured, else beside the journal.
func (s *Settings) profilePath() (string, error) {
	if s.Profile != "" {
		return s.Profile, nil
	}
	path, err := journal.Locate(s.Journal, ".")
	return filepath.Join(filepath.Dir(path), lab.ProfileName), err
}

// readProfile reads the profile there is and says what it is worth. fits says
// whether it is of the provider that calls go to.
func (s *Settings) readProfile(now time.Time, fits func(*lab.Profile) bool) (profile, error) {
	path, err := s.profilePath()
	if err != nil {
		return profile{}, err
	}
	p, err := lab.ReadProfile(path)
	switch {
	case err != nil:
		return profile{}, withHint(err, "flotilla report makes it anew")
	case p == nil:
		return profile{said: "no profile (flotilla measure makes one)"}, nil
	case !fits(p):
		return profile{said: fmt.Sprintf("the profile is of %s: not used", ofProfile(p))}, nil
	case p.Stale(now):
		return profile{said: fmt.Sprintf("the profile of %s is stale: not used (flotilla measure renews it)", day(p.Measured))}, nil
	}
	return profile{Profile: p, said: "profile of " + day(p.Measured) + emulatedText(p.Emulated), at: now}, nil
}

func day(t time.Time) string { return t.Local().Format(time.DateOnly) }

func ofProfile(p *lab.Profile) string {
	if p.Emulated != "" {
		return "an emulator (" + p.Emulated + ")"
	}
	return p.BaseURL
}

// teach gives an org what was measured of it.
func (p *profile) teach(o *OrgSetting, id string) bool {
	return p.Profile != nil && p.Teach(&o.Org, id, p.at)
}

// paces are how fast the families of a job's models answer, where that was
// measured.
func (p *profile) paces(classes []plan.Class) map[string]plan.Pace {
	if p.Profile == nil {
		return nil
	}
	out := map[string]plan.Pace{}
	for i := range classes {
		c := &classes[i]
		q := p.PaceOf(c.Model, p.at)
		if q == nil {
			continue
		}
		out[c.Family] = plan.Pace{First: seconds(q.First.Value), FirstSD: q.FirstSD, PerSecond: q.PerSecond.Value}
	}
	return out
}

// takeProfile reads the profile of the provider that the fleet has reached, and
// gives what it knows to a fleet in the place of one that has sent nothing yet.
func (c *crew) takeProfile(ctx context.Context, mark string) (err error) {
	provider, err := flotilla.Provider(c.settings.BaseURL)
	if err != nil {
		return err
	}
	c.profile, err = c.settings.readProfile(c.fleet.Now(), func(p *lab.Profile) bool { return p.Fits(provider, mark) })
	if err != nil || c.profile.Profile == nil {
		return err
	}
	told := false
	for _, info := range c.infos {
		for i := range c.settings.Orgs {
			if o := &c.settings.Orgs[i]; o.Name == info.Name && info.Usable() {
				told = c.profile.teach(o, info.ID) || told
			}
		}
	}
	if !told {
		return nil
	}
	return c.refit(ctx)
}

// supposeProfile reads the profile for a forecast, which reaches nobody: an
// emulator's is taken where calls would go to this machine, unless the journal
// knows of another one there.
func (r *runner) supposeProfile(mark string) (err error) {
	provider, err := flotilla.Provider(r.settings.BaseURL)
	if err != nil {
		return err
	}
	r.profile, err = r.settings.readProfile(time.Now(), func(p *lab.Profile) bool {
		return p.Fits(provider, mark) || mark == "" && p.Emulated != "" && isLoopbackURL(r.settings.BaseURL)
	})
	for i := range r.settings.Orgs {
		r.profile.teach(&r.settings.Orgs[i], "")
	}
	return err
}
