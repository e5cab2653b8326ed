package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/route"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// headlineN is how many calls the headline is about.
const headlineN = 141_600

// batchLanes is what route is told of a scenario's batch tier.
func batchLanes(sc *emulator.Scenario) []route.BatchLane {
	var out []route.BatchLane
	for i := range sc.Orgs {
		out = append(out, route.BatchLane{Queue: float64(sc.Orgs[i].BatchQueue), Overhead: time.Minute, RowRate: 2, Parallel: 8})
	}
	return out
}

// scripted is how the job goes by a script's batches of 500, one at a time on
// one org, looked at every 30 s. Its steps are alike, so 40 of them tell the
// rest.
func scripted(t *testing.T, sc *emulator.Scenario, seed uint64) (o *Outcome, all time.Duration) {
	const n = 40 * 500
	s := judgeJob(sc, n, seed, sched.Route{Batch: true}, func(s *Setting) {
		s.Brain, s.Lanes = &oneByOne{rows: 500, every: 30 * time.Second}, s.Lanes[3:4]
	})
	o = at(t, *sc, 9, seed, s)
	return o, o.Makespan() * headlineN / n
}

func TestHeadline(t *testing.T) {
	t.Parallel()
	sc := named(t, "default")
	lines := []string{fmt.Sprintf("%-26s %4s %10s %8s %9s %9s %8s %8s %6s  %s",
		"141,600 calls, 400 in 60 out", "seed", "wall", "× script", "$ sync", "$ batch", "sync", "batch", "429s", "against its bound")}
	for seed := uint64(1); seed <= 3; seed++ {
		lines = append(lines, headline(t, sc, seed)...)
	}
	lines = append(lines, besides(t, sc)...)
	t.Logf("\n%s", strings.Join(lines, "\n"))
}

// besides are the other families by sync alone, with their etiquette caps, and
// the org whose requests per minute bind.
func besides(t *testing.T, sc emulator.Scenario) (lines []string) {
	for _, c := range []struct {
		name, model string
		cap         int
		orgs        []emulator.Org
		least, most float64 // calls a minute
	}{
		{"sync, Haiku", haiku, 120, sc.Orgs, 26_000, 29_000},
		{"sync, Haiku on low", haiku, 120, sc.Orgs[2:], 3_800, 4_100},
		{"sync, Opus", opus, 40, sc.Orgs, 3_400, 3_800},
	} {
		world := sc
		world.Orgs = c.orgs
		o := at(t, world, 9, 1, judgeJob(&world, headlineN, 1, sched.Route{}, func(s *Setting) {
			s.Lanes, s.Calls = bothTiers(&world, c.model, c.cap), judgeWork(1, c.model)
		}))
		rate := steadyRate(o)
		b := boundsOf(&world, c.cap, o)
		share := b.apart(&polite) / o.Makespan().Seconds()
		lines = append(lines, fmt.Sprintf("%-26s %4d %10s %8s %9.2f %9.2f %8d %8d %6d  %.0f calls a minute, polite bound %s, %.3f of it", c.name, 1,
			o.Makespan().Round(time.Second), "", dollars(o.SyncCost), 0.0, o.SyncRows, 0, o.RateLimited(), rate, span(b.apart(&polite)).Round(time.Second), share))
		if rate < c.least || rate > c.most || share < .95 {
			t.Errorf("%s: %.0f calls a minute, %.3f of the polite bound", c.name, rate, share)
		}
	}
	return lines
}

// steadyRate is calls a minute between the ramp and the last minute.
func steadyRate(o *Outcome) float64 {
	sum, from, to := 0, 90, len(o.Done)-60
	for _, n := range o.Done[from:to] {
		sum += n
	}
	return 60 * float64(sum) / float64(to-from)
}

// apart is the least time where no org can use what another has left: of calls
// that are all alike.
func (b *bounds) apart(m *manners) float64 {
	n := b.demand[0]
	lo, hi := 0.0, b.sum
	for range 60 {
		t := (lo + hi) / 2
		rows := 0.0
		for i := range b.orgs {
			s := &b.orgs[i]
			rows += min(s.slots(m, t)*n/b.sum, s.given(m, 0, t-b.least), s.given(m, 1, t-b.least)*n/b.demand[1], s.given(m, 2, t)*n/b.demand[2])
		}
		if rows >= n {
			hi = t
		} else {
			lo = t
		}
	}
	return hi
}

func headline(t *testing.T, sc emulator.Scenario, seed uint64) (lines []string) {
	script, base := scripted(t, &sc, seed)
	put := func(name string, o *Outcome, note string) float64 {
		x := base.Seconds() / o.Makespan().Seconds()
		lines = append(lines, fmt.Sprintf("%-26s %4d %10s %8.1f %9.2f %9.2f %8d %8d %6d  %s", name, seed,
			o.Makespan().Round(time.Second), x, dollars(o.SyncCost), dollars(o.BatchCost), o.SyncRows, o.BatchRows, o.RateLimited()+o.BatchRefused, note))
		return x
	}
	lines = append(lines, fmt.Sprintf("%-26s %4d %10s %8.1f %9.2f %9.2f", "script, 500 by 500", seed,
		base.Round(time.Second), 1.0, 0.0, dollars(script.BatchCost)*headlineN/float64(script.N)))

	sync := at(t, sc, 9, seed, judgeJob(&sc, headlineN, seed, sched.Route{}))
	b := boundsOf(&sc, 100, sync)
	politely := b.time(polite)
	put("sync", sync, fmt.Sprintf("polite bound %s, %.3f of it", span(politely).Round(time.Second), b.effP(sync, polite)))
	if m := sync.Makespan(); m < 15*time.Minute || m > 18*time.Minute || b.effP(sync, polite) < .95 {
		t.Errorf("seed %d: sync alone took %v, %.3f of its polite bound", seed, m, b.effP(sync, polite))
	}

	batch := at(t, sc, 9, seed, judgeJob(&sc, headlineN, seed, sched.Route{Batch: true, NoSync: true}))
	least := route.BatchBound(batchLanes(&sc), headlineN)
	over := batch.Makespan().Seconds() / least.Seconds()
	x := put("batch", batch, fmt.Sprintf("batch bound %s, %.3f × it", least.Round(time.Second), over))
	if x < 15 || over > 1.25 {
		t.Errorf("seed %d: by batch alone %.1f times as fast as the script, %.3f times the bound", seed, x, over)
	}

	fast := at(t, sc, 9, seed, judgeJob(&sc, headlineN, seed, sched.Route{Batch: true}))
	p := b.problem()
	_, h := route.HybridBound(p, batchLanes(&sc), headlineN)
	share := h.Time.Seconds() / fast.Makespan().Seconds()
	x = put("auto --prefer fast", fast, fmt.Sprintf("hybrid bound %s, %.3f of it", h.Time.Round(time.Second), share))
	if x < 60 || share < .9 {
		t.Errorf("seed %d: fast is %.1f times as fast as the script, %.3f of the hybrid bound", seed, x, share)
	}

	killed := at(t, sc, 9, seed, judgeJob(&sc, headlineN, seed, sched.Route{Batch: true}, func(s *Setting) {
		s.Crashes = []Crash{{At: fast.Makespan() / 2, Back: fast.Makespan()/2 + 10*time.Second}}
	}))
	put("fast, killed midway", killed, fmt.Sprintf("%d batches taken over", killed.Adopted))
	if killed.Adopted == 0 || killed.Makespan() > fast.Makespan()*5/4 {
		t.Errorf("seed %d: killed midway it took over %d batches and took %v, left alone %v", seed, killed.Adopted, killed.Makespan(), fast.Makespan())
	}

	cheap := at(t, sc, 9, seed, judgeJob(&sc, headlineN, seed, sched.Route{Batch: true, Target: 23 * time.Hour}, func(s *Setting) {
		s.Stream.Deadline = 23 * time.Hour
	}))
	put("cheap by 08:00", cheap, fmt.Sprintf("%d sync rows", cheap.SyncRows))
	if cheap.SyncRows > 0 || cheap.SyncCost != 0 || cheap.Makespan() > 23*time.Hour {
		t.Errorf("seed %d: cheap sent %d rows by sync and took %v", seed, cheap.SyncRows, cheap.Makespan())
	}
	return lines
}
