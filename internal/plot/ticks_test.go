package plot

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func always([]tick) bool { return true }

// Whatever the range: marks lie in it, ascend, and no two read the same.
func TestTicksAnyRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Axis{Log: rapid.Bool().Draw(t, "log"), Unit: rapid.SampledFrom([]Unit{Plain, Seconds, Dollars, Percent}).Draw(t, "unit")}
		lo := rapid.Float64Range(1e-4, 1e6).Draw(t, "lo")
		hi := lo * (1 + math.Pow(10, rapid.Float64Range(-3, 4).Draw(t, "wider")))
		s := a.scale(span{lo, hi}, false)
		s.from, s.to = 0, 800
		ticks := a.ticks(s, always)
		texts, last := 0, math.Inf(-1)
		seen := map[string]bool{}
		for _, k := range ticks {
			if !s.holds(k.at) {
				t.Fatalf("mark at %g outside %g to %g", k.at, s.lo, s.hi)
			}
			if k.text == "" {
				continue
			}
			if k.at <= last || seen[k.text] {
				t.Fatalf("marks repeat or fall: %v", ticks)
			}
			texts, last = texts+1, k.at
			seen[k.text] = true
		}
		if texts < 2 && !(a.Unit == Seconds && a.Log) {
			t.Fatalf("%d marks from %g to %g", texts, s.lo, s.hi)
		}
	})
}

func TestTicksThinOut(t *testing.T) {
	a := Axis{Log: true}
	s := scale{span: span{10, 1e6}, log: true, to: 300}
	wide := a.ticks(s, always)
	narrow := a.ticks(s, func(k []tick) bool { return apart(k, &s, halfWidth, 16) })
	count := func(k []tick) (n int) {
		for _, v := range k {
			if v.text != "" {
				n++
			}
		}
		return n
	}
	if count(narrow) != 6 || count(wide) <= count(narrow) {
		t.Errorf("%d marks on 300 pixels, %d without bounds; want the 6 powers of ten and more", count(narrow), count(wide))
	}
	if len(narrow) == count(narrow) {
		t.Error("no fine lines between powers of ten")
	}
}

func TestScales(t *testing.T) {
	for _, c := range []struct {
		name   string
		axis   Axis
		seen   span
		zero   bool
		lo, hi float64
	}{
		{"from near zero", Axis{}, span{100, 1000}, false, 0, 1060},
		{"far from zero", Axis{}, span{900, 1000}, false, 894, 1006},
		{"a bar stands on zero", Axis{}, span{900, 1000}, true, 0, 1060},
		{"both sides of zero", Axis{}, span{-10, 10}, false, -11.2, 11.2},
		{"given", Axis{Min: 5, Max: 7}, span{1, 2}, false, 5, 7},
		{"one value", Axis{}, span{50, 50}, false, 45, 55},
		{"names", Axis{Names: []string{"a", "b"}}, span{0, 1}, false, -.5, 1.5},
		{"nothing", Axis{}, nothing(), false, 1, 10},
	} {
		s := c.axis.scale(c.seen, c.zero)
		if math.Abs(s.lo-c.lo) > 1e-9 || math.Abs(s.hi-c.hi) > 1e-9 {
			t.Errorf("%s: from %g to %g, want %g to %g", c.name, s.lo, s.hi, c.lo, c.hi)
		}
	}
	s := (&Axis{Log: true}).scale(span{5, 5}, false)
	if !(s.lo > 1 && s.lo < 5 && s.hi > 5 && s.hi < 25) {
		t.Errorf("one value on a logarithm: from %g to %g", s.lo, s.hi)
	}
}

// Marks say what they stand at: 100.25 % does not read 100.2 %.
func TestTicksAreTrue(t *testing.T) {
	a := Axis{Unit: Percent}
	s := a.scale(span{.9875, 1.0125}, false)
	s.from, s.to = 0, 800
	var texts []string
	for _, k := range a.written(s, []float64{.9975, 1, 1.0025, 1.005}) {
		texts = append(texts, k.text)
	}
	if got, want := strings.Join(texts, ", "), "99.75 %, 100 %, 100.25 %, 100.5 %"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
