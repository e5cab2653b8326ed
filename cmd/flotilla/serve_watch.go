package main

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/dashboard"
	"github.com/flotilla-llm/flotilla/internal/gateway"
)

// watch lets the metrics look at what was opened.
func (v *server) watch() {
	w := gateway.Watched{Snapshot: v.fleet.Snapshot, Spent: v.spentToday}
	if v.pot != nil {
		w.Pot = v.pot
	}
	v.metrics.Watch(w)
}

// openBoard starts the dashboard, where anybody may look.
func (v *server) openBoard(ctx context.Context, mark string) error {
	if !v.watched() {
		return nil
	}
	return v.board.open(ctx, &v.crew, mark, "serve", func(c *dashboard.Config) {
		c.Pot, c.Clients, c.Held, c.Hosts = v.pot, v.clientStates, v.gateway.Held, v.flags.allowHosts
	})
}

// clientStates are the clients as they stand: those that have a key, and those
// that have called.
func (v *server) clientStates(ctx context.Context) []dashboard.ClientState {
	states := map[string]*dashboard.ClientState{}
	of := func(name string) *dashboard.ClientState {
		if states[name] == nil {
			states[name] = &dashboard.ClientState{Name: name, Priority: flotilla.Normal, Weight: 1}
		}
		return states[name]
	}
	if all, err := v.journal.Clients(ctx); err == nil {
		for i := range all {
			if c := &all[i]; c.Revoked.IsZero() {
				s := of(c.Name)
				s.LimitPerDay, s.Weight = c.MaxPerDay, cmp.Or(c.Weight, 1)
				if p, ok := priorityByName[c.Priority]; ok {
					s.Priority = p
				}
			}
		}
	}
	if s, err := v.fleet.Snapshot(ctx); err == nil {
		for i := range s.Streams {
			if stream := &s.Streams[i]; stream.Client != "" {
				c := of(stream.Client)
				c.Queued += stream.Queued
				c.InFlight += stream.InFlight
			}
		}
	}
	for name, n := range v.tally.calls() {
		of(name).Calls = n
	}
	spent, err := v.journal.SpentOfClients(ctx, v.fleet.Now())
	for name, money := range spent {
		of(name).SpentToday = &money
	}
	for _, c := range states {
		if c.SpentToday == nil && err == nil {
			c.SpentToday = new(flotilla.Money) // nothing
		}
	}
	out := make([]dashboard.ClientState, 0, len(states))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		out = append(out, *states[name])
	}
	return out
}

// spentToday is what clients have spent of the local day, in whatever process.
// Empty where the journal does not say.
func (v *server) spentToday(ctx context.Context) map[string]flotilla.Money {
	spent := map[string]flotilla.Money{}
	for _, c := range v.clientStates(ctx) {
		if c.SpentToday != nil {
			spent[c.Name] = *c.SpentToday
		}
	}
	return spent
}

// observed is told of every attempt that has ended.
func (v *server) observed(o flotilla.Observation) {
	v.tally.observe(o)
	v.metrics.Observe(o)
	v.board.observe(o)
}

// told is told of every request that is over.
func (v *server) told(r *gateway.Record) {
	v.tally.told(r)
	v.metrics.Told(r)
}

// openSpans opens the export of spans where one is asked for.
func (v *server) openSpans(ctx context.Context) (err error) {
	if v.flags.otel == "" && v.settings.Env.real["OTEL_EXPORTER_OTLP_ENDPOINT"] == "" && v.settings.Env.real["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == "" {
		return nil
	}
	v.spans, err = gateway.NewSpans(ctx, v.flags.otel, v.settings.BaseURL, buildVersion().Version)
	return withHint(err, "--otel-endpoint http://localhost:4318")
}

func (v *server) closeSpans() {
	if v.spans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	if err := v.spans.Close(ctx); err != nil {
		v.log.Warn("the last spans were not taken", "cause", err)
	}
}
