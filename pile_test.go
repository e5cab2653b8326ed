package flotilla_test

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/flotilla-llm/flotilla"
)

// pile is a Deque over bodies. It holds the fleet to its side of the contract:
// a row settles once, and only one that was taken settles or comes back.
type pile struct {
	fleet  *flotilla.Fleet
	bodies [][]byte
	gate   chan struct{} // Settled waits for it; nil: it does not
	kept   map[int]bool  // rows in batches of an earlier run, until they are taken

	mu     sync.Mutex
	rows   []flotilla.Row
	where  []place
	got    []flotilla.Result
	faults []string
}

type place uint8

const (
	free place = iota
	out
	settled
)

func newPile(fleet *flotilla.Fleet, bodies [][]byte) *pile {
	p := &pile{fleet: fleet, bodies: bodies, where: make([]place, len(bodies)), rows: make([]flotilla.Row, len(bodies))}
	for i, b := range bodies {
		facts, err := fleet.Weigh(b)
		if err != nil {
			panic(err)
		}
		p.rows[i] = flotilla.Row{Index: i, Facts: facts}
	}
	return p
}

func (p *pile) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

func (p *pile) take(limit int, ok func(r *flotilla.Row) bool) ([]flotilla.Row, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rows []flotilla.Row
	all := true
	for i := range p.rows {
		switch {
		case p.where[i] == settled || p.kept[i]:
		case p.where[i] == free && len(rows) < limit && ok(&p.rows[i]):
			p.where[i] = out
			rows = append(rows, p.rows[i])
		default:
			all = false
		}
	}
	for i := range p.where {
		all = all && (p.where[i] != free || p.kept[i])
	}
	if all && len(rows) == 0 {
		return nil, io.EOF
	}
	return rows, nil
}

func (p *pile) Pull(limit int) ([]flotilla.Row, error) {
	return p.take(limit, func(*flotilla.Row) bool { return true })
}

func (p *pile) PullIneligible(limit int) ([]flotilla.Row, error) {
	return p.take(limit, func(r *flotilla.Row) bool { return r.Facts.Alone })
}

func (p *pile) Body(row int) ([]byte, error) { return p.bodies[row], nil }

func (p *pile) Settled(ctx context.Context, res flotilla.Result) error {
	if p.gate != nil {
		select {
		case <-p.gate:
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.where[res.Row] != out {
		p.fault("row %d settled when it was %d", res.Row, p.where[res.Row])
	}
	p.where[res.Row] = settled
	p.got = append(p.got, res)
	return nil
}

func (p *pile) Backlog() []flotilla.Backlog {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b flotilla.Backlog
	for i := range p.rows {
		f := &p.rows[i].Facts
		if p.where[i] != free || f.Alone || p.kept[i] {
			continue
		}
		b.Pool, b.Family = f.Pool, f.Family
		b.Rows++
		n := float64(b.Rows)
		b.Bytes += (float64(f.Size+80) - b.Bytes) / n
		b.Worst += (float64((f.Worst+1)/2) - b.Worst) / n
		b.In += (float64(f.In) - b.In) / n
		b.MaxTokens += (float64(f.MaxTokens) - b.MaxTokens) / n
	}
	if b.Rows == 0 {
		return nil
	}
	return []flotilla.Backlog{b}
}

func (p *pile) PullFar(want flotilla.Chunk) ([]flotilla.Row, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rows []flotilla.Row
	bytes, worst := int64(0), flotilla.Money(0)
	for i := len(p.rows) - 1; i >= 0 && len(rows) < want.Rows; i-- {
		f := &p.rows[i].Facts
		if p.where[i] != free || f.Alone || f.Pool != want.Pool || p.kept[i] {
			continue
		}
		bytes += int64(f.Size) + 80
		worst += (f.Worst + 1) / 2
		if worst > want.Worst || len(rows) > 0 && bytes > want.Bytes {
			break
		}
		p.where[i] = out
		rows = append(rows, p.rows[i])
	}
	return rows, nil
}

func (p *pile) Take(rows []int) []flotilla.Row {
	p.mu.Lock()
	defer p.mu.Unlock()
	var taken []flotilla.Row
	for _, i := range rows {
		delete(p.kept, i)
		if p.where[i] == free {
			p.where[i] = out
			taken = append(taken, p.rows[i])
		}
	}
	return taken
}

func (p *pile) Return(rows []flotilla.Row) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range rows {
		if p.where[r.Index] != out {
			p.fault("row %d came back when it was %d", r.Index, p.where[r.Index])
		}
		p.where[r.Index] = free
		p.rows[r.Index].Failed, p.rows[r.Index].InDoubt = r.Failed, r.InDoubt
	}
}
