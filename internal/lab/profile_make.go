package lab

import (
	"math"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// MakeProfile gathers what results say into a profile, made now; nil: there are
// no results.
func MakeProfile(c *Chosen, table *price.Table, now time.Time) *Profile {
	if len(c.Results) == 0 {
		return nil
	}
	p := &Profile{Schema: profileSchema, Made: now.UTC(), Emulated: c.Emulated(), BaseURL: c.Results[0].BaseURL, Windows: c.Windows()}
	for _, r := range c.Results {
		if r.Ended.After(p.Measured) {
			p.Measured = r.Ended
		}
		p.From = append(p.From, Origin{
			Experiment: r.Experiment, Window: r.Window, File: r.name() + ".json", Ended: r.Ended, Confidence: r.Confidence, Stopped: r.Stopped,
		})
	}
	for _, o := range c.Orgs() {
		p.Orgs = append(p.Orgs, c.orgProfile(o, table))
	}
	for _, m := range table.Models() {
		if pace, ok := c.paceProfile(m); ok {
			p.Pace = append(p.Pace, pace)
		}
	}
	p.Batches = c.batchesProfile()
	return p
}

// Orgs are those of all results, in the order of naming.
func (c *Chosen) Orgs() []OrgNote {
	var out []OrgNote
	at := map[string]int{}
	for _, r := range c.Results {
		for _, o := range r.Orgs {
			if i, ok := at[o.Name]; ok {
				out[i] = o
				continue
			}
			at[o.Name] = len(out)
			out = append(out, o)
		}
	}
	return out
}

// Pools are those that anything is known of, in the order of the price table.
func (c *Chosen) Pools(table *price.Table) []string {
	known := map[string]bool{}
	for _, r := range c.Results {
		for _, m := range r.Metrics {
			known[m.Pool] = true
		}
	}
	var out []string
	for _, m := range table.Models() {
		if known[m.Pool] && m.Pool != "" {
			out, known[m.Pool] = append(out, m.Pool), false
		}
	}
	return out
}

func (c *Chosen) orgProfile(o OrgNote, table *price.Table) OrgProfile {
	p := OrgProfile{Name: o.Name, ID: o.ID, SameAs: o.SameAs, Pools: map[string]PoolProfile{}, Knees: map[string]KneeProfile{}}
	for _, pool := range c.Pools(table) {
		l := PoolProfile{Requests: c.Limit("rpm", o.Name, pool), Input: c.Limit("itpm", o.Name, pool), Output: c.Limit("otpm", o.Name, pool)}
		l.TokensPerDay = c.Number([]string{"limits"}, "tpd", o.Name, pool)
		if l != (PoolProfile{}) {
			p.Pools[pool] = l
		}
	}
	p.BatchQueue = c.Number([]string{"limits"}, "batch_queue", o.Name, "")
	p.BatchRPM = c.Number([]string{"limits"}, "batch_rpm", o.Name, "")
	p.BatchDepth = c.depth(o.Name)
	p.Turnaround = c.turnaround(o.Name)
	for _, m := range table.Models() {
		if k, ok := c.knee(o.Name, m); ok {
			p.Knees[m.ID] = k
		}
	}
	return p
}

// believed is by what share a measured refill must differ from what is said
// before the measurement is believed instead: the target of its interval
// (facts/control.md E.1).
const believed = 0.03

// Limit is what a bucket gives a minute: what is said, unless the refill was
// measured to be another one. nil: neither is known.
func (c *Chosen) Limit(dim, org, pool string) *Number {
	said := c.Number([]string{"limits"}, dim, org, pool)
	seen := c.Number([]string{"refill"}, "refill_"+dim, org, pool)
	switch {
	case seen == nil:
		return said
	case said == nil:
		return seen
	case seen.Provisional || math.Abs(seen.Value/said.Value-1) <= believed:
		return said
	}
	seen.Claimed = said.Value
	return seen
}

// batchExperiments know batches, the one that looks hardest first.
var batchExperiments = []string{"batch-mechanism", "batch-depth", "batch-size", "batch-cliff", "batch-additivity"}

// turnaround is what was seen of an org's batches; where another org's were
// looked at alone, they stand for it.
func (c *Chosen) turnaround(org string) *TurnaroundProfile {
	of := func(name string) *Number {
		if n := c.Number(batchExperiments, name, org, ""); n != nil {
			return n
		}
		n := c.Number(batchExperiments, name, "", "")
		if n != nil {
			n.Source = "measured on another org"
		}
		return n
	}
	t := TurnaroundProfile{Overhead: of("batch_overhead"), RowRate: of("batch_row_rate"), Parallel: of("batch_parallel")}
	if t == (TurnaroundProfile{}) {
		return nil
	}
	return &t
}

// depth is how deep a queue of an org was seen to proceed, or of another where
// that alone was looked at: the same scheduler serves both. nil: none was seen to
// stop, or batch-mechanism, which looks harder, found that depth does not matter.
func (c *Chosen) depth(org string) *Number {
	if b := c.batchesProfile(); b != nil && !strings.Contains(b.Class, "depth") {
		return nil
	}
	if n := c.Number([]string{"batch-depth"}, "batch_depth", org, ""); n != nil {
		return n
	}
	n := c.Number([]string{"batch-depth"}, "batch_depth", "", "")
	if n != nil {
		n.Source = "measured on another org"
	}
	return n
}

func (c *Chosen) knee(org string, m price.Model) (k KneeProfile, ok bool) {
	of := func(name string) *Number { return c.Number([]string{"knee"}, name, org, m.ID) }
	k.CallsPerMin, k.Concurrency = of("knee_calls_per_min"), of("knee_concurrency")
	if k.CallsPerMin == nil || k.Concurrency == nil {
		return k, false
	}
	k.Limit = c.Bound("knee", org, m.Pool)
	return k, true
}

// Bound is the limit that an experiment saw bind; empty: none, or it does not
// say.
func (c *Chosen) Bound(experiment, org, pool string) string {
	for _, r := range c.Of(experiment) {
		for _, b := range r.Binding {
			if b.Org == org && b.Pool == pool {
				return b.Limit
			}
		}
	}
	return ""
}

// z95 is the 95th percentile of the normal distribution.
const z95 = 1.645

func (c *Chosen) paceProfile(m price.Model) (p PaceProfile, ok bool) {
	of := func(name string) *Number { return c.Number([]string{"latency"}, name, "", m.ID) }
	p = PaceProfile{Model: m.ID, Family: m.Family(), First: of("ttft"), PerSecond: of("output_rate")}
	if p.First == nil || p.PerSecond == nil || p.First.Value <= 0 || p.PerSecond.Value <= 0 {
		return p, false
	}
	if late := of("ttft_p95"); late != nil && late.Value > p.First.Value {
		p.FirstSD = math.Log(late.Value/p.First.Value) / z95
	}
	return p, true
}

func (c *Chosen) batchesProfile() *BatchesProfile {
	for _, r := range c.Of("batch-mechanism") {
		class, ok := r.Config["class"].(string)
		if !ok {
			continue
		}
		return &BatchesProfile{Class: class, Confidence: r.Confidence, Verdict: r.Verdict, From: r.name()}
	}
	return nil
}
