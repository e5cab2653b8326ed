package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// callers is a class of callers that come one by one beside a bulk job.
type callers struct {
	Priority
	perSec float64
	weight float64
}

// beside runs a bulk job that never ends beside callers for ten minutes, after
// one minute alone, and gives how long each caller waited for its turn, by class,
// and how many calls of the job and of each class were answered.
func beside(t *testing.T, open func(w *world), classes ...callers) (waits [][]time.Duration, bulk int, answered []int) {
	w := newWorld(t, Config{})
	open(w)
	rng := rand.New(rand.NewPCG(1, 2))
	w.latency = func(Send) time.Duration { return time.Second + time.Duration(rng.Int64N(2000))*time.Millisecond }
	w.step(&AddStream{Stream: StreamConfig{}})
	for _, c := range classes {
		w.step(&AddStream{Stream: StreamConfig{Priority: c.Priority, Weight: c.weight}})
	}
	came := map[CallID]time.Duration{}
	waits, answered = make([][]time.Duration, len(classes)), make([]int, len(classes))
	w.record = func(_ Event, acts []Action) {
		for _, a := range acts {
			if s, ok := a.(*Send); ok && s.Try == 1 {
				if at, ok := came[s.Call]; ok {
					k := w.calls[s.Call].Stream - 1
					waits[k] = append(waits[k], w.now-at)
				}
			}
		}
	}
	w.offer(200_000, Call{In: 500, MaxOut: 300, Out: 100})
	const alone, end = 3 * time.Minute, 13 * time.Minute
	w.run(alone)
	before := len(w.settled)
	next := make([]time.Duration, len(classes))
	for i, c := range classes {
		next[i] = alone + time.Duration(rng.ExpFloat64()/c.perSec*1e9)
	}
	for len(classes) > 0 {
		i := 0
		for k := range next {
			if next[k] < next[i] {
				i = k
			}
		}
		if next[i] >= end {
			break
		}
		w.run(next[i])
		came[CallID(len(w.calls)+1)] = w.now
		w.offer(1, Call{Stream: StreamID(i + 1), In: 500, MaxOut: 300, Out: 100})
		next[i] += time.Duration(rng.ExpFloat64() / classes[i].perSec * 1e9)
	}
	w.run(end)
	for id := range w.settled {
		if k := w.calls[id].Stream; k > 0 {
			answered[k-1]++
		} else {
			bulk++
		}
	}
	return waits, bulk - before, answered // what was answered alone was all the job's
}

func quantileOf(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

// places is bound by 40 calls in flight; paced by 1,200 requests a minute.
var besides = map[string]func(w *world){
	"places": func(w *world) { w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 40}, 0, 0, 0) },
	"paced":  func(w *world) { w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 100}, 1200, 2_000_000, 400_000) },
	"two": func(w *world) {
		w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 40}, 0, 0, 0)
		w.lane(LaneConfig{Org: "b", Pool: "p", Group: 1, Cap: 50}, 900, 2_000_000, 400_000)
	},
}

// A bulk job that fills the lanes holds an interactive caller up for less than a
// quarter of the median latency (2 s), and loses no more than it takes.
func TestInteractiveBesideBulk(t *testing.T) {
	for name, open := range besides {
		t.Run(name, func(t *testing.T) {
			_, lone, _ := beside(t, open)
			for _, perSec := range []float64{0.5, 2, 5} {
				waits, bulk, answered := beside(t, open, callers{Priority: Interactive, perSec: perSec})
				p99 := quantileOf(waits[0], 0.99)
				t.Logf("%.1f a second: p50 %v p99 %v, bulk %d of %d, interactive %d", perSec, quantileOf(waits[0], 0.5), p99, bulk, lone, answered[0])
				if p99 >= 500*time.Millisecond {
					t.Errorf("%.1f a second: an interactive call waited %v", perSec, p99)
				}
				if float64(bulk) < 0.9*float64(lone-answered[0]) {
					t.Errorf("%.1f a second: the job had %d answers, %d alone, %d were interactive", perSec, bulk, lone, answered[0])
				}
			}
		})
	}
}

// Under more interactive calls than the lanes can take a job still gets a
// twentieth; normal calls stand between.
func TestBulkUnderInteractiveLoad(t *testing.T) {
	for name, open := range besides {
		t.Run(name, func(t *testing.T) {
			_, lone, _ := beside(t, open)
			_, bulk, answered := beside(t, open, callers{Priority: Interactive, perSec: 100}, callers{Priority: Normal, perSec: 100})
			t.Logf("bulk %d of %d, interactive %d, normal %d", bulk, lone, answered[0], answered[1])
			if float64(bulk) < 0.045*float64(lone) {
				t.Errorf("the job had %d answers of %d", bulk, lone)
			}
			if answered[0] < 5*answered[1] || answered[1] < bulk*8/10 {
				t.Errorf("interactive %d, normal %d, bulk %d", answered[0], answered[1], bulk)
			}
			waits, _, _ := beside(t, open, callers{Priority: Normal, perSec: 3}, callers{Priority: Interactive, perSec: 3})
			if n, i := quantileOf(waits[0], 0.99), quantileOf(waits[1], 0.99); n < i || n > 2*time.Second {
				t.Errorf("normal calls waited %v, interactive ones %v", n, i)
			}
		})
	}
}

// Lines of one priority that all want more than there is share by weight.
func TestWeightsOfLines(t *testing.T) {
	_, _, answered := beside(t, besides["places"],
		callers{Priority: Interactive, perSec: 50, weight: 1}, callers{Priority: Interactive, perSec: 50, weight: 3})
	if r := float64(answered[1]) / float64(answered[0]); r < 2.8 || r > 3.2 {
		t.Errorf("answered %v, want 1 : 3", answered)
	}
}
