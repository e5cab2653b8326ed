package plan_test

import (
	"context"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/plan"
)

// Two thousand calls of known length, on an org of the lowest usage tier, with
// three hours to go: batches will do, at half the price.
func ExampleForesee() {
	f, err := plan.Foresee(context.Background(), plan.Job{
		Fleet: flotilla.Config{Orgs: []flotilla.Org{{
			Name: "high", BatchQueue: 100_000, BatchRPM: 1_000,
			PerMinute: map[string]flotilla.Limits{"sonnet-4.x": {Requests: 1_000, Input: 2_000_000, Output: 400_000}},
		}}},
		Classes: []plan.Class{{
			Model: "claude-sonnet-4-6", Pool: "sonnet-4.x", Family: "sonnet",
			Rows: 2_000, In: 400, Out: 60, MaxTokens: 120, OutSource: "--out-tokens",
		}},
		Start:    time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		Deadline: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	})
	if err != nil {
		panic(err)
	}
	c := &f.Candidates[f.Chosen]
	fmt.Printf("%s, %s: %d rows by batch for about $%.1f\n", c.Name, f.Why, c.BatchRows, c.CostP50.Float())
	// Output:
	// batch, the cheapest in time: 2000 rows by batch for about $2.1
}
