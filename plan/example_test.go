package plan_test

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/plan"
)

// A hundred calls in a world that answers each in a second and a quarter: the
// first goes alone, to see the limits; then as many as the ramp lets go.
func ExampleRehearse() {
	sc, err := emulator.Named("steady")
	if err != nil {
		panic(err)
	}
	sc.InputNoise = 0
	model := emulator.NewModel(sc, 1, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
	haiku, _ := emulator.ModelIndex("claude-haiku-4-5")
	outs := plan.Rehearse(model, time.Hour, plan.Setting{
		Lanes: []sched.LaneConfig{{Org: "high", Pool: "haiku-4.5", Cap: 120}},
		N:     100,
		Calls: func(i int) plan.Call {
			c := plan.Call{
				Sched:   sched.Call{In: 400, MaxOut: 300, Worst: 400*1_250 + 300*5_000},
				Arrival: emulator.Arrival{Model: haiku, Est: 400, Out: 198, MaxTokens: 300},
			}
			binary.LittleEndian.PutUint64(c.Arrival.Hash[:], uint64(i)+1) // each body is another
			return c
		},
	})
	o := outs[0]
	fmt.Printf("%d of %d succeeded in %v\n", o.Succeeded, o.N, o.Makespan())
	fmt.Printf("%d rate-limited, %d in flight at most\n", o.RateLimited(), o.PeakInFlight)
	fmt.Printf("$%.6f, and the provider's bill says $%.6f\n", float64(o.Cost)/1e9, float64(o.Billed)/1e9)
	// Output:
	// 100 of 100 succeeded in 6.25s
	// 0 rate-limited, 30 in flight at most
	// $0.139000, and the provider's bill says $0.139000
}
