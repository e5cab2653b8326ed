package lab

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// Tables of Student's t as every textbook has them.
func TestTQuantile(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.7062},
		{0.975, 2, 4.30265},
		{0.975, 5, 2.57058},
		{0.975, 10, 2.22814},
		{0.975, 30, 2.04227},
		{0.975, 120, 1.97993},
		{0.975, 1e6, 1.95997},
		{0.95, 5, 2.01505},
		{0.025, 10, -2.22814},
		{0.5, 7, 0},
		{0.9995, 4, 8.61030},
	} {
		if got := tQuantile(c.p, c.df); !near(got, c.want, 2e-5*max(1, math.Abs(c.want))) {
			t.Errorf("t(%g; %g) is %.5f, want %.5f", c.p, c.df, got, c.want)
		}
	}
}

// A line with noise lies within its interval about 19 times in 20.
func TestOLSCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 2000
	hit := 0
	for range runs {
		xs, ys := make([]float64, 12), make([]float64, 12)
		for i := range xs {
			xs[i] = float64(i) + rng.Float64()
			ys[i] = 7 - 3*xs[i] + 2*rng.NormFloat64()
		}
		if iv := ols(xs, ys).interval(); iv.low <= -3 && -3 <= iv.high {
			hit++
		}
	}
	if share := float64(hit) / runs; share < 0.935 || share > 0.965 {
		t.Errorf("the interval covers the truth in %.3f of runs", share)
	}
}

func TestOLSOfALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-1e6, 1e6).Draw(t, "intercept"), rapid.Float64Range(-1e4, 1e4).Draw(t, "slope")
		xs := rapid.SliceOfNDistinct(rapid.IntRange(-1000, 1000), 3, 40, rapid.ID[int]).Draw(t, "x")
		fx, fy := make([]float64, len(xs)), make([]float64, len(xs))
		for i, x := range xs {
			fx[i], fy[i] = float64(x), a+b*float64(x)
		}
		r := ols(fx, fy)
		if tol := 1e-6 * (1 + math.Abs(a) + 1000*math.Abs(b)); !near(r.slope, b, tol) || !near(r.intercept, a, tol) {
			t.Fatalf("%g + %g x, want %g + %g x", r.intercept, r.slope, a, b)
		}
	})
}

func TestIntervalsOfTooFew(t *testing.T) {
	if iv := ols([]float64{1, 2}, []float64{1, 2}).interval(); iv.known() {
		t.Errorf("two points have an interval: %+v", iv)
	}
	if b := batchMeans([]float64{3}); b.known() {
		t.Errorf("one value has an interval: %+v", b)
	}
	if b := batchMeans(nil); b.known() {
		t.Errorf("nothing has an interval: %+v", b)
	}
}

// Values that hang together are put into batches that do not.
func TestBatchMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const runs = 500
	hit, firm := 0, 0
	for range runs {
		values, x := make([]float64, 1200), 0.0
		for i := range values {
			x = 0.8*x + rng.NormFloat64()
			values[i] = 50 + x
		}
		b := batchMeans(values)
		if b.low <= 50 && 50 <= b.high {
			hit++
		}
		if b.firm() {
			firm++
		}
	}
	if share := float64(hit) / runs; share < 0.87 {
		t.Errorf("the interval covers the truth in %.3f of runs", share)
	}
	if firm < runs*8/10 {
		t.Errorf("only %d of %d keep the rules", firm, runs)
	}
	if b := batchMeans([]float64{4, 4, 4, 4, 4, 4, 4}); !near(b.value, 4, 1e-12) || !near(b.high, b.low, 1e-12) {
		t.Errorf("a constant row: %+v", b)
	}
}

func TestMSER5CutsTheWarmUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct{ warm, low, high int }{{0, 0, 15}, {30, 25, 45}, {60, 50, 75}} {
		sum := 0
		for range 50 {
			values := make([]float64, 200)
			for i := range values {
				values[i] = 100 + rng.NormFloat64()
				if i < c.warm {
					values[i] -= 40
				}
			}
			sum += mser5(values)
		}
		if mean := sum / 50; mean < c.low || mean > c.high {
			t.Errorf("a warm-up of %d values: %d are cut", c.warm, mean)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 0, 100).Draw(t, "values")
		if cut := mser5(values); cut < 0 || cut > len(values)/2+5 || cut%5 != 0 {
			t.Fatalf("%d of %d are cut", cut, len(values))
		}
	})
}

func TestHinge(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const slope, top = 36.0, 1000.0
	in := 0
	const runs = 200
	for range runs {
		var points []rate
		for _, c := range []float64{7, 7, 14, 14, 21, 21, 100} {
			x := min(slope*c, top)
			points = append(points, rate{c, x * (1 + 0.02*rng.NormFloat64()), 0.02 * x})
		}
		h := fitHinge(points, 1)
		if !h.bent || math.Abs(h.knee.value/(top/slope)-1) > 0.12 {
			t.Fatalf("%+v, want a knee at %.1f", h, top/slope)
		}
		if h.knee.low <= top/slope && top/slope <= h.knee.high {
			in++
		}
	}
	if share := float64(in) / runs; share < 0.9 {
		t.Errorf("the interval of the knee covers the truth in %.2f of runs", share)
	}
}

// Where nothing bends there is no knee.
func TestHingeOfALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slope := rapid.Float64Range(0.1, 1000).Draw(t, "slope")
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 1))
		var points []rate
		for _, c := range []float64{25, 50, 75, 100} {
			points = append(points, rate{c, slope * c * (1 + 0.004*rng.NormFloat64()), 0.01 * slope * c})
		}
		if h := fitHinge(points, seed); h.bent || math.Abs(h.top.value/(100*slope)-1) > 0.03 {
			t.Fatalf("%+v of a line of slope %g", h, slope)
		}
	})
}

func TestChangeIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	found, early, false0 := 0, 0, 0
	const runs = 400
	for range runs {
		values := make([]float64, 60)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		if changeAt(values) >= 0 {
			false0++
		}
		for i := 40; i < len(values); i++ {
			values[i] += 2
		}
		if at := changeAt(values); at >= 34 && at <= 44 {
			found++
		} else if at >= 0 {
			early++
		}
	}
	if found < runs*17/20 || early > runs/5 || false0 > runs/16 {
		t.Errorf("of %d changes %d were found, %d too early; %d where there was none", runs, found, early, false0)
	}
	steady := make([]float64, 60)
	for i := range steady {
		steady[i] = float64(i % 4)
	}
	if steady[35] = 100; changeAt(steady) >= 0 {
		t.Error("one straggler is taken for a change")
	}
	if at := changeAt([]float64{1, 2, 3}); at != -1 {
		t.Errorf("three values changed at %d", at)
	}
}

// The bound of the rule of three: what occurs with that share is missed by n
// calls once in twenty.
func TestNoneOf(t *testing.T) {
	for _, n := range []int{30, 300, 3000} {
		if missed := math.Pow(1-noneOf(n), float64(n)); missed < 0.03 || missed > 0.05 {
			t.Errorf("%d calls miss it with %.3f", n, missed)
		}
	}
	if noneOf(0) != 1 || noneOf(3000) != 0.001 {
		t.Error("none of 0 and of 3000")
	}
}
