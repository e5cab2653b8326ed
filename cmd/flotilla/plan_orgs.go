package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// supposed are the orgs that a forecast is for: those in use, with what is
// known of each, and assumptions where nothing is. A forecast goes by it, a run
// does not.
type supposed struct {
	orgs    []OrgSetting
	assumed []string // for people
}

// suppose fills in what forecasts need and nobody has told: limits as headers
// told earlier runs, else those that an org of that name has in the emulator's
// default scenario, else those of the lowest usage tier. learned gives what the
// journal has of an org and pool; nil: there is none. measured is told of orgs
// that nobody has named.
func suppose(orgs []OrgSetting, pools []string, measured *profile, learned func(org, pool string) flotilla.Limits) supposed {
	var s supposed
	if measured.said != "" {
		s.assumed = append(s.assumed, measured.said)
	}
	if measured.Profile != nil && measured.Starved() != "" {
		s.assumed = append(s.assumed, "that nothing starves batches, though by the profile "+measured.Starved()+": a run finds out, and goes round it")
	}
	if len(orgs) == 0 {
		s.assumed = append(s.assumed, "no key is set: the three orgs of the environment, high, batch and low")
		for _, e := range envOrgs {
			o := OrgSetting{Org: flotilla.Org{Name: e.name}, KeyEnv: e.variable}
			measured.teach(&o, "")
			orgs = append(orgs, o)
		}
	}
	guessed := map[string][]string{} // orgs by where their limits come from
	for _, o := range orgs {
		o.PerMinute = maps.Clone(o.PerMinute)
		if o.PerMinute == nil {
			o.PerMinute = map[string]flotilla.Limits{}
		}
		for _, pool := range pools {
			if l := o.PerMinute[pool]; l.Requests > 0 {
				continue
			}
			l := flotilla.Limits{}
			if learned != nil {
				l = learned(o.Name, pool)
			}
			if l.Requests == 0 {
				l = likely(o.Name, pool)
				if from := guessed[l.Source]; !slices.Contains(from, o.Name) {
					guessed[l.Source] = append(from, o.Name)
				}
			}
			o.PerMinute[pool] = l
		}
		if o.BatchQueue == 0 && !o.NoBatch {
			o.BatchQueue, o.BatchRPM = likelyQueue(o.Name)
		}
		s.orgs = append(s.orgs, o)
	}
	for _, source := range slices.Sorted(maps.Keys(guessed)) {
		s.assumed = append(s.assumed, fmt.Sprintf("limits of %s: %s", strings.Join(titles(guessed[source]), ", "), source))
	}
	return s
}

// likely are the limits of an org of that name that nobody has told.
func likely(org, pool string) flotilla.Limits {
	if o := emulatedOrg(org); o != nil {
		l := o.Limits
		if p, ok := o.Pools[pool]; ok {
			l = p
		}
		return flotilla.Limits{Requests: float64(l.Requests), Input: float64(l.Input), Output: float64(l.Output), Source: "as the emulator's default scenario has them"}
	}
	limits, _ := tierLimits("start")
	l, ok := limits[pool]
	if !ok { // a pool that the published table does not name has the commonest figures
		l = limits["sonnet-4.x"]
	}
	l.Source = "those of usage tier start"
	return l
}

func likelyQueue(org string) (rows int64, rpm float64) {
	if o := emulatedOrg(org); o != nil && o.BatchQueue > 0 {
		return o.BatchQueue, cmp.Or(float64(o.BatchRPM), batchTiers["start"].rpm)
	}
	return batchTiers["start"].queue, batchTiers["start"].rpm
}

// emulatedOrg is the org of that name in the emulator's default scenario; nil:
// none.
func emulatedOrg(name string) *emulator.Org {
	sc, err := emulator.Named("default")
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(sc.Orgs, func(o emulator.Org) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &sc.Orgs[i]
}

// pools are those of the job's models.
func (r *runner) pools() []string {
	var out []string
	for _, name := range r.plan.Models {
		if m, ok := r.flags.prices().Lookup(name); ok && !slices.Contains(out, m.Pool) {
			out = append(out, m.Pool)
		}
	}
	return out
}

// learned is what the journal notes of an org's pool, for forecasts.
func (r *runner) learned(ctx context.Context) func(org, pool string) flotilla.Limits {
	if r.journal == nil || r.shares == nil {
		return nil
	}
	l := learnedLimits{journal: r.journal, realm: r.shares.realm}
	return func(org, pool string) flotilla.Limits {
		p, err := l.of(ctx, org, pool)
		if err != nil {
			return flotilla.Limits{} // a forecast may do without
		}
		return p.Limits
	}
}
