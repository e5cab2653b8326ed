package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// meter watches a rehearsal pass two marks, counted in settled calls, so that
// what lies between can be carried on at the rate it had.
type meter struct {
	from, to int // calls settled at the marks; to 0: nobody asks
	core     *sched.Core

	total, sync, batch int
	first, second      mark
	batches            []mark // of each batch collected from the first mark to the second, without lanes
}

// mark is where a rehearsal stood when it passed one.
type mark struct {
	passed             bool
	at                 time.Duration
	total, sync, batch int
	lanes              []sched.LaneView
}

func (m *meter) observe(now time.Duration, ev sched.Event, acts []sched.Action) {
	before := m.total
	for _, a := range acts {
		if _, ok := a.(*sched.Settle); ok {
			m.sync++
			m.total++
		}
	}
	if c, ok := ev.(*sched.BatchCollected); ok {
		m.batch += int(c.Succeeded + c.Errored)
		m.total += int(c.Succeeded + c.Errored)
	}
	if m.total == before || m.to == 0 {
		return
	}
	if !m.first.passed && m.total >= m.from {
		m.first = m.here(now)
	}
	if m.first.passed && !m.second.passed {
		if _, ok := ev.(*sched.BatchCollected); ok {
			m.batches = append(m.batches, mark{at: now, batch: m.batch})
		}
	}
	if !m.second.passed && m.total >= m.to {
		m.second = m.here(now)
	}
}

// rates are calls a second from one mark to the other. Batches come in lumps, so
// theirs is the slope of a line through all of them, by least squares.
func (m *meter) rates() (sync, batch float64) {
	span := (m.second.at - m.first.at).Seconds()
	sync = float64(m.second.sync-m.first.sync) / span
	const enough = 5 // fewer points make no line
	if len(m.batches) < enough {
		return sync, float64(m.second.batch-m.first.batch) / span
	}
	n := float64(len(m.batches))
	var at, rows, squares, products float64
	for _, k := range m.batches {
		at += k.at.Seconds() / n
		rows += float64(k.batch) / n
	}
	for _, k := range m.batches {
		d := k.at.Seconds() - at
		squares += d * d
		products += d * (float64(k.batch) - rows)
	}
	if squares == 0 {
		return sync, float64(m.second.batch-m.first.batch) / span
	}
	return sync, products / squares
}

func (m *meter) here(now time.Duration) mark {
	k := mark{passed: true, at: now, total: m.total, sync: m.sync, batch: m.batch}
	if m.core != nil {
		k.lanes = append(k.lanes, m.core.Lanes()...)
	}
	return k
}
