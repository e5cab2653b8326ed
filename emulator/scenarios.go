package emulator

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of interface.md "Emulator".
var (
	highLimits = Limits{Requests: 30_000, Input: 10_000_000, Output: 1_000_000}
	batchOrg   = Limits{Requests: 90_000, Input: 8_000_000, Output: 800_000}
	lowLimits  = Limits{Requests: 4_000, Input: 2_000_000, Output: 400_000}
	tierStart  = Limits{Requests: 1_000, Input: 2_000_000, Output: 400_000}
)

type recipe struct {
	name  string
	build func() Scenario
}

// named builds each scenario of interface.md's table, in that order.
var named = []recipe{
	{"default", base},
	{"steady", steady},
	{"tier-start", start},
	{"starved-batch-depth", func() Scenario { return starved(func(b *Batching) { b.Depth = Slowdown{Above: 3000} }) }},
	{"starved-batch-size", func() Scenario { return starved(deafToSize) }},
	{"starved-batch-hour", func() Scenario {
		return starved(func(b *Batching) { b.Hours = SlowHours{From: 9, To: 19, Factor: 0.02} })
	}},
	{"acceleration", func() Scenario {
		return everyOrg(start(), func(o *Org) { o.Acceleration = Acceleration{Kind: "additive"} })
	}},
	{"acceleration-silent", func() Scenario {
		return everyOrg(start(), func(o *Org) { o.Acceleration = Acceleration{Kind: "ratio"} })
	}},
	{"overload-storm", func() Scenario {
		sc := base()
		sc.Storm = storm
		return sc
	}},
	{"colleague", func() Scenario { return high(start(), busyColleague) }},
	{"greedy-colleague", func() Scenario {
		return high(start(), func(o *Org) { o.Colleagues = []Colleague{{Kind: "aimd"}} })
	}},
	{"daily-cap", func() Scenario {
		return high(base(), func(o *Org) { o.Daily = DailyCap{Tokens: 20_000_000, RetryAfter: 30 * time.Second} })
	}},
	{"daily-cap-known", func() Scenario {
		return high(base(), func(o *Org) {
			o.Daily = DailyCap{Tokens: 20_000_000, RetryAfter: 30 * time.Second, Known: true}
		})
	}},
	{"spend-cap", func() Scenario { return high(base(), func(o *Org) { o.SpendUSD = 1 }) }},
	{"hidden-limit", func() Scenario {
		return everyOrg(start(), func(o *Org) { o.Hidden = time.Second })
	}},
	{"lying-headers", func() Scenario { return high(start(), lyingHeaders) }},
	{"no-headers", func() Scenario {
		return everyOrg(start(), func(o *Org) { o.Headers.Missing = true })
	}},
	{"stragglers", func() Scenario {
		sc := base()
		sc.Stragglers.Share = 0.02
		return sc
	}},
	{"flaky-network", func() Scenario {
		sc := base()
		sc.Flaky = flakyNetwork
		return sc
	}},
	{"everything", func() Scenario {
		sc := high(start(), busyColleague, lyingHeaders)
		sc.Storm, sc.Flaky = storm, flakyNetwork
		sc.Stragglers.Share = 0.02
		deafToSize(&sc.Batches)
		return sc
	}},
	{"unlimited", unlimited},
}

var (
	storm = Storm{
		Start: 2 * time.Minute, Every: 10 * time.Minute, Streams: 0.02,
		Phases: []StormPhase{{60 * time.Second, 0.9}, {30 * time.Second, 0.5}},
	}
	flakyNetwork = Flaky{Before: 0.02, After: 0.01, Cut: 0.01, Reused: 0.05}
)

func busyColleague(o *Org) { o.Colleagues = []Colleague{{Kind: "poisson", Share: 0.4}} }
func lyingHeaders(o *Org)  { o.Headers.Factor = usualLie }

// base is the scenario "default".
func base() Scenario {
	slow := Latency{TTFT: time.Second, TTFTSD: 0.35, PerSecond: 75, PerSecondSD: 0.25, Prefill: 40_000}
	quick := slow
	quick.TTFT, quick.PerSecond = 250*time.Millisecond, 200
	return Scenario{
		Orgs: []Org{
			{Name: "high", Limits: highLimits, BatchQueue: 500_000, BatchRPM: 4_000},
			{Name: "batch", Limits: batchOrg, BatchQueue: 500_000, BatchRPM: 4_000},
			{Name: "low", Limits: lowLimits, BatchQueue: 100_000, BatchRPM: 4_000},
		},
		Latency:    slow,
		Families:   map[string]Latency{"haiku": quick},
		Stragglers: Stragglers{Share: 0.0075, Min: 4, Max: 10},
		Answer:     Answer{Median: 60, SD: 0.3},
		InputNoise: 0.08,
		Batches:    Batching{SD: 0.5, Overhead: time.Minute, OverheadSD: 0.5, CacheHits: 0.7},
	}
}

// starved is base with a scheduler that starves batches (facts/control.md D).
func starved(how func(*Batching)) Scenario {
	sc := base()
	how(&sc.Batches)
	return sc
}

func deafToSize(b *Batching) { b.Size = Slowdown{Above: 3000} }

// steady has constant latency, no stragglers and no batch noise.
func steady() Scenario {
	sc := base()
	sc.Stragglers = Stragglers{}
	sc.Batches.SD, sc.Batches.OverheadSD = 0, 0
	flat := func(l Latency) Latency { l.TTFTSD, l.PerSecondSD = 0, 0; return l }
	sc.Latency = flat(sc.Latency)
	sc.Families = map[string]Latency{"haiku": flat(sc.Families["haiku"])}
	return sc
}

// start has all orgs on the lowest tier.
func start() Scenario {
	return everyOrg(base(), func(o *Org) { o.Limits, o.BatchQueue, o.BatchRPM = tierStart, 200_000, 1_000 })
}

// unlimited answers at once and never refuses, for benchmarks: its limits
// stand in the headers and are too large to bind.
func unlimited() Scenario {
	sc := everyOrg(base(), func(o *Org) { o.Limits = Limits{1_000_000_000, 1_000_000_000_000, 1_000_000_000_000} })
	sc.Latency, sc.Families, sc.Stragglers = Latency{}, nil, Stragglers{}
	return sc
}

func everyOrg(sc Scenario, change func(*Org)) Scenario {
	for i := range sc.Orgs {
		change(&sc.Orgs[i])
	}
	return sc
}

func high(sc Scenario, changes ...func(*Org)) Scenario {
	for _, change := range changes {
		change(&sc.Orgs[0])
	}
	return sc
}

// Scenarios lists the names that [Named] knows.
func Scenarios() []string {
	out := make([]string, len(named))
	for i, n := range named {
		out[i] = n.name
	}
	return out
}

// Named gives a scenario of interface.md's table. The error lists the names
// there are.
func Named(name string) (Scenario, error) {
	i := slices.IndexFunc(named, func(r recipe) bool { return r.name == name })
	if i < 0 {
		return Scenario{}, fmt.Errorf("no scenario %q; there are %s", name, strings.Join(Scenarios(), ", "))
	}
	sc := named[i].build()
	sc.Name = name
	return sc, nil
}
