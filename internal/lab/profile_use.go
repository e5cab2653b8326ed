package lab

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/price"
)

// Source is where numbers of the profile come from, for people.
func (p *Profile) Source(n *Number) string {
	return fmt.Sprintf("profile of %s, %s", n.At.Format(time.DateOnly), n.Source)
}

// fresh is a number that is still believed, else nil.
func fresh(n *Number, now time.Time) *Number {
	if n == nil || n.Value <= 0 || now.Sub(n.At) > ProfileLife {
		return nil
	}
	return n
}

// Org finds what is known of an org: by its id where that is given, since names
// are the user's to change; else by its name. nil: nothing.
func (p *Profile) Org(name, id string) *OrgProfile {
	i := slices.IndexFunc(p.Orgs, func(o OrgProfile) bool { return id != "" && o.ID == id })
	if i < 0 {
		i = slices.IndexFunc(p.Orgs, func(o OrgProfile) bool { return o.Name == name && (id == "" || o.ID == "") })
	}
	if i < 0 {
		return nil
	}
	return &p.Orgs[i]
}

// Teach fills an org with what the profile knows of it at a time, and reports
// whether that was anything. Limits that the org has from the Rate Limits API are
// newer, and stay; but not where they are what was said of a limit that turned
// out to be another one.
func (p *Profile) Teach(o *flotilla.Org, id string, now time.Time) bool {
	known := p.Org(o.Name, id)
	if known == nil {
		return false
	}
	told := p.teachLimits(o, known, now)
	if n := fresh(known.BatchQueue, now); n != nil {
		o.BatchQueue, told = int64(n.Value), true
	}
	if n := fresh(known.BatchDepth, now); n != nil {
		// A deeper queue does not proceed, whatever it may hold.
		if most := int64(n.Value / route.QueueShare); o.BatchQueue == 0 || most < o.BatchQueue {
			o.BatchQueue, told = most, true
		}
	}
	if n := fresh(known.BatchRPM, now); n != nil {
		o.BatchRPM, told = n.Value, true
	}
	return known.Turnaround.teach(o, now) || told
}

func (p *Profile) teachLimits(o *flotilla.Org, known *OrgProfile, now time.Time) (told bool) {
	limits := map[string]flotilla.Limits{}
	maps.Copy(limits, o.PerMinute)
	for pool, l := range known.Pools {
		if day := fresh(l.TokensPerDay, now); day != nil && (o.TokensPerDay == 0 || int64(day.Value) < o.TokensPerDay) {
			o.TokensPerDay, told = int64(day.Value), true
		}
		said := limits[pool]
		if !strings.HasPrefix(said.Source, sourceAPI) {
			said = flotilla.Limits{}
		}
		found := flotilla.Limits{Requests: better(said.Requests, l.Requests, now), Input: better(said.Input, l.Input, now), Output: better(said.Output, l.Output, now)}
		if found.Requests == 0 || found == (flotilla.Limits{Requests: said.Requests, Input: said.Input, Output: said.Output}) {
			continue
		}
		found.Source = p.Source(l.Requests)
		limits[pool], told = found, true
	}
	o.PerMinute = limits
	return told
}

// better is a limit of the profile, unless what is said of it now is newer.
func better(said float64, n *Number, now time.Time) float64 {
	if n = fresh(n, now); n == nil || said > 0 && said != n.Claimed {
		return said
	}
	return n.Value
}

func (t *TurnaroundProfile) teach(o *flotilla.Org, now time.Time) bool {
	if t == nil {
		return false
	}
	rate := fresh(t.RowRate, now)
	if rate == nil {
		return false // the others tell nothing without it
	}
	o.Turnaround.RowRate = rate.Value
	if n := fresh(t.Overhead, now); n != nil {
		o.Turnaround.Overhead = time.Duration(n.Value * float64(time.Second))
	}
	if n := fresh(t.Parallel, now); n != nil {
		o.Turnaround.Parallel = max(1, int(math.Round(n.Value)))
	}
	return true
}

// Starved says what was seen to keep batches from proceeding and that no number
// of the profile tells; empty: nothing was, or a depth that is known (BatchDepth).
func (p *Profile) Starved() string {
	if p.Batches == nil || p.Batches.Class == "none" {
		return ""
	}
	deep := slices.ContainsFunc(p.Orgs, func(o OrgProfile) bool { return o.BatchDepth != nil })
	if p.Batches.Class == "depth" && deep {
		return ""
	}
	return fmt.Sprintf("batches are slowed (%s, confidence %.0f %%)", p.Batches.Class, 100*p.Batches.Confidence)
}

// PaceOf is how fast a model answers: itself where it was measured, else one of
// its family; nil: neither was.
func (p *Profile) PaceOf(model string, now time.Time) *PaceProfile {
	var kin *PaceProfile
	for i := range p.Pace {
		q := &p.Pace[i]
		if fresh(q.First, now) == nil || fresh(q.PerSecond, now) == nil {
			continue
		}
		if q.Model == model {
			return q
		}
		if kin == nil && q.Family == price.FamilyOf(model) {
			kin = q
		}
	}
	return kin
}
