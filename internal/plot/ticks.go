package plot

import (
	"math"
	"strconv"
)

// tick is a marked value; without text it is a fine line of a logarithmic axis.
type tick struct {
	at   float64
	text string
}

// ticks marks the axis as finely as fits says the marks may stand.
func (a *Axis) ticks(s scale, fits func([]tick) bool) []tick {
	if len(a.Names) > 0 {
		out := make([]tick, len(a.Names))
		for i, name := range a.Names {
			out[i] = tick{float64(i), name}
		}
		return out
	}
	var out []tick
	for _, values := range a.candidates(s) {
		out = a.written(s, values)
		if fits(out) {
			break
		}
	}
	if s.log && a.Unit != Seconds {
		out = append(out, between(s, out)...)
	}
	return out
}

// candidates are sets of values, the finest first.
func (a *Axis) candidates(s scale) [][]float64 {
	if !s.log {
		return linearTicks(s, a.Unit)
	}
	if a.Unit == Seconds {
		return [][]float64{
			{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 4 * 3600, 8 * 3600, 12 * 3600, 24 * 3600, 48 * 3600, 7 * 86400},
			{.001, .005, .01, .05, .1, .5, 1, 3, 10, 30, 60, 180, 600, 1800, 3600, 3 * 3600, 8 * 3600, 24 * 3600, 72 * 3600, 7 * 86400},
			{.001, .01, .1, 1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 7 * 86400},
			{.001, .1, 1, 60, 3600, 24 * 3600, 7 * 86400},
		}
	}
	return [][]float64{
		decades(s, 1, 1, 1.5, 2, 3, 4, 5, 7), decades(s, 1, 1, 2, 3, 5), decades(s, 1, 1, 2, 5), decades(s, 1, 1, 3),
		decades(s, 1, 1), decades(s, 2, 1), decades(s, 3, 1),
	}
}

// decades are the given multiples of every n-th power of ten in reach.
func decades(s scale, every int, multiples ...float64) []float64 {
	var out []float64
	for e := int(math.Floor(math.Log10(s.lo))); e <= int(math.Ceil(math.Log10(s.hi))); e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range multiples {
			out = append(out, scaled(m, e))
		}
	}
	return out
}

// scaled is m × 10^e, exact where a float can be.
func scaled(m float64, e int) float64 {
	if e < 0 {
		return m / math.Pow(10, float64(-e))
	}
	return m * math.Pow(10, float64(e))
}

// linearTicks are round steps. Time is counted in its own.
func linearTicks(s scale, unit Unit) [][]float64 {
	var out [][]float64
	last := 0.0
	for n := 10; n >= 2; n-- {
		step := roundStep((s.hi-s.lo)/float64(n), unit)
		if step == last {
			continue
		}
		last = step
		var values []float64
		for i := math.Ceil(s.lo/step - 1e-9); i*step <= s.hi+step*1e-9 && len(values) < 20; i++ {
			values = append(values, i*step)
		}
		out = append(out, values)
	}
	return out
}

// roundStep is the next round step from a rough one upwards.
func roundStep(rough float64, unit Unit) float64 {
	if unit == Seconds && rough > 10 {
		for _, step := range [...]float64{15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600} {
			if step >= rough {
				return step
			}
		}
		return math.Ceil(rough/86400) * 86400
	}
	e := int(math.Floor(math.Log10(rough)))
	for _, m := range [...]float64{1, 2, 2.5, 5, 10} {
		if step := scaled(m, e); step >= rough*(1-1e-9) {
			return step
		}
	}
	return scaled(10, e)
}

// written keeps what is in reach and writes it, with as many digits as tell the
// values apart and say them as they are: of 100, 100.25 and 100.5, at 4 digits,
// the steps would look uneven.
func (a *Axis) written(s scale, values []float64) []tick {
	var out []tick
	for n := usualDigits; n <= 15; n++ {
		out = out[:0]
		unclear := false
		for _, v := range values {
			if !s.holds(v) {
				continue
			}
			text := a.Unit.write(v, n)
			unclear = unclear || len(out) > 0 && out[len(out)-1].text == text || a.Unit != Seconds && !s.log && rounded(v, n) != rounded(v, 12)
			out = append(out, tick{v, text})
		}
		if !unclear {
			break
		}
	}
	return out
}

// rounded is a value to n significant digits.
func rounded(v float64, n int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// between are fine lines at the multiples of each power of ten that no tick
// stands at.
func between(s scale, ticks []tick) []tick {
	if math.Log10(s.hi/s.lo) > 6 {
		return nil
	}
	var out []tick
	for _, v := range decades(s, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9) {
		taken := false
		for _, t := range ticks {
			taken = taken || math.Abs(t.at/v-1) < 1e-9
		}
		if !taken && s.holds(v) {
			out = append(out, tick{at: v})
		}
	}
	return out
}
