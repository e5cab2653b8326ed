package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/flotilla-llm/flotilla"
)

// start says what is served, from what and for whom.
func (v *server) start(ctx context.Context, mark string) {
	for _, line := range v.startLines(ctx, mark) {
		_, _ = fmt.Fprintln(v.err, "flotilla: "+line)
	}
	if !v.outlet.loopback && v.flags.tlsCert == "" {
		warn(v.err, "client keys and prompts travel in the clear on "+v.outlet.Addr().String()+"; --tls-cert and --tls-key, or a proxy with TLS before it, hide them")
	}
	if v.watched() {
		_, _ = fmt.Fprintf(v.err, "flotilla: dashboard at %s/\n", v.outlet.url)
	}
	_, _ = fmt.Fprintf(v.err, "listening on %s\n", v.outlet.url)
}

func (v *server) startLines(ctx context.Context, mark string) []string {
	return []string{
		joined("; ", "gateway over "+orgsText(v.infos)+emulatedText(mark), v.capText(), v.profile.said, "journal "+v.journal.Path()),
		joined("; ", v.moneyText(), v.clientsText(ctx), v.cacheText()),
	}
}

// capText is the cap on calls in flight of each family that was ever in a price
// table of ours.
func (v *server) capText() string {
	var parts []string
	for _, family := range families() {
		parts = append(parts, fmt.Sprintf("%s %d", family, v.settings.capOf(family)))
	}
	return "calls per key: " + strings.Join(parts, ", ")
}

// moneyText says what may be spent.
func (v *server) moneyText() string {
	var parts []string
	if s := v.settings; s.MaxSpend > 0 {
		parts = append(parts, dollars(s.MaxSpend)+" while it serves")
	}
	if s := v.settings; s.MaxSpendPerDay > 0 {
		parts = append(parts, dollars(s.MaxSpendPerDay)+" a day on this journal")
	}
	if len(parts) == 0 {
		return "no cap on money"
	}
	return "cap " + strings.Join(parts, ", ")
}

// clientsText says who may call.
func (v *server) clientsText(ctx context.Context) string {
	if v.child != nil {
		return ""
	}
	all, err := v.journal.Clients(ctx)
	if err != nil {
		return ""
	}
	var names []string
	for i := range all {
		if all[i].Revoked.IsZero() {
			names = append(names, all[i].Name)
		}
	}
	switch {
	case len(all) == 0:
		return "no client keys: anybody on this machine may call"
	case len(names) == 0:
		return "all client keys are revoked: nobody may call"
	case len(names) > 10:
		return plural(len(names), "client")
	}
	return "clients " + strings.Join(names, ", ")
}

func (v *server) cacheText() string {
	if !v.flags.cache {
		return ""
	}
	return "answers what the journal has"
}

// sayStopping tells what a first signal began.
func (v *server) sayStopping() {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	what := ""
	if s, err := v.fleet.Snapshot(ctx); err == nil {
		what = stoppingText(&s)
	}
	if what == "" {
		return // there is nothing to wait for
	}
	_, _ = fmt.Fprintf(v.err, "flotilla: stopping: %s; new requests are told to come again (529); Ctrl-C again stops at once\n", what)
}

// spentText is what of a pot is used.
func spentText(ctx context.Context, pot *flotilla.Pot) string {
	limit, spent, _, err := pot.State(ctx)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s of the cap of %s", spent, dollars(limit))
}
