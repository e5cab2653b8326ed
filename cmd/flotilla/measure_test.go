package main

import (
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/price"
)

// The default plan costs at most $100, what is about structure at most $20, and
// a tenth at most goes to Opus models; also where the queues of all orgs are as
// deep as the deepest tier's, and every experiment is as large as it may be.
func TestDefaultPlanIsCheap(t *testing.T) {
	for _, queue := range []int64{0, 100_000, 500_000} {
		m := measuring{settings: &Settings{Prices: price.Published()}}
		m.supposeOrgs()
		for i := range m.base.Orgs {
			m.base.Orgs[i].BatchQueue = queue
			m.base.Orgs[i].Admin = "admin"
		}
		p := m.estimates(lab.All())
		for _, l := range p.Experiments {
			if l.Refused != "" {
				t.Errorf("queue %d: %s is refused: %s", queue, l.Experiment, l.Refused)
			}
			if l.USD == 0 || l.Calls+l.BatchRows == 0 {
				t.Errorf("queue %d: %s is free: %+v", queue, l.Experiment, l)
			}
		}
		structural := p.StructuralUSD
		t.Logf("queue %d: %s in all, %s of it structural, %.1f %% Opus", queue, p.Total.USD, structural, 100*p.OpusShare)
		if p.Total.USD > 100*price.Dollar || structural > 20*price.Dollar || p.OpusShare > 0.10 {
			t.Errorf("queue %d: %s in all, %s structural, %.1f %% Opus: want at most $100, $20, 10 %%", queue, p.Total.USD, structural, 100*p.OpusShare)
		}
	}
}

// An estimate is N × (in × $in + out × $out) and the reserve.
func TestEstimateArithmetic(t *testing.T) {
	est := lab.Estimate{
		Lines: []lab.Planned{
			{Org: "high", Model: "claude-sonnet-4-6", Tier: lab.Sync, Calls: 1000, In: 400, Out: 60},
			{Org: "high", Model: "claude-sonnet-4-6", Tier: lab.Batch, Calls: 1000, In: 400, Out: 60},
		},
		Reserve: 7,
	}
	// $3 and $15 a million tokens (the table of 2026-11-30), batches at half.
	want := flotilla.Money(1000*(400*3000+60*15_000)) + 1000*(400*1500+60*7500) + 7
	if l := estimateOf("x", &est, price.Published()); l.USD != want || l.Calls != 1000 || l.BatchRows != 1000 || l.In != 800_000 || l.Out != 120_000 {
		t.Errorf("%+v, want %d nano-dollars", l, want)
	}
}
