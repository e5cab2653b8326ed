package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// limits reads what the provider says: the Rate Limits API where an admin key is
// there, else the headers of one call of one token to each pool.
type limits struct{}

// Limits is the experiment "limits".
func Limits() Experiment { return limits{} }

func (limits) Name() string     { return "limits" }
func (limits) Question() string { return "Which limits has each org and pool, and who says so?" }
func (limits) Speed() float64   { return 1 }

func (limits) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text:    "Each org has limits of its own for each pool; the Rate Limits API and the headers agree; no two keys are of one org.",
		Binding: "none",
	}
}

// one is a call of one token.
var one = Shape{In: 30, Out: 1, MaxTokens: 1}

func (limits) Estimate(e *Env) Estimate {
	var est Estimate
	for _, o := range e.Distinct() {
		for _, m := range e.pools() {
			if o.Admin == "" || m.ID == e.Cheap().ID {
				est.Lines = append(est.Lines, Planned{Org: o.Name, Model: m.ID, Tier: Sync, Calls: 1, In: int64(one.In), Out: 1})
			}
		}
		if o.Admin == "" {
			est.Warnings = append(est.Warnings, o.Name+": no admin key (ANTHROPIC_ADMIN_KEY), so the headers of one call to each pool are read; the batch queue's cap stays unknown")
		}
	}
	return est
}

// pools are the cheapest active models of each pool, in the table's order.
func (e *Env) pools() []price.Model {
	var out []price.Model
	for _, m := range e.table().Models() {
		if m.Lifecycle(e.Start) != price.Active || !m.Priced() {
			continue
		}
		i := slices.IndexFunc(out, func(o price.Model) bool { return o.Pool == m.Pool })
		if i < 0 {
			out = append(out, m)
		} else if m.Prices.In < out[i].Prices.In {
			out[i] = m
		}
	}
	return out
}

func (x limits) Run(ctx context.Context, b *Bench) (*Result, error) {
	r := &Result{Config: map[string]any{"shape": one}}
	said, err := Step(b, "rate limits api", func() ([]orgLimits, error) { return b.askAllLimits(ctx, r) })
	if err != nil {
		return r, err
	}
	_, err = Step(b, "headers", func() (nothing, error) {
		return nothing{}, together(b.env.Distinct(), func(o *Org) error { return b.probePools(ctx, o) })
	})
	if err != nil {
		return r, err
	}
	shared := x.sameOrg(b.env)
	seen := b.Records("headers")
	for _, o := range b.env.Distinct() {
		i := slices.IndexFunc(said, func(l orgLimits) bool { return l.OrgID == o.ID })
		if i >= 0 {
			r.addAPI(o, &said[i])
		}
		r.addHeaders(b.env, o, seen, i < 0)
	}
	r.verdictLimits(b.env, len(said), shared)
	return r, nil
}

// askAllLimits asks with every admin key; which org it is for, the answer says.
func (b *Bench) askAllLimits(ctx context.Context, r *Result) ([]orgLimits, error) {
	var all []orgLimits
	for i := range b.env.Orgs {
		o := &b.env.Orgs[i]
		if o.Admin == "" {
			continue
		}
		l, err := b.env.askLimits(ctx, o)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.NotShown = append(r.NotShown, fmt.Sprintf("limits by the admin key of %s: %s", o.Name, b.redact(err)))
			continue
		}
		if !slices.ContainsFunc(all, func(a orgLimits) bool { return a.OrgID == l.OrgID }) {
			all = append(all, *l)
		}
	}
	return all, nil
}

// probePools sends the calls of the estimate for one org.
func (b *Bench) probePools(ctx context.Context, o *Org) error {
	for _, m := range b.env.pools() {
		if o.Admin != "" && m.ID != b.env.Cheap().ID {
			continue
		}
		if _, err := b.Insist(ctx, Shot{Org: o.Name, Model: m.ID, Shape: one}); err != nil {
			return err
		}
	}
	return nil
}

// sameOrg names the keys that add nothing.
func (limits) sameOrg(e *Env) []string {
	var shared []string
	for i := range e.Orgs {
		if o := &e.Orgs[i]; o.SameAs != "" {
			shared = append(shared, fmt.Sprintf("%s is a second key of %s's org", o.Name, o.SameAs))
		}
	}
	return shared
}

// read adds a number that was read.
func (r *Result) read(name, org, pool string, value float64, unit, source string) {
	if value > 0 {
		r.Metrics = append(r.Metrics, Metric{Name: name, Org: org, Pool: pool, Value: value, Unit: unit, Low: value, High: value, N: 1, Source: source})
	}
}

func (r *Result) addAPI(o *Org, l *orgLimits) {
	for _, pool := range sortedKeys(l.Pools) {
		p := l.Pools[pool]
		r.read("rpm", o.Name, pool, p.Requests, "requests/min", sourceAPI)
		r.read("itpm", o.Name, pool, p.Input, "tokens/min", sourceAPI)
		r.read("otpm", o.Name, pool, p.Output, "tokens/min", sourceAPI)
		r.read("tpd", o.Name, pool, l.Day[pool], "tokens/day", sourceAPI)
	}
	r.read("batch_rpm", o.Name, "", l.BatchRPM, "requests/min", sourceAPI)
	r.read("batch_queue", o.Name, "", l.BatchQueue, "rows", sourceAPI)
}

// addHeaders adds what answers said: as the number itself where nothing else
// says it (alone), and as a contradiction where it is another one.
func (r *Result) addHeaders(e *Env, o *Org, seen []Record, alone bool) {
	for i := range seen {
		rec := &seen[i]
		if rec.Org != o.Name {
			continue
		}
		m, _ := e.Model(rec.Model)
		if rec.Read == nil {
			if alone {
				r.NotShown = append(r.NotShown, fmt.Sprintf("%s %s: no limit headers (%s)", o.Name, m.Pool, orWhy(rec.Err, "status 200")))
			}
			continue
		}
		for d := wire.Requests; d <= wire.Output; d++ {
			r.addHeader(o.Name, m.Pool, d, rec.Read.Of(d), alone)
		}
	}
}

func (r *Result) addHeader(org, pool string, d wire.Dim, l *Level, alone bool) {
	if l == nil || l.Limit == 0 {
		return
	}
	unit := "tokens/min"
	if d == wire.Requests {
		unit = "requests/min"
	}
	if alone {
		r.read(DimName(d), org, pool, float64(l.Limit), unit, sourceHeaders)
		return
	}
	if m, ok := r.Metric(DimName(d), org, pool); ok && int64(m.Value) != l.Limit {
		r.read(DimName(d)+"_shown", org, pool, float64(l.Limit), unit, sourceHeaders)
		r.NotShown = append(r.NotShown, fmt.Sprintf("%s %s: the headers show %s %d, the Rate Limits API %d: refill tells which is true", org, pool, DimName(d), l.Limit, int64(m.Value)))
	}
}

func (r *Result) verdictLimits(e *Env, said int, shared []string) {
	orgs := map[string]bool{}
	for _, m := range r.Metrics {
		orgs[m.Org] = true
	}
	r.Verdict = fmt.Sprintf("Limits are known of %d of %d orgs, of %d by the Rate Limits API", len(orgs), len(e.Distinct()), said)
	if len(shared) > 0 {
		r.Verdict += "; " + strings.Join(shared, "; ")
	}
	r.Confidence = 1
	if len(orgs) < len(e.Distinct()) {
		r.Confidence = float64(len(orgs)) / float64(len(e.Distinct()))
	}
}

func orWhy(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
