package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// apply lets the flags of run win over what files and environment say.
func (f *runFlags) apply(s *Settings) {
	f.table = s.Prices
	for family, n := range f.conc {
		s.Conc[family] = n
	}
	if f.share != nil {
		s.Share = *f.share
		for i := range s.Orgs {
			s.Orgs[i].Share = nil // the flag is of the run, over what a file says of an org
		}
	}
	if f.ramp != nil {
		s.Ramp = *f.ramp
	}
	if f.softFloor != (floor{}) {
		s.SoftFloor = f.softFloor
	}
	if f.hardFloor != (floor{}) {
		s.HardFloor = f.hardFloor
	}
	if f.spend.job > 0 {
		s.MaxSpend = f.spend.job
	}
	if f.spend.day > 0 {
		s.MaxSpendPerDay = f.spend.day
	}
	r := &s.Retry
	for _, n := range []struct{ to, from *float64 }{{&r.BudgetPerMin, &f.retries.BudgetPerMin}, {&r.BudgetPerSucc, &f.retries.BudgetPerSucc}} {
		if *n.from > 0 {
			*n.to = *n.from
		}
	}
	if f.retries.MaxAttempts > 0 {
		r.MaxAttempts = f.retries.MaxAttempts
	}
}

// hedging says whether stragglers may get second attempts (interface.md, "Flags
// of run").
func (f *runFlags) hedging() bool {
	if f.hedge != nil {
		return *f.hedge
	}
	return f.deadline != deadline{} || f.prefer == flotilla.Fast
}

// prices is the table of the settings, and what --price adds to it.
func (f *runFlags) prices() *price.Table {
	table := f.table
	if table == nil {
		table = price.Published()
	}
	priced := f.priced
	if f.price != nil {
		priced = []pricedModel{{f.model, *f.price}}
	}
	for _, p := range priced {
		m, known := table.Lookup(p.id)
		if known {
			m = m.WithPrices(p.prices)
		} else {
			m = price.Unlisted(p.id, p.prices)
		}
		table = table.With(m)
	}
	return table
}

// fleetConfig is what a run asks of its fleet, but for the journal's parts.
func (f *runFlags) fleetConfig(s *Settings) flotilla.Config {
	c := s.FleetConfig()
	c.Hedge, c.Stream, c.Prices = f.hedging(), f.stream, f.prices()
	if testTransport != nil {
		c.Transport = testTransport
	}
	return c
}

// testTransport lets a test put something between a fleet and the network.
var testTransport func(flotilla.Org) http.RoundTripper

// openTrace creates the file of --trace; nil: none was asked for.
func openTrace(path string) (io.WriteCloser, error) {
	if path == "" {
		return nil, nil
	}
	w, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	return w, nil
}

// knownLimits asks the Rate Limits API of every org that we have an admin key
// for, and gives the orgs what it says. A read that fails is a warning: headers
// will tell.
func (s *Settings) knownLimits(ctx context.Context, table *price.Table) {
	if len(s.AdminKeys) == 0 {
		return
	}
	infos, err := connectOrgs(ctx, s)
	if err != nil {
		return // the run's own connection says why
	}
	var r limitsReport
	known := r.askAdmin(ctx, s, table)
	s.Warnings = append(s.Warnings, r.Notes...)
	for _, info := range infos {
		api := known[info.ID]
		if !info.Usable() || api == nil {
			continue
		}
		for i := range s.Orgs {
			if s.Orgs[i].Name == info.Name {
				s.Orgs[i].take(api)
			}
		}
	}
}

// take sets an org's limits from the Rate Limits API, which knows better than
// a usage tier; so it does of the batch queue. A cap per day holds for every pool of an org: the lowest that
// is known of any.
func (o *OrgSetting) take(api *rateLimits) {
	limits := map[string]flotilla.Limits{}
	maps.Copy(limits, o.PerMinute)
	for pool, l := range api.pools {
		limits[pool] = l.Limits
		o.TokensPerDay = lowest(o.TokensPerDay, l.TokensPerDay)
	}
	o.PerMinute = limits
	if api.batchQueue > 0 {
		o.BatchQueue, o.BatchRPM = int64(api.batchQueue), api.batchRPM
	}
}

// connect learns who the orgs are and says which cannot be used. The error is
// final.
func connect(ctx context.Context, fleet *flotilla.Fleet, stderr io.Writer) ([]flotilla.OrgInfo, error) {
	infos, err := fleet.Connect(ctx)
	if err != nil && !errors.Is(err, flotilla.ErrNoOrg) {
		return nil, err
	}
	for _, o := range infos {
		switch {
		case o.SameAs != "":
			warn(stderr, fmt.Sprintf("%s and %s are keys of one org: they share its limits, and %s is not used",
				title(o.SameAs), title(o.Name), title(o.Name)))
		case o.Err != nil:
			warn(stderr, fmt.Sprintf("%s is not used: %s", title(o.Name), o.Err))
		case o.Skew.Abs() > maxSkew && o.Emulated == "":
			warn(stderr, fmt.Sprintf("the clock of %s is %s from ours; deadlines are by ours", title(o.Name), o.Skew))
		}
	}
	// The reasons stand above, a line each.
	switch {
	case errors.Is(err, flotilla.ErrUnreachable):
		return infos, flotilla.ErrUnreachable
	case err != nil:
		return infos, flotilla.ErrNoOrg
	}
	return infos, nil
}

// keepOn leaves sync to some of the orgs. No names: all of them.
func (r *runner) keepOn(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	for i := range r.settings.Orgs {
		o := &r.settings.Orgs[i]
		o.NoSync = o.NoSync || !slices.Contains(names, o.Name)
	}
	return r.refit(ctx)
}

// emulatedMark is what the orgs in use say of an emulator; empty: the real
// provider. Orgs of both kinds cannot share a job.
func emulatedMark(infos []flotilla.OrgInfo) (string, error) {
	mark, found := "", false
	for _, o := range infos {
		if !o.Usable() {
			continue
		}
		if found && o.Emulated != mark {
			return "", fmt.Errorf("some orgs are answered by an emulator and some are not (%q and %q)", mark, o.Emulated)
		}
		mark, found = o.Emulated, true
	}
	return mark, nil
}

// orgsText names the orgs in use with the first characters of their ids.
func orgsText(infos []flotilla.OrgInfo) string {
	var parts []string
	for _, o := range infos {
		if o.Usable() {
			parts = append(parts, strings.TrimSpace(title(o.Name)+" "+o.ID[:min(8, len(o.ID))]))
		}
	}
	return strings.Join(parts, ", ")
}
