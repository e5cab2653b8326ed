package route

import "math"

// Variables are shares of a class: of class c on org k by tier, sync being 0.
func (t *Task) variable(c, k, tier int) int { return (c*len(t.Orgs)+k)*2 + tier }

func (t *Task) place(v int) (class, org, tier int) {
	return v / 2 / len(t.Orgs), v / 2 % len(t.Orgs), v % 2
}

// program is the least cost of a time, all of it in shares: of a class, of a
// supply, of the dearest the job could cost. With all, every row is carried.
func (t *Task) program(s float64, all bool) *program {
	p := &program{cost: make([]float64, 2*len(t.Classes)*len(t.Orgs))}
	worth := t.worth()
	for v := range p.cost {
		c, k, tier := t.place(v)
		p.cost[v] = t.Classes[c].price(tier) * t.Classes[c].Rows / worth
		if !t.open(c, k, tier, s) {
			p.forbid(v)
		}
	}
	for c := range t.Classes {
		if t.Classes[c].Rows <= 0 {
			continue
		}
		row := make([]float64, len(p.cost))
		for k := range t.Orgs {
			row[t.variable(c, k, 0)], row[t.variable(c, k, 1)] = 1, 1
		}
		p.rows, p.bound, p.exact = append(p.rows, row), append(p.bound, 1), append(p.exact, all)
	}
	for k := range t.Orgs {
		t.lanes(p, k, s)
		t.slots(p, k, s)
		t.batches(p, k, s)
	}
	return p
}

func (p *program) forbid(v int) {
	row := make([]float64, len(p.cost))
	row[v] = 1
	p.atMost(row, 0)
}

func (p *program) atMost(row []float64, bound float64) {
	p.rows, p.bound, p.exact = append(p.rows, row), append(p.bound, bound), append(p.exact, false)
}

// open reports whether a class may go an org's way and end by s at all.
func (t *Task) open(c, k, tier int, s float64) bool {
	class, site := &t.Classes[c], &t.Orgs[k]
	if tier == 1 {
		return !class.Alone && site.Batch.Rate() > 0
	}
	return class.Pool < len(site.Lanes) && site.Lanes[class.Pool].Cap > 0 && class.Longest.Seconds() <= s
}

// lanes adds what each bucket of an org gives by s. Calls are admitted no later
// than their shortest latency before the end.
func (t *Task) lanes(p *program, k int, s float64) {
	site := &t.Orgs[k]
	soft := (&Problem{Soft: t.Soft}).soft()
	for pool := range site.Lanes {
		lane := &site.Lanes[pool]
		for d := range NumDims {
			if lane.Cap <= 0 || lane.PerMinute[d] <= 0 {
				continue
			}
			at := s
			if d != Output {
				at = max(0, s-t.shortest(pool))
			}
			t.supply(p, lane.given(d, soft, at), func(c *Class) float64 { return c.need(d) }, func(c *Class) bool { return c.Pool == pool }, k, 0)
		}
	}
}

// slots adds the time that an org's windows are open for.
func (t *Task) slots(p *program, k int, s float64) {
	site := &t.Orgs[k]
	for pool := range site.Lanes {
		lead, widest := pool, 0 // the first pool of the group, and the cap it has
		for q := range site.Lanes {
			if site.group(q) == site.group(pool) {
				lead, widest = min(lead, q), max(widest, site.Lanes[q].Cap)
			}
		}
		if lead != pool || widest <= 0 {
			continue
		}
		t.supply(p, float64(widest)*opened(t.Ramp, s), func(c *Class) float64 { return c.Latency.Seconds() },
			func(c *Class) bool { return c.Pool < len(site.Lanes) && site.group(c.Pool) == site.group(pool) }, k, 0)
	}
}

// batches adds what an org's batches have answered in time for a rescue.
func (t *Task) batches(p *program, k int, s float64) {
	rows := t.Orgs[k].Batch.given(s - t.Rescue.Seconds())
	t.supply(p, rows, func(*Class) float64 { return 1 }, func(c *Class) bool { return !c.Alone }, k, 1)
}

// supply adds a row: what the classes named use of it is at most what there is,
// scaled so that the larger of both is 1.
func (t *Task) supply(p *program, there float64, need func(*Class) float64, of func(*Class) bool, k, tier int) {
	row := make([]float64, len(p.cost))
	most := 0.0
	for c := range t.Classes {
		if class := &t.Classes[c]; of(class) {
			row[t.variable(c, k, tier)] = need(class) * class.Rows
			most = max(most, need(class)*class.Rows)
		}
	}
	total := 0.0
	for _, use := range row {
		total += use
	}
	if total <= there {
		return // it cannot bind
	}
	scale := max(most, there)
	for v := range row {
		row[v] /= scale
	}
	p.atMost(row, there/scale)
}

func (s *Site) group(pool int) int {
	if pool < len(s.Group) {
		return s.Group[pool]
	}
	return -1 - pool
}

func (c *Class) price(tier int) float64 {
	if tier == 1 {
		return c.Batch
	}
	return c.Sync
}

func (c *Class) need(d Dim) float64 { return [NumDims]float64{1, c.Input, c.Output}[d] }

// shortest is the least latency of a pool's calls, in seconds.
func (t *Task) shortest(pool int) float64 {
	least := math.Inf(1)
	for i := range t.Classes {
		if c := &t.Classes[i]; c.Pool == pool && c.Rows > 0 {
			least = min(least, c.Shortest.Seconds())
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// worth is what the job costs at most: the unit of cost.
func (t *Task) worth() float64 {
	sum := 0.0
	for i := range t.Classes {
		c := &t.Classes[i]
		sum += c.Rows * max(c.Sync, c.Batch)
	}
	if sum <= 0 {
		return 1
	}
	return sum
}

func (t *Task) rows() (sum float64) {
	for i := range t.Classes {
		sum += t.Classes[i].Rows
	}
	return sum
}
