package lab

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// readings makes what a bucket shows: remaining cut to steps, reset to seconds.
func readings(rt *rapid.T, rate, holds, step float64) []moment {
	n := rapid.IntRange(40, 120).Draw(rt, "n")
	start := rapid.Float64Range(0.3, 0.8).Draw(rt, "start") * holds
	offset := rapid.Float64Range(-30, 30).Draw(rt, "clock off by")
	var out []moment
	for i := range n {
		t := float64(i)*0.1 + rapid.Float64Range(0, 0.09).Draw(rt, "t")
		level := min(holds-step, start+rate*t)
		if level == holds-step {
			break
		}
		shown := math.Floor(level/step) * step
		full := math.Floor(t+(holds-level)/rate+offset) - t
		out = append(out, moment{t: t, sum: shown, level: shown + step/2, full: full})
	}
	return out
}

func TestFitsFindTheRefill(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.Float64Range(20, 2e5).Draw(rt, "rate")
		holds := 60 * rate
		step := 1.0
		if rate > 2000 {
			step = 1000
		}
		g := readings(rt, rate, holds, step)
		if len(g) < 30 || g[len(g)-1].sum-g[0].sum < 20*step {
			return
		}
		band, ok := byBand([][]moment{g}, step)
		if !ok || band.low > rate*(1+1e-9) || band.high < rate*(1-1e-9) {
			rt.Errorf("band %+v (%v), true %g", band, ok, rate)
		}
		ols := slope([][]moment{g})
		if math.Abs(ols.value/rate-1) > 0.1 || ols.low > ols.value || ols.high < ols.value {
			rt.Errorf("slope %+v, true %g", ols, rate)
		}
		reset := byReset(g, step/rate+0.01)
		if reset.low > rate || reset.high < rate {
			rt.Errorf("reset %+v, true %g", reset, rate)
		}
	})
}

// Whoever else uses the bucket is in the slope and not in the resets.
func TestResetsDoNotSeeOthers(t *testing.T) {
	const rate, others, holds = 33_333.0, 13_333.0, 2e6
	var g []moment
	for i := range 150 {
		at := float64(i) * 0.13
		level := 1.4e6 + (rate-others)*at
		g = append(g, moment{t: at, sum: level, level: math.Round(level/1000) * 1000, full: math.Floor(at+(holds-level)/rate) - at})
	}
	if got := slope([][]moment{g}); math.Abs(got.value-(rate-others)) > 1 {
		t.Errorf("slope %+v", got)
	}
	if got := byReset(g, 0.05); math.Abs(got.value/rate-1) > 0.01 || got.low > rate || got.high < rate {
		t.Errorf("reset %+v", got)
	}
	if _, ok := byBand([][]moment{{{t: 0}, {t: 1, sum: 90}, {t: 2, sum: 80}, {t: 3, sum: 10}, {t: 4}, {t: 5}, {t: 6}, {t: 7, sum: 3}, {t: 8}, {t: 9}, {t: 10}}}, 1); ok {
		t.Error("a line through what is no line")
	}
}

// Readings that drift within their noise do not make a sure number.
func TestRestlessIsWider(t *testing.T) {
	var g []moment
	for i := range 100 {
		at := float64(i) * 0.1
		g = append(g, moment{t: at, sum: 19.9*at + float64(i%2*2-1)})
	}
	sure := slope([][]moment{g})
	wide := restless(sure, [][]moment{g})
	if sure.high >= 20 || wide.high < 20 || wide.low >= sure.low || wide.value != sure.value {
		t.Errorf("sure %+v, restless %+v", sure, wide)
	}
}

func TestTFor(t *testing.T) {
	for df, want := range map[float64]float64{4: 2.776, 10: 2.228, 30: 2.042, 100: 1.984} {
		if got := tFor(df); math.Abs(got/want-1) > 0.02 {
			t.Errorf("%g degrees: %g, want %g", df, got, want)
		}
	}
}

func TestQuantileInterval(t *testing.T) {
	var v []float64
	for i := range 100 {
		v = append(v, float64(i+1))
	}
	m := medianOf(Metric{}, v)
	if m.Value != 50 || m.Low < 40 || m.Low > 42 || m.High < 60 || m.High > 62 || m.N != 100 {
		t.Errorf("%+v", m)
	}
	if empty := medianOf(Metric{}, nil); !empty.Provisional {
		t.Errorf("%+v", empty)
	}
}
