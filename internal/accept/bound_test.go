package main

import (
	"math"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/route"
)

// The linear program agrees with what can be worked out by hand.
func TestBounds(t *testing.T) {
	sc, err := world(scenarioName)
	if err != nil {
		t.Fatal(err)
	}
	r := realised{calls: 1, input: 250, output: 3, latency: time.Second, shortest: time.Second, longest: time.Second}
	for _, c := range []struct {
		what string
		orgs []string
		open tiers
		rows int
		want float64 // seconds
	}{
		// 8 batches at once, 2 rows a second each, after a minute.
		{"batch, one org", oneOrg, tiers{batch: true}, 16_000, 60 + 1_000},
		{"batch, three orgs", allOrgs, tiers{batch: true}, 48_000, 60 + 1_000},
		// 100 calls in flight, a second each.
		{"sync, one org", oneOrg, tiers{sync: true}, 100_000, 1_000},
		// low's 4,000 requests a minute are fewer than its 100 slots could make:
		// a full bucket, then 66.7 a second; the others make 100 a second each.
		{"sync, three orgs", allOrgs, tiers{sync: true}, 270_000, (270_000 - 4_000 + 4_000/60.) / (200 + 4_000/60.)},
	} {
		got, polite := r.bounds(&sc, c.orgs, c.open, c.rows)
		if math.Abs(got.Seconds()-c.want) > 0.01*c.want {
			t.Errorf("%s: bound %v, want %.1f s", c.what, got, c.want)
		}
		if polite < got {
			t.Errorf("%s: with manners %v, without %v", c.what, polite, got)
		}
	}
	both, _ := r.bounds(&sc, allOrgs, tiers{true, true}, 100_000)
	sync, _ := r.bounds(&sc, allOrgs, tiers{sync: true}, 100_000)
	if both >= sync {
		t.Errorf("both tiers take %v, sync alone %v", both, sync)
	}
	// 100,000 rows by batch alone, as the leaf's closed form has it.
	var lanes []route.BatchLane
	for i := range sc.Orgs {
		lanes = append(lanes, siteOf(&sc, &sc.Orgs[i], tiers{batch: true}).Batch)
	}
	batch, _ := r.bounds(&sc, allOrgs, tiers{batch: true}, 100_000)
	if want := route.BatchBound(lanes, 100_000); math.Abs(batch.Seconds()-want.Seconds()) > 1 {
		t.Errorf("batch alone: %v, want %v", batch, want)
	}
}
