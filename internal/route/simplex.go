package route

import "math"

// program is a linear program in few variables: the least cost·x over x ≥ 0
// with each row's sum of coefficients at most, or exactly, its bound. Bounds are
// not negative, as supplies and shares are.
type program struct {
	cost  []float64
	rows  [][]float64
	bound []float64
	exact []bool
}

// tiny is what counts as nothing in a program whose figures are near 1: task.go
// scales shares and supplies to that.
const tiny = 1e-9

// tableau is a program in the form that the simplex method works on. The last
// column is the bound, the last two rows are the costs: the program's own, and
// the sum of artificial variables while a first solution is sought.
type tableau struct {
	a     [][]float64
	basis []int // variable of each row
	free  int   // variables before the artificial ones
}

// solve finds the cheapest x; ok is false where there is none. Two phases and a
// dense tableau: the programs here have tens of rows, and most are degenerate
// (lanes that are alike, rows of nothing), so pivots follow Bland's rule, which
// cannot cycle.
func (p *program) solve() (x []float64, ok bool) {
	t := p.tableau()
	if !t.run(len(t.a)-1, t.width()) || t.a[len(t.a)-1][t.width()] < -1e-7 {
		return nil, false
	}
	t.settle()
	if !t.run(len(t.a)-2, t.free) {
		return nil, false
	}
	x = make([]float64, len(p.cost))
	for i, v := range t.basis {
		if v < len(x) {
			x[v] = max(0, t.a[i][t.width()])
		}
	}
	return x, true
}

// tableau adds a slack variable to each row and an artificial one to each exact
// row, and prices the latter.
func (p *program) tableau() *tableau {
	n, m := len(p.cost), len(p.rows)
	slack, artificial := n, n
	for _, e := range p.exact {
		if !e {
			artificial++
		}
	}
	width := artificial
	for _, e := range p.exact {
		if e {
			width++
		}
	}
	t := &tableau{basis: make([]int, m), free: artificial}
	cells := make([]float64, (m+2)*(width+1))
	for i := range m + 2 {
		t.a = append(t.a, cells[i*(width+1):(i+1)*(width+1)])
	}
	copy(t.a[m], p.cost)
	for i, row := range p.rows {
		copy(t.a[i], row)
		t.a[i][width] = p.bound[i]
		v := &slack
		if p.exact[i] {
			v = &artificial
		}
		t.a[i][*v], t.basis[i] = 1, *v
		*v++
		if p.exact[i] {
			t.price(i)
		}
	}
	return t
}

// price takes an artificial row out of the cost of the first phase.
func (t *tableau) price(row int) {
	sum := t.a[len(t.a)-1]
	for j, v := range t.a[row] {
		if j < t.free || j == t.width() {
			sum[j] -= v
		}
	}
}

func (t *tableau) width() int { return len(t.a[0]) - 1 }

// run pivots until no variable below limit lowers the cost row's sum; false
// where that falls without end.
func (t *tableau) run(cost, limit int) bool {
	for {
		enter := t.entering(cost, limit)
		if enter < 0 {
			return true
		}
		leave := t.leaving(enter)
		if leave < 0 {
			return false
		}
		t.pivot(leave, enter)
	}
}

// entering is the first variable that lowers the cost (Bland's rule).
func (t *tableau) entering(cost, limit int) int {
	for j := range limit {
		if t.a[cost][j] < -tiny {
			return j
		}
	}
	return -1
}

// leaving is the row that bounds the entering variable; of equal ones that of
// the first variable.
func (t *tableau) leaving(enter int) int {
	row, least := -1, math.Inf(1)
	for i, v := range t.basis {
		c := t.a[i][enter]
		if c <= tiny {
			continue
		}
		ratio := t.a[i][t.width()] / c
		if row < 0 || ratio < least-1e-12 || ratio <= least+1e-12 && v < t.basis[row] {
			row, least = i, min(least, ratio)
		}
	}
	return row
}

func (t *tableau) pivot(row, col int) {
	by := t.a[row][col]
	for j := range t.a[row] {
		t.a[row][j] /= by
	}
	for i := range t.a {
		f := t.a[i][col]
		if i == row || f == 0 {
			continue
		}
		for j, v := range t.a[row] {
			t.a[i][j] -= f * v
		}
		t.a[i][col] = 0
	}
	t.basis[row] = col
}

// settle takes artificial variables that are still in the basis, at nothing, out
// of it. A row in which no other variable stands says nothing: it stays.
func (t *tableau) settle() {
	for i, v := range t.basis {
		if v < t.free {
			continue
		}
		for j := range t.free {
			if math.Abs(t.a[i][j]) > 1e-7 {
				t.pivot(i, j)
				break
			}
		}
	}
}
