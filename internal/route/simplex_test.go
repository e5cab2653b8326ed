package route

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSimplex(t *testing.T) {
	for _, c := range []struct {
		name string
		p    program
		want float64
		ok   bool
	}{
		{"one exact row", program{[]float64{3, 2}, [][]float64{{1, 1}}, []float64{1}, []bool{true}}, 2, true},
		{"a bound on the cheap one", program{[]float64{3, 2}, [][]float64{{1, 1}, {0, 1}}, []float64{1, 0.25}, []bool{true, false}}, 2.75, true},
		{"nothing fits", program{[]float64{3, 2}, [][]float64{{1, 1}, {1, 1}}, []float64{1, 0.5}, []bool{true, false}}, 0, false},
		{"a row said twice", program{[]float64{3, 2}, [][]float64{{1, 1}, {1, 1}}, []float64{1, 1}, []bool{true, true}}, 2, true},
		{"a supply of nothing", program{[]float64{1, 5}, [][]float64{{1, 1}, {1, 0}}, []float64{1, 0}, []bool{true, false}}, 5, true},
		{"most of what fits", program{[]float64{-1, -1}, [][]float64{{1, 2}, {3, 1}}, []float64{4, 6}, []bool{false, false}}, -2.8, true},
		{"without end", program{[]float64{-1}, [][]float64{{-1}}, []float64{1}, []bool{false}}, 0, false},
		{"no rows", program{[]float64{1}, nil, nil, nil}, 0, true},
		// Beale's program, on which the largest-fall rule goes round for ever.
		{
			"Beale",
			program{
				[]float64{-0.75, 150, -0.02, 6},
				[][]float64{{0.25, -60, -0.04, 9}, {0.5, -90, -0.02, 3}, {0, 0, 1, 0}},
				[]float64{0, 0, 1},
				[]bool{false, false, false},
			},
			-0.05, true,
		},
	} {
		x, ok := c.p.solve()
		if ok != c.ok || ok && math.Abs(dot(c.p.cost, x)-c.want) > 1e-9 {
			t.Errorf("%s: %v costs %v, %t; want %v, %t", c.name, x, dot(c.p.cost, x), ok, c.want, c.ok)
		}
	}
}

// The method finds what trying every vertex finds, in programs full of
// degeneracies: small whole numbers, equal rows, supplies of nothing.
func TestSimplexAgainstEveryVertex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 4).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "m")
		whole := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 3).Draw(t, "v")) })
		p := program{}
		for range n {
			p.cost = append(p.cost, whole.Draw(t, "cost"))
		}
		for range m {
			row := make([]float64, n)
			for j := range row {
				row[j] = whole.Draw(t, "a")
			}
			p.rows, p.bound, p.exact = append(p.rows, row), append(p.bound, whole.Draw(t, "b")), append(p.exact, rapid.Bool().Draw(t, "exact"))
		}
		x, ok := p.solve()
		want, has := p.vertices()
		if ok != has {
			t.Fatalf("%+v: %v, %t; by every vertex %v, %t", p, x, ok, want, has)
		}
		if ok && (!p.holds(x) || math.Abs(dot(p.cost, x)-want) > 1e-7) {
			t.Fatalf("%+v: %v costs %v, by every vertex %v", p, x, dot(p.cost, x), want)
		}
	})
}

// vertices is the least cost over all vertices of a program whose costs are not
// negative: points where as many rows and axes as there are variables hold
// exactly.
func (p *program) vertices() (least float64, ok bool) {
	n := len(p.cost)
	planes := make([][]float64, 0, n+len(p.rows)) // coefficients, then the bound
	for j := range n {
		axis := make([]float64, n+1)
		axis[j] = 1
		planes = append(planes, axis)
	}
	for i, r := range p.rows {
		planes = append(planes, append(append([]float64{}, r...), p.bound[i]))
	}
	least = math.Inf(1)
	for set := range 1 << len(planes) {
		var of [][]float64
		for i, plane := range planes {
			if set>>i&1 == 1 {
				of = append(of, append([]float64{}, plane...))
			}
		}
		if len(of) != n {
			continue
		}
		if x, meets := meet(of); meets && p.holds(x) {
			least, ok = min(least, dot(p.cost, x)), true
		}
	}
	return least, ok
}

func (p *program) holds(x []float64) bool {
	for _, v := range x {
		if v < -1e-7 {
			return false
		}
	}
	for i, r := range p.rows {
		sum := dot(r, x)
		if sum > p.bound[i]+1e-7 || p.exact[i] && sum < p.bound[i]-1e-7 {
			return false
		}
	}
	return true
}

// meet is the point where planes meet, by elimination; false where it is not one.
func meet(planes [][]float64) ([]float64, bool) {
	n := len(planes)
	for c := range n {
		best := c
		for r := c; r < n; r++ {
			if math.Abs(planes[r][c]) > math.Abs(planes[best][c]) {
				best = r
			}
		}
		planes[c], planes[best] = planes[best], planes[c]
		if math.Abs(planes[c][c]) < 1e-9 {
			return nil, false
		}
		for r := range n {
			if r == c {
				continue
			}
			f := planes[r][c] / planes[c][c]
			for j := range planes[r] {
				planes[r][j] -= f * planes[c][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = planes[i][n] / planes[i][i]
	}
	return x, true
}

func dot(a, b []float64) (sum float64) {
	for i := range b {
		sum += a[i] * b[i]
	}
	return sum
}
