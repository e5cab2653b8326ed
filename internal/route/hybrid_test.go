package route

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hundredThousand is the job of facts/control.md C.3: answers take 6 s, so that
// caps of 100 let 1,000 a minute go on each of three orgs; batches proceed at 16
// rows a second on each after 2 min.
func hundredThousand() (Problem, []BatchLane) {
	l := Lane{Cap: 100}
	b := BatchLane{Overhead: 2 * time.Minute, RowRate: 2, Parallel: 8}
	return Problem{
		Lanes: []Lane{l, l, l}, Ramp: RampOff, Soft: -1,
		Work: Work{Requests: 100_000, Latency: 600_000 * time.Second, Shortest: 6 * time.Second, Longest: 6 * time.Second},
	}, []BatchLane{b, b, b}
}

// The example of facts/control.md C.3: what each budget buys.
func TestHybridWithin(t *testing.T) {
	p, lanes := hundredThousand()
	const sync, batch = 0.004, 0.002
	for _, c := range []struct{ dollars, minutes float64 }{
		{200, 36.7}, {220, 33.2}, {250, 28.0}, {300, 19.4}, {308, 18.0}, {400, 18.0}, {1000, 18.0},
	} {
		h, ok := HybridWithin(p, lanes, 100_000, sync, batch, c.dollars)
		if got := h.Time.Minutes(); !ok || math.Abs(got-c.minutes) > 0.05 {
			t.Errorf("$%.0f: %.2f min, %t; want %.1f", c.dollars, got, ok, c.minutes)
		}
		if cost := h.Sync*sync + h.Batch*batch; cost > c.dollars+1e-6 {
			t.Errorf("$%.0f: the split costs $%.4f", c.dollars, cost)
		}
	}
	if h, ok := HybridWithin(p, lanes, 100_000, sync, batch, 199.99); ok {
		t.Errorf("below the batch price: %+v", h)
	}
	if h, ok := HybridWithin(p, lanes, 50_000, sync, batch, 299); ok {
		t.Errorf("half of the rows must go by sync: %+v", h)
	}
	physical, polite := HybridBound(p, lanes, 100_000)
	if got := fmt.Sprintf("%.1f min, %.0fk by sync, %.0fk by batch", physical.Time.Minutes(), physical.Sync/1000, physical.Batch/1000); got != "18.0 min, 54k by sync, 46k by batch" {
		t.Error(got)
	}
	if physical != polite {
		t.Errorf("no manners asked for: %+v, polite %+v", physical, polite)
	}
}

func TestHybridAtTheEnds(t *testing.T) {
	p, lanes := hundredThousand()
	slow := []BatchLane{{Overhead: time.Hour, RowRate: 2, Parallel: 8}}
	none := Problem{Work: p.Work, Lanes: []Lane{{}}}
	for _, c := range []struct {
		name     string
		p        Problem
		lanes    []BatchLane
		eligible float64
		minutes  float64
		sync     float64
	}{
		{"batches begin when sync is through", p, slow, 100_000, 100_000 / 50.0 / 60, 100_000},
		{"no batch may carry any", p, lanes, 0, 100_000 / 50.0 / 60, 100_000},
		{"sync is closed", none, lanes, 100_000, (120 + 100_000/48.0) / 60, 0},
		{"most may not go by batch", p, lanes, 20_000, 80_000 / 50.0 / 60, 80_000},
	} {
		got, _ := HybridBound(c.p, c.lanes, c.eligible)
		if math.Abs(got.Time.Minutes()-c.minutes) > 0.01 || math.Abs(got.Sync-c.sync) > 1 {
			t.Errorf("%s: %v, %.0f by sync; want %.2f min, %.0f", c.name, got.Time, got.Sync, c.minutes, c.sync)
		}
	}
	if got, _ := HybridBound(none, nil, 100_000); got.Time != Never {
		t.Errorf("no tier open: %v", got.Time)
	}
}

func TestBatchBound(t *testing.T) {
	two := BatchLane{Overhead: time.Minute, RowRate: 2, Parallel: 8}
	late := BatchLane{Overhead: 11 * time.Minute, RowRate: 2, Parallel: 8}
	short := BatchLane{Queue: 122, Overhead: time.Minute, RowRate: 2, Parallel: 8}
	for _, c := range []struct {
		name  string
		lanes []BatchLane
		rows  float64
		want  time.Duration
	}{
		{"nothing to do", []BatchLane{two}, 0, 0},
		{"one lane", []BatchLane{two}, 1600, 160 * time.Second},
		{"two end together", []BatchLane{two, two}, 3200, 160 * time.Second},
		{"one is through before the other begins", []BatchLane{two, late}, 1600, 160 * time.Second},
		{"then both", []BatchLane{two, late}, 9600 + 3200, 760 * time.Second},
		{"a queue of two rows a second", []BatchLane{short}, 121, 2 * time.Minute},
		{"others fill the queue", []BatchLane{{Queue: 100, Others: 100, RowRate: 2, Parallel: 8}}, 1, Never},
		{"nothing proceeds", []BatchLane{{Overhead: time.Minute, Parallel: 8}}, 1, Never},
		{"no lane", nil, 1, Never},
	} {
		got := BatchBound(c.lanes, c.rows)
		if (got - c.want).Abs() > time.Second/2 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	split := BatchSplit([]BatchLane{two, late}, 9600+3200)
	if math.Abs(split[0]-11200) > 1 || math.Abs(split[1]-1600) > 1 {
		t.Errorf("split %v", split)
	}
}

func TestOutstanding(t *testing.T) {
	for _, c := range []struct {
		name string
		lane BatchLane
		want float64
	}{
		{"a queue with its headroom", BatchLane{Queue: 100_000, RowRate: 2, Parallel: 8}, 80_000},
		{"and colleagues in it", BatchLane{Queue: 100_000, Others: 30_000, RowRate: 2, Parallel: 8}, 50_000},
		{"others have it all", BatchLane{Queue: 100_000, Others: 90_000, RowRate: 2, Parallel: 8}, 0},
		{"what ends before it expires", BatchLane{Queue: 500_000, RowRate: 0.02, Parallel: 8}, 0.16 * 86_400},
	} {
		if got := c.lane.Outstanding(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %.0f, want %.0f", c.name, got, c.want)
		}
	}
}

func drawBatchLane(t *rapid.T) BatchLane {
	return BatchLane{
		Queue:    rapid.SampledFrom([]float64{0, 500, 20_000}).Draw(t, "queue"),
		Overhead: time.Duration(rapid.IntRange(0, 300).Draw(t, "overhead")) * time.Second,
		RowRate:  rapid.Float64Range(0.1, 5).Draw(t, "rate"),
		Parallel: rapid.IntRange(1, 8).Draw(t, "parallel"),
	}
}

// No split of a grid beats the bound, and the bound's own split reaches it.
func TestHybridIsTheBestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		lanes := rapid.SliceOfN(rapid.Custom(drawBatchLane), 1, 3).Draw(t, "batch")
		n := p.Work.Requests
		eligible := n * rapid.Float64Range(0, 1).Draw(t, "eligible")
		best, polite := HybridBound(p, lanes, eligible)
		if polite.Time < best.Time {
			t.Fatalf("manners gain time: %+v, without %+v", polite, best)
		}
		if math.Abs(best.Sync+best.Batch-n) > 1e-6*n || best.Batch > eligible+1e-6*n {
			t.Fatalf("%+v of %.1f rows, %.1f eligible", best, n, eligible)
		}
		for i := range 21 {
			sync := n - eligible*float64(i)/20
			took := max(p.physical(sync).Time, BatchBound(lanes, n-sync))
			if took < best.Time-time.Millisecond {
				t.Fatalf("%.1f by sync end at %v, the bound says %v", sync, took, best.Time)
			}
		}
	})
}
