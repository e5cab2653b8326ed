package plan

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Of lognormal figures nine in ten of further draws lie between p5 and p95, of
// however few the forecast is made.
func TestSpreadCovers(t *testing.T) {
	for _, n := range []int{3, 5, 9} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		const trials = 20_000
		within, above := 0, 0
		for range trials {
			figures := make([]float64, n)
			for i := range figures {
				figures[i] = math.Exp(5 + 0.2*rng.NormFloat64())
			}
			s := spreadOf(figures, 0)
			if next := math.Exp(5 + 0.2*rng.NormFloat64()); s.at(5) <= next && next <= s.at(95) {
				within++
			} else if next > s.at(95) {
				above++
			}
		}
		if share := float64(within) / trials; math.Abs(share-0.9) > 0.01 {
			t.Errorf("of %d figures: %.3f of further ones within p5–p95", n, share)
		}
		if share := float64(above) / trials; math.Abs(share-0.05) > 0.007 {
			t.Errorf("of %d figures: %.3f of further ones above p95", n, share)
		}
	}
}

func TestSpread(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		name    string
		figures []float64
		held    bool
		p       int
		low, up float64
	}{
		{"the middle is the geometric one", []float64{90, 100, 111}, false, 50, 99, 101},
		{"one figure", []float64{100}, false, 95, 100, 102},
		{"one of five does not end: p50 does", []float64{100, 100, 100, 100, none}, false, 50, 99, 101},
		{"one of five does not end: p90 does not", []float64{100, 100, 100, 100, none}, false, 90, math.Inf(1), math.Inf(1)},
		{"most do not end", []float64{100, none, none}, false, 50, math.Inf(1), math.Inf(1)},
		{"none ends", []float64{none, none}, false, 5, math.Inf(1), math.Inf(1)},
		{"held by what it aims at", []float64{60, 100, 100, 100, 100}, true, 95, 100, 102},
		{"not held", []float64{60, 100, 100, 100, 100}, false, 95, 140, 200},
	} {
		s := spreadOf(c.figures, 0.004)
		s.held = c.held
		if got := s.at(c.p); got < c.low || got > c.up {
			t.Errorf("%s: p%d is %.1f, want %.0f to %.0f", c.name, c.p, got, c.low, c.up)
		}
	}
}

// Of several worlds each takes another part of what is likely, and another seed
// deals them otherwise.
func TestBeliefsDivideWhatIsLikely(t *testing.T) {
	const n = 9
	seen := map[float64]bool{}
	same := 0
	for k := range n {
		b := belief{seed: 1, k: k, n: n}
		seen[b.share(ofInput)] = true
		if b.share(ofInput) == b.share(ofPace) {
			same++
		}
	}
	if len(seen) != n || same == n {
		t.Errorf("%d parts of %d worlds, %d alike in another respect", len(seen), n, same)
	}
	if f := (belief{seed: 1, n: 1}).factor(ofInput, 0.5); f != 1 {
		t.Errorf("the only world is off by %.3f", f)
	}
}

// The sizes that a class is rehearsed with have its means and its spread.
func TestLotHasTheMeansOfItsClass(t *testing.T) {
	sc := named(t, "default")
	j := judged(&sc, 1_000, func(j *Job) {
		c := &j.Classes[0]
		c.In, c.InDev, c.Out, c.OutP95, c.MaxTokens = 900, 300, 200, 320, 2_000
	})
	w := j.suppose(belief{seed: 1, n: 1})
	var in, squares, out, over float64
	for i := range w.lots[0].calls {
		c := &w.lots[0].calls[i]
		in += float64(c.Arrival.Est) / sizes
		squares += float64(c.Arrival.Est) * float64(c.Arrival.Est) / sizes
		out += float64(c.Arrival.Out) / sizes
		if c.Arrival.Out > 320 {
			over += 1.0 / sizes
		}
	}
	if dev := math.Sqrt(squares - in*in); math.Abs(in-900) > 5 || math.Abs(dev-300) > 15 || math.Abs(out-200) > 1 || math.Abs(over-0.05) > 0.01 {
		t.Errorf("input %.1f ± %.1f, output %.1f, %.3f of it above its 95th percentile", in, dev, out, over)
	}
}

// Classes come evenly over the rows, in their shares.
func TestClassesAreMixed(t *testing.T) {
	sc := named(t, "default")
	j := judged(&sc, 700, func(j *Job) {
		c := j.Classes[0]
		c.Rows, c.Alone, c.In = 300, 100, 4_000
		j.Classes = append(j.Classes, c)
	})
	w := j.suppose(belief{seed: 1, n: 1})
	long, alone, first := 0, 0, 0
	for i := range 1_000 {
		c := w.call(1, i)
		if c.Sched.In == 4_000 {
			long++
			if i < 500 {
				first++
			}
		}
		if c.Alone {
			alone++
		}
	}
	if long < 298 || long > 302 || alone < 98 || alone > 102 || first < 147 || first > 153 {
		t.Errorf("%d of 300 long ones, %d in the first half; %d of 100 that no batch may carry", long, first, alone)
	}
}
