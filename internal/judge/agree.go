package judge

import "math"

// Confusion counts pairs of labels: Counts[i][j] are those with Labels[i] on the
// one side (the row's own label, or the first judge) and Labels[j] on the other
// (the verdict, or the second judge).
type Confusion struct {
	Labels []string `json:"labels"`
	Counts [][]int  `json:"counts"`
}

func newConfusion(labels []string) *Confusion {
	c := &Confusion{Labels: labels, Counts: make([][]int, len(labels))}
	for i := range c.Counts {
		c.Counts[i] = make([]int, len(labels))
	}
	return c
}

// N is how many pairs are counted.
func (c *Confusion) N() (n int) {
	for _, row := range c.Counts {
		for _, k := range row {
			n += k
		}
	}
	return n
}

// Equal is how many pairs agree.
func (c *Confusion) Equal() (n int) {
	for i := range c.Counts {
		n += c.Counts[i][i]
	}
	return n
}

// margins are the sums of rows and of columns.
func (c *Confusion) margins() (rows, columns []int) {
	rows, columns = make([]int, len(c.Labels)), make([]int, len(c.Labels))
	for i, row := range c.Counts {
		for j, k := range row {
			rows[i] += k
			columns[j] += k
		}
	}
	return rows, columns
}

// Kappa is agreement beyond chance (Cohen 1960): 1 all, 0 as much as chance
// gives. Nil where nothing is counted, or where chance alone agrees wholly since
// both sides have but one label.
func (c *Confusion) Kappa() *float64 {
	return c.kappa(func(i, j int) float64 {
		if i == j {
			return 0
		}
		return 1
	})
}

// WeightedKappa weighs a disagreement by the square of the distance between the
// values of its labels (Cohen 1968): for labels that are numbers, in order.
func (c *Confusion) WeightedKappa(values []float64) *float64 {
	return c.kappa(func(i, j int) float64 { return (values[i] - values[j]) * (values[i] - values[j]) })
}

// kappa is 1 less the weight of disagreement over that which chance gives.
func (c *Confusion) kappa(weight func(i, j int) float64) *float64 {
	n := float64(c.N())
	rows, columns := c.margins()
	seen, chance := 0.0, 0.0
	for i := range c.Counts {
		for j, k := range c.Counts[i] {
			seen += weight(i, j) * float64(k)
			chance += weight(i, j) * float64(rows[i]) * float64(columns[j])
		}
	}
	if chance == 0 { // n is 0, or one label is all there is
		return nil
	}
	k := 1 - seen*n/chance
	if math.IsNaN(k) || math.IsInf(k, 0) {
		return nil
	}
	return &k
}
