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
	if !m.second.passed && m.total >= m.to {
		m.second = m.here(now)
	}
}

func (m *meter) here(now time.Duration) mark {
	k := mark{passed: true, at: now, total: m.total, sync: m.sync, batch: m.batch}
	if m.core != nil {
		k.lanes = append(k.lanes, m.core.Lanes()...)
	}
	return k
}

// between is what happened from one mark to the other.
func (m *meter) between() (d time.Duration, sync, batch int) {
	return m.second.at - m.first.at, m.second.sync - m.first.sync, m.second.batch - m.first.batch
}
