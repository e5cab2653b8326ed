package sched

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestIDTableTwin holds the table to a map.
func TestIDTableTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var table idTable
		twin := map[int64]int32{}
		for _, op := range rapid.SliceOf(rapid.Int64Range(-40, 40)).Draw(r, "ops") {
			key := op * 0x10001
			if _, ok := twin[key]; ok {
				delete(twin, key)
				table.del(key)
			} else {
				twin[key] = int32(len(twin))
				table.put(key, twin[key])
			}
			for k := int64(-40); k <= 40; k++ {
				want, ok := twin[k*0x10001]
				if got, found := table.get(k * 0x10001); found != ok || ok && got != want {
					r.Fatalf("key %d: %d %v, want %d %v", k, got, found, want, ok)
				}
			}
			if table.n != len(twin) {
				r.Fatalf("%d entries, want %d", table.n, len(twin))
			}
		}
	})
}

// TestFifoTwin holds the queue of chunks to a slice.
func TestFifoTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var f fifo
		var p chunkPool
		var twin []CallID
		next := CallID(1)
		for range rapid.IntRange(1, 40).Draw(r, "turns") {
			for range rapid.IntRange(0, 700).Draw(r, "push") {
				f.push(&p, item{id: next})
				twin = append(twin, next)
				next++
			}
			for range min(len(twin), rapid.IntRange(0, 900).Draw(r, "pop")) {
				if got := f.pop(&p).id; got != twin[0] {
					r.Fatalf("popped %d, want %d", got, twin[0])
				}
				twin = twin[1:]
			}
			if f.n != len(twin) {
				r.Fatalf("%d queued, want %d", f.n, len(twin))
			}
			id := rapid.Int64Range(0, int64(next)).Draw(r, "find")
			if it := f.find(CallID(id)); (it != nil) != slices.Contains(twin, CallID(id)) {
				r.Fatalf("call %d found: %v", id, it != nil)
			}
		}
	})
}

// TestDayTwin holds the minutes of a rolling day to a list of what was used.
func TestDayTwin(t *testing.T) {
	type use struct {
		at time.Duration
		n  float64
	}
	rapid.Check(t, func(r *rapid.T) {
		var y day
		y.open(LaneConfig{TokensPerDay: 1000}, 0)
		var twin []use
		now := time.Duration(0)
		for range rapid.IntRange(1, 60).Draw(r, "uses") {
			now += time.Duration(rapid.IntRange(0, 7*3600).Draw(r, "pause")) * time.Second
			n := float64(rapid.IntRange(1, 100).Draw(r, "tokens"))
			y.use(now, n)
			twin = append(twin, use{now, n})
			// A use counts until the minute in which it leaves the window is over.
			exact, late := 0.0, 0.0
			for _, u := range twin {
				if u.at > now-24*time.Hour {
					exact += u.n
				}
				if u.at > now-24*time.Hour-time.Minute {
					late += u.n
				}
			}
			if y.sum < exact-1e-6 || y.sum > late+1e-6 {
				r.Fatalf("at %v the day holds %v, want %v to %v", now, y.sum, exact, late)
			}
			to := float64(rapid.IntRange(0, 300).Draw(r, "to"))
			if at := y.falls(now, to); at > now && at < Never {
				left := 0.0
				for _, u := range twin {
					if u.at > at-24*time.Hour {
						left += u.n
					}
				}
				if left > to+1e-6 {
					r.Fatalf("at %v it was to have fallen to %v, but %v are left", at, to, left)
				}
			}
		}
	})
}

// TestFlowTwin holds the exact integral of the pacing law to small steps, and
// the wait for credit to be no longer than it really takes.
func TestFlowTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := newBucket(floors{
			soft:  floor{share: rapid.SampledFrom([]float64{0, 0.1, 0.3}).Draw(r, "soft"), tokens: rapid.SampledFrom([]float64{0, 500}).Draw(r, "soft tokens")},
			hard:  floor{share: rapid.SampledFrom([]float64{0, 0.02}).Draw(r, "hard")},
			sigma: rapid.SampledFrom([]float64{0, 0.15, 0.5}).Draw(r, "sigma"),
		})
		b.learn(rapid.Float64Range(60, 60_000).Draw(r, "limit"), true)
		b.cap *= rapid.SampledFrom([]float64{1, 0.1}).Draw(r, "capacity")
		b.g = rapid.SampledFrom([]float64{2, 0.5}).Draw(r, "gain")
		b.lvl = b.cap * rapid.Float64Range(-0.2, 1).Draw(r, "level")
		b.cum = 1
		need := rapid.Float64Range(0.01, 0.5).Draw(r, "need") * b.cap
		slow := b
		wait := b.creditIn(need, false)
		if math.IsInf(wait, 1) || wait > 1e5 {
			return
		}
		const steps = 4000
		sum, dt := 0.0, 1.5*(wait+0.1)/steps
		took := math.Inf(1)
		for i := range steps {
			sum += slow.pace(false) * dt
			slow.lvl = min(slow.cap, slow.lvl+slow.r*dt)
			if sum >= need && math.IsInf(took, 1) {
				took = float64(i+1) * dt
			}
		}
		if took < wait-3*dt {
			r.Fatalf("credit came after %v s, not before %v", took, wait)
		}
		fast := b
		fast.want = math.Inf(1) // no cap on credit
		fast.advance(1.5*(wait+0.1), 1, 0, true, false)
		if d := math.Abs(fast.credit - sum); d > 0.01*(sum+need) {
			r.Fatalf("credit %v, step by step %v", fast.credit, sum)
		}
	})
}

// TestQuantiles holds the histogram to the sorted samples, within its bins of a
// quarter octave.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(0.01, 1000), 1, 400).Draw(r, "samples")
		var h histogram
		for _, x := range xs {
			h.add(x)
		}
		slices.Sort(xs)
		for _, q := range []float64{0.5, 0.95} {
			want := xs[int(math.Ceil(q*float64(len(xs))))-1]
			if got := h.quantile(q); got < want/1.2 || got > want*1.2 {
				r.Fatalf("quantile %v is %v, want %v of %v", q, got, want, xs)
			}
		}
	})
}
