package route

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// one is the job of facts/control.md C.3 as a task: three orgs that are alike.
func one() Task {
	p, batch := hundredThousand()
	t := Task{
		Soft: -1, Ramp: RampOff,
		Classes: []Class{{Rows: 100_000, Latency: 6 * time.Second, Shortest: 6 * time.Second, Longest: 6 * time.Second, Sync: 0.004, Batch: 0.002}},
	}
	for k := range p.Lanes {
		t.Orgs = append(t.Orgs, Site{Lanes: p.Lanes[k : k+1], Batch: batch[k]})
	}
	return t
}

// The planner finds the example of facts/control.md C.3 from both sides.
func TestPlannerOnOneClass(t *testing.T) {
	task := one()
	for _, c := range []struct{ dollars, minutes float64 }{{200, 36.7}, {220, 33.2}, {250, 28.0}, {300, 19.4}, {308, 18.0}, {1000, 18.0}} {
		s, ok := task.Fastest(c.dollars)
		if !ok || math.Abs(s.Time.Minutes()-c.minutes) > 0.05 || math.Abs(s.Rows-100_000) > 1 {
			t.Errorf("$%.0f: %v, %.0f rows, %t; want %.1f min", c.dollars, s.Time, s.Rows, ok, c.minutes)
		}
		back, ok := task.Cheapest(s.Time + time.Second)
		if !ok || back.Cost > c.dollars+1e-3 {
			t.Errorf("by %v: $%.2f, %t; want at most $%.0f", s.Time, back.Cost, ok, c.dollars)
		}
	}
	if s, ok := task.Fastest(199.9); ok {
		t.Errorf("below the batch price: %+v", s)
	}
	if s, ok := task.Cheapest(17 * time.Minute); ok {
		t.Errorf("sooner than both tiers can: %+v", s)
	}
}

func TestFeasible(t *testing.T) {
	task := one()
	slow := one()
	slow.Classes[0].Alone = true
	for k := range slow.Orgs {
		slow.Orgs[k].Lanes = []Lane{{}}
	}
	for _, c := range []struct {
		name     string
		task     Task
		deadline time.Duration
		budget   float64
		want     Answer
	}{
		{"by all means", task, 40 * time.Minute, 400, Answer{
			OK: true, Shortest: 1079 * time.Second, ShortestWithin: 1079 * time.Second, Least: 200, LeastInTime: 200,
			RowsInTime: 100_000, RowsWithin: 100_000, RowsBoth: 100_000,
		}},
		{"not enough time", task, 10 * time.Minute, math.Inf(1), Answer{
			Shortest: 1079 * time.Second, ShortestWithin: 1079 * time.Second, Least: 200, LeastInTime: math.Inf(1),
			RowsInTime: 30_000 + 48*480, RowsWithin: 100_000, RowsBoth: 30_000 + 48*480,
		}},
		{"not enough money", task, 0, 150, Answer{
			Shortest: 1079 * time.Second, ShortestWithin: Never, Least: 200, LeastInTime: 200, Missing: 50,
			RowsInTime: 100_000, RowsWithin: 75_000, RowsBoth: 75_000,
		}},
		{"not enough money for the deadline", task, 28 * time.Minute, 220, Answer{
			Shortest: 1079 * time.Second, ShortestWithin: 1994 * time.Second, Least: 200, LeastInTime: 250.24, Missing: 30.24,
			RowsInTime: 100_000, RowsWithin: 100_000, RowsBoth: 92_440,
		}},
		{"nothing left to spend", task, 0, 0, Answer{
			Shortest: 1079 * time.Second, ShortestWithin: Never, Least: 200, LeastInTime: 200, Missing: 200, RowsInTime: 100_000,
		}},
		{"no way at all", slow, 0, 100, Answer{Shortest: Never, ShortestWithin: Never, Least: math.Inf(1), LeastInTime: math.Inf(1)}},
	} {
		got := c.task.Feasible(c.deadline, c.budget)
		for _, f := range []struct {
			name           string
			got, want, off float64
		}{
			{"shortest", got.Shortest.Seconds(), c.want.Shortest.Seconds(), 1},
			{"shortest within", got.ShortestWithin.Seconds(), c.want.ShortestWithin.Seconds(), 1},
			{"least", got.Least, c.want.Least, 0.01},
			{"least in time", got.LeastInTime, c.want.LeastInTime, 0.01},
			{"missing", got.Missing, c.want.Missing, 0.01},
			{"rows in time", got.RowsInTime, c.want.RowsInTime, 1},
			{"rows within", got.RowsWithin, c.want.RowsWithin, 1},
			{"rows of both", got.RowsBoth, c.want.RowsBoth, 1},
		} {
			if f.got != f.want && math.Abs(f.got-f.want) > f.off {
				t.Errorf("%s: %s %.2f, want %.2f", c.name, f.name, f.got, f.want)
			}
		}
		if got.OK != c.want.OK {
			t.Errorf("%s: %t", c.name, got.OK)
		}
	}
}

func drawTask(t *rapid.T) Task {
	task := Task{Soft: -1, Ramp: Ramp(rapid.IntRange(0, 2).Draw(t, "ramp"))}
	pools := rapid.IntRange(1, 2).Draw(t, "pools")
	for range rapid.IntRange(1, 3).Draw(t, "orgs") {
		s := Site{Batch: drawBatchLane(t), Group: make([]int, pools)}
		for range pools {
			s.Lanes = append(s.Lanes, drawLane(t))
		}
		for q := range s.Group {
			s.Group[q] = rapid.IntRange(0, 1).Draw(t, "group")
		}
		task.Orgs = append(task.Orgs, s)
	}
	for range rapid.IntRange(1, 4).Draw(t, "classes") {
		l := rapid.Float64Range(0.5, 9).Draw(t, "latency")
		cost := rapid.Float64Range(0.001, 0.1).Draw(t, "cost")
		task.Classes = append(task.Classes, Class{
			Rows: rapid.Float64Range(1, 3000).Draw(t, "rows"), Pool: rapid.IntRange(0, pools-1).Draw(t, "pool"),
			Input: rapid.Float64Range(0, 400).Draw(t, "in"), Output: rapid.Float64Range(0, 200).Draw(t, "out"),
			Latency: seconds(l), Shortest: seconds(l / 2), Longest: seconds(2 * l),
			Sync: cost, Batch: cost / 2, Alone: rapid.IntRange(0, 3).Draw(t, "alone") == 0,
		})
	}
	return task
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// What the planner says holds: supplies are kept, no time below its fastest
// will do, more time never costs more, and more money never takes longer.
func TestPlannerKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := drawTask(t)
		fastest, ok := task.Fastest(math.Inf(1))
		if !ok {
			return
		}
		if s, early := task.Cheapest(fastest.Time * 999 / 1000); early {
			t.Fatalf("fastest %v, and yet %v", fastest.Time, s.Time)
		}
		last := math.Inf(1)
		for _, k := range []float64{1.001, 1.3, 2, 5} {
			s, ok := task.Cheapest(time.Duration(float64(fastest.Time) * k))
			if !ok || s.Cost > last*(1+1e-6) {
				t.Fatalf("by %v × %.3f: %v, $%.4f after $%.4f", fastest.Time, k, ok, s.Cost, last)
			}
			last = s.Cost
			if why := task.breaks(s); why != "" {
				t.Fatalf("%s: %+v", why, s)
			}
			if again, ok := task.Fastest(s.Cost); !ok || float64(again.Time) > float64(s.Time)*(1+1e-5) {
				t.Fatalf("$%.6f buys %v, and then %v", s.Cost, s.Time, again.Time)
			}
			if fit := task.Fit(s.Time, s.Cost*(1+1e-9)); math.Abs(fit.Rows-task.rows()) > 1e-4*task.rows() {
				t.Fatalf("%.2f of %.2f rows fit where all did", fit.Rows, task.rows())
			}
		}
	})
}

// breaks names a supply that a split overdraws.
func (t *Task) breaks(s Split) string {
	by := s.Time.Seconds() * (1 + 1e-6)
	for c := range t.Classes {
		sum := 0.0
		for k := range t.Orgs {
			sum += s.Sync[c][k] + s.Batch[c][k]
			if t.Classes[c].Alone && s.Batch[c][k] > 1e-6 {
				return "a batch carries what it may not"
			}
		}
		if math.Abs(sum-t.Classes[c].Rows) > 1e-6*t.Classes[c].Rows {
			return "rows are lost"
		}
	}
	for k := range t.Orgs {
		batched, slots := 0.0, map[int]float64{}
		used := make([][NumDims]float64, len(t.Orgs[k].Lanes))
		for c := range t.Classes {
			class := &t.Classes[c]
			batched += s.Batch[c][k]
			slots[t.Orgs[k].group(class.Pool)] += s.Sync[c][k] * class.Latency.Seconds()
			for d := range NumDims {
				used[class.Pool][d] += s.Sync[c][k] * class.need(d)
			}
		}
		const more = 1 + 1e-6
		if batched > t.Orgs[k].Batch.given(by)*more+1e-6 {
			return "more than the batches answer"
		}
		for pool := range used {
			lane := &t.Orgs[k].Lanes[pool]
			for d := range NumDims {
				if used[pool][d] > lane.given(d, 0, by)*more+1e-6 {
					return "more than a bucket gives"
				}
			}
			cap := 0
			for q := range used {
				if t.Orgs[k].group(q) == t.Orgs[k].group(pool) {
					cap = max(cap, t.Orgs[k].Lanes[q].Cap)
				}
			}
			if slots[t.Orgs[k].group(pool)] > float64(cap)*opened(t.Ramp, by)*more+1e-6 {
				return "more than the windows let through"
			}
		}
	}
	return ""
}

// One class, one org: the planner and the balance of facts/control.md C.3 are one.
func TestPlannerIsTheBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lane, batch := drawLane(t), drawBatchLane(t)
		n := rapid.Float64Range(10, 5000).Draw(t, "n")
		c := Class{Rows: n, Input: 100, Output: 50, Latency: 3 * time.Second, Shortest: time.Second, Longest: 5 * time.Second, Sync: 2, Batch: 1}
		task := Task{Classes: []Class{c}, Orgs: []Site{{Lanes: []Lane{lane}, Batch: batch}}}
		p := Problem{Lanes: []Lane{lane}, Work: Work{Requests: n, Input: n * 100, Output: n * 50, Latency: time.Duration(n * 3e9), Shortest: c.Shortest, Longest: c.Longest}}
		budget := n * rapid.Float64Range(0.9, 2.1).Draw(t, "budget")
		h, ok := HybridWithin(p, []BatchLane{batch}, n, 2, 1, budget)
		s, can := task.Fastest(budget)
		if ok != can || ok && math.Abs(s.Time.Seconds()-h.Time.Seconds()) > 1e-3+1e-5*h.Time.Seconds() {
			t.Fatalf("planner %v %t, balance %v %t", s.Time, can, h.Time, ok)
		}
	})
}

// Where batch places alone are short, the classes that save most per row get
// them (the greedy of facts/control.md C.4).
func TestPlannerIsGreedyWhereThatIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := Task{Soft: -1, Ramp: RampOff, Orgs: []Site{{Lanes: []Lane{{Cap: 1e9}}, Batch: BatchLane{RowRate: 1, Parallel: 1}}}}
		for range rapid.IntRange(1, 5).Draw(t, "classes") {
			cost := rapid.Float64Range(1, 10).Draw(t, "cost")
			task.Classes = append(task.Classes, Class{Rows: rapid.Float64Range(1, 100).Draw(t, "rows"), Latency: 1, Shortest: 1, Longest: 1, Sync: cost, Batch: cost / 2})
		}
		room := rapid.Float64Range(1, 300).Draw(t, "seconds")
		s, ok := task.Cheapest(seconds(room))
		order := slices.Clone(task.Classes)
		slices.SortFunc(order, func(a, b Class) int { return cmp.Compare(b.Sync, a.Sync) })
		want := 0.0
		for _, c := range order {
			n := min(c.Rows, room)
			room -= n
			want += n*c.Batch + (c.Rows-n)*c.Sync
		}
		if !ok || math.Abs(s.Cost-want) > 1e-6*want {
			t.Fatalf("planner $%.6f %t, greedy $%.6f", s.Cost, ok, want)
		}
	})
}

// BenchmarkPlanner is a program at the size that C.4 names: 20 orgs, 20 classes.
func BenchmarkPlanner(b *testing.B) {
	task := one()
	c, o := task.Classes[0], task.Orgs[0]
	o.Lanes[0].PerMinute = start.PerMinute
	for i := range 19 {
		c.Rows, c.Input, c.Output = 1000+100*float64(i), 400+50*float64(i), 60+5*float64(i)
		task.Classes = append(task.Classes, c)
		o.Batch.RowRate = 1 + float64(i)/10
		task.Orgs = append(task.Orgs, o)
	}
	for b.Loop() {
		if _, ok := task.Cheapest(30 * time.Minute); !ok {
			b.Fatal("it cannot be done")
		}
	}
}
