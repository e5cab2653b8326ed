package judge

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// draws of a population with its true mean, as judges' scores come: on whole
// numbers, bunched at the ends, skewed.
var populations = []struct {
	name string
	mean float64
	draw func(*rand.Rand) float64
}{
	{"bell", 50, func(r *rand.Rand) float64 { return 50 + 15*r.NormFloat64() }},
	{"flat", 49.5, func(r *rand.Rand) float64 { return float64(r.IntN(100)) }},
	{"two ends", 70, func(r *rand.Rand) float64 {
		if r.Float64() < 0.7 {
			return 100
		}
		return 0
	}},
	{"skewed", 10, func(r *rand.Rand) float64 { return 10 * r.ExpFloat64() }},
}

// coverage is the share of runs in which the interval holds the true mean.
func coverage(rows, runs, resamples int, seed uint64, truth float64, draw func(*rand.Rand) float64) float64 {
	rng := rand.New(rand.NewPCG(seed, 17))
	hit := 0
	values := make([]float64, rows)
	for run := range runs {
		for i := range values {
			values[i] = draw(rng)
		}
		e := Bootstrap{Seed: uint64(run), Resamples: resamples}.Mean(values)
		if *e.Low <= truth && truth <= *e.High {
			hit++
		}
	}
	return float64(hit) / float64(runs)
}

// The interval covers the true mean in 93.5 to 96.5 % of 2,000 runs of 200 rows;
// of 20 rows it is printed.
func TestBootstrapCovers(t *testing.T) {
	for i, p := range populations {
		share := coverage(200, 2000, 1000, uint64(i), p.mean, p.draw)
		if share < 0.935 || share > 0.965 {
			t.Errorf("%s: 200 rows: the interval covers the true mean in %.2f %% of runs", p.name, 100*share)
		}
		t.Logf("%-9s covered: 200 rows %.2f %%, 20 rows %.2f %%", p.name, 100*share, 100*coverage(20, 2000, 1000, uint64(i), p.mean, p.draw))
	}
}

// With repeats it is rows that are drawn: drawing verdicts would cover far less,
// since the repeats of a row say nearly the same.
func TestBootstrapDrawsRowsNotVerdicts(t *testing.T) {
	r := testRubric(t, "{form: score, min: -1000, max: 1000}")
	rng := rand.New(rand.NewPCG(3, 3))
	const rows, repeats, runs = 200, 5, 1000
	hit, hitVerdicts := 0, 0
	for run := range runs {
		marks, all := repeated(rng, rows, repeats)
		draw := Bootstrap{Seed: uint64(run), Resamples: 500}
		e := Summarize(marks, SummaryOptions{Judges: []*Rubric{r}, Draw: draw}).Judges[0].Total.Mean
		if e.N != rows {
			t.Fatalf("the mean is over %d values, want %d rows", e.N, rows)
		}
		if *e.Low <= 50 && 50 <= *e.High {
			hit++
		}
		if v := draw.Mean(all); *v.Low <= 50 && 50 <= *v.High {
			hitVerdicts++
		}
	}
	share, wrong := float64(hit)/runs, float64(hitVerdicts)/runs
	if share < 0.935 || share > 0.965 {
		t.Errorf("the interval covers the true mean in %.1f %% of runs", 100*share)
	}
	if wrong > 0.75 {
		t.Errorf("drawing verdicts covers %.1f %%: this test tells nothing", 100*wrong)
	}
	t.Logf("covered: rows drawn %.1f %%, verdicts drawn %.1f %%", 100*share, 100*wrong)
}

// repeated are marks of rows that differ by 20 and whose repeats differ by 3.
func repeated(rng *rand.Rand, rows, repeats int) (marks []Mark, all []float64) {
	for row := range rows {
		centre := 50 + 20*rng.NormFloat64()
		for k := range repeats {
			v := centre + 3*rng.NormFloat64()
			all = append(all, v)
			marks = append(marks, Mark{Row: row, Repeat: k + 1, Reading: Reading{Status: Scored, Score: &v}})
		}
	}
	return marks, all
}

// Over 10,000 rows the interval is computed; it is what drawing gives.
func TestExpansionIsTheBootstrapsLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, p := range populations {
		values := make([]float64, 10_000)
		for i := range values {
			values[i] = p.draw(rng)
		}
		low, high := expansion(values)
		drawnLow, drawnHigh := Bootstrap{Resamples: 20_000}.interval(values)
		se := deviation(values) / 100
		if math.Abs(low-drawnLow) > 0.06*se || math.Abs(high-drawnHigh) > 0.06*se {
			t.Errorf("%s: computed %.4f to %.4f, drawn %.4f to %.4f (standard error %.4f)", p.name, low, high, drawnLow, drawnHigh, se)
		}
	}
	if e := (Bootstrap{}).Mean(make([]float64, expansionFrom+1)); e.Method != "expansion" || *e.Low != 0 || *e.High != 0 {
		t.Errorf("zeros: %+v", e)
	}
}

func TestBootstrapOfFew(t *testing.T) {
	var b Bootstrap
	if e := b.Mean(nil); e != nil {
		t.Errorf("no rows have a mean: %+v", e)
	}
	if e := b.Mean([]float64{7}); e.Value != 7 || e.Low != nil || e.High != nil || e.N != 1 {
		t.Errorf("one row: %+v", e)
	}
	if e := b.Mean([]float64{7, 7, 7}); *e.Low != 7 || *e.High != 7 {
		t.Errorf("three equal rows: %v to %v", *e.Low, *e.High)
	}
}

// Whatever the values: the same seed gives the same interval, it lies within the
// values and about the mean, and it moves and stretches with them.
func TestBootstrapInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 100), 2, 60).Draw(t, "values")
		b := Bootstrap{Seed: rapid.Uint64().Draw(t, "seed"), Resamples: 200}
		e, again := b.Mean(values), b.Mean(values)
		if *e.Low != *again.Low || *e.High != *again.High {
			t.Fatalf("one seed, two intervals")
		}
		q := quantilesOf(values)
		const tiny = 1e-9
		if *e.Low < q.Min-tiny || *e.High > q.Max+tiny || *e.Low > *e.High {
			t.Fatalf("%v to %v of values from %v to %v", *e.Low, *e.High, q.Min, q.Max)
		}
		moved := make([]float64, len(values))
		for i, v := range values {
			moved[i] = 1000 + 2*v
		}
		m := b.Mean(moved)
		if math.Abs(*m.Low-1000-2**e.Low) > 1 || math.Abs(*m.High-1000-2**e.High) > 1 {
			t.Fatalf("moved: %v to %v, want %v to %v", *m.Low, *m.High, 1000+2**e.Low, 1000+2**e.High)
		}
	})
}

// Student's t for 2.5 % a side, from any table, times sqrt(n/(n-1)).
func TestWide(t *testing.T) {
	for _, c := range []struct {
		n int
		t float64
	}{{6, 2.5706}, {11, 2.2281}, {20, 2.0930}, {31, 2.0423}, {121, 1.9799}, {1_000_001, 1.95997}} {
		want := c.t * math.Sqrt(float64(c.n)/float64(c.n-1))
		if got := wide(c.n); math.Abs(got-want) > 0.002*want {
			t.Errorf("%d rows: %.4f, want %.4f", c.n, got, want)
		}
	}
}

func BenchmarkBootstrap(b *testing.B) {
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = float64(i % 101)
	}
	for b.Loop() {
		Bootstrap{}.Mean(values)
	}
}
