package emulator

// queue is a heap of exchanges under way, ordered by when they next change and
// by arrival, that can take any of them out.
type queue struct {
	xs  []*Exchange
	seq uint64
}

func (q *queue) push(x *Exchange) {
	q.seq++
	x.seq = q.seq
	x.pos = len(q.xs)
	q.xs = append(q.xs, x)
	q.up(x.pos)
}

func (q *queue) remove(x *Exchange) {
	i, last := x.pos, len(q.xs)-1
	x.pos = -1
	moved := q.xs[last]
	q.xs[last] = nil
	q.xs = q.xs[:last]
	if i == last {
		return
	}
	q.xs[i], moved.pos = moved, i
	q.down(i)
	q.up(i)
}

func before(a, b *Exchange) bool {
	if a.due != b.due {
		return a.due < b.due
	}
	return a.seq < b.seq
}

func (q *queue) up(i int) {
	x := q.xs[i]
	for i > 0 {
		p := (i - 1) / 2
		if !before(x, q.xs[p]) {
			break
		}
		q.xs[i] = q.xs[p]
		q.xs[i].pos = i
		i = p
	}
	q.xs[i], x.pos = x, i
}

func (q *queue) down(i int) {
	x := q.xs[i]
	for {
		c := 2*i + 1
		if c >= len(q.xs) {
			break
		}
		if c+1 < len(q.xs) && before(q.xs[c+1], q.xs[c]) {
			c++
		}
		if !before(q.xs[c], x) {
			break
		}
		q.xs[i] = q.xs[c]
		q.xs[i].pos = i
		i = c
	}
	q.xs[i], x.pos = x, i
}
