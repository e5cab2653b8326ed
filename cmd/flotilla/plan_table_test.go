package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
)

// The table that a person decides from, as a whole.
func TestPlanTable(t *testing.T) {
	at := time.Date(2026, 11, 30, 14, 0, 0, 0, time.Local)
	in := func(minutes float64) time.Time { return at.Add(time.Duration(minutes * float64(time.Minute))) }
	p := planReport{
		At: at, Rows: 141_600, Cached: 400, Models: []string{"claude-sonnet-4-6"}, Priced: "2026-11-30", Orgs: []string{"high", "batch"},
		InTokens: 56_640_000, OutTokens: 60, OutSource: "--out-tokens", Chosen: "thrift", Why: "the cheapest that has ended by the deadline", Feasible: true,
		Assumed: []string{"limits of high: those of its usage tier"}, FurtherOrgS: 228, HalfBatch: flotilla.USD(74),
		Bounds:  planBounds{PhysicalS: 960, PhysicalLimit: "cap", PoliteS: 1000, PoliteLimit: "cap"},
		binding: "share of waiting                       whose to change        one step more\n",
		Routes: []planRoute{
			{
				Name: "thrift", FirstS: 45.4, P5S: 40000, P50S: 42000, P95S: 44000, EndsEarly: in(666.6), EndsLate: in(733), P5USD: flotilla.USD(148.5), P95USD: flotilla.USD(148.5),
				WorstUSD: flotilla.USD(400), BatchRows: 141_600, Limit: "batch queue", Meets: true,
			},
			{
				Name: "sync", FirstS: 1.4, P5S: 970, P50S: 1000, P95S: 1040, EndsEarly: in(16.2), EndsLate: in(17.4), P5USD: flotilla.USD(296), P95USD: flotilla.USD(298),
				WorstUSD: flotilla.USD(800), SyncRows: 141_600, Limit: "our cap of 100 calls per key", Meets: true,
			},
		},
	}
	var b strings.Builder
	if err := p.print(&b); err != nil {
		t.Fatal(err)
	}
	want := `141,600 rows to send, 400 answered already; claude-sonnet-4-6; 57 M input tokens; high, org batch; prices of 2026-11-30

  route   first  p5 – p50 – p95          ends               dollars          at worst  sync rows  batch rows  limit
* thrift  45 s   11.1 – 11.7 – 12.2 h    Dec 1 01:06–02:13  $148.50          $400.00   0          141,600     batch queue
  sync    1 s    16.2 – 16.7 – 17.3 min  14:16–14:17        $296.00–$298.00  $800.00   141,600    0           our cap of 100 calls per key

route: thrift, the cheapest that has ended by the deadline
answers: 60 tokens on average, by --out-tokens
by sync alone 16 min at best (our cap on calls), 17 min with manners (our cap on calls), were answers just so long and quick
assumed: limits of high: those of its usage tier

share of waiting                       whose to change        one step more
a further org: −3.8 min · batch for half the rows: −$74.00
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
