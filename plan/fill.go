package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// fill offers calls as a Fleet does: up to the look-ahead whenever less than
// half of it is left; as many as are wanted, where batches take part.
func (d *driver) fill(now time.Duration, m *emulator.Model) {
	if d.cfg.Route.Batch {
		d.fillWanted(now, m)
	} else if d.queued < LookAhead/2 {
		d.pull(now, m, LookAhead-d.queued, false)
	}
	if !d.told && d.rows.left == 0 && len(d.batches) == 0 {
		d.told = true
		d.step(now, m, &sched.Exhausted{Stream: d.stream})
	}
}

// streamer is a brain that says how many calls it wants for sync.
type streamer interface {
	Stream(id sched.StreamID) sched.StreamView
}

func (d *driver) fillWanted(now time.Duration, m *emulator.Model) {
	d.tellBacklog(now, m)
	if s, ok := d.brain.(streamer); ok && d.rows.left > 0 {
		v := s.Stream(d.stream)
		d.pull(now, m, v.Wants, v.OnlyIneligible)
		d.tellBacklog(now, m)
	}
}

func (d *driver) tellBacklog(now time.Duration, m *emulator.Model) {
	d.rows.backlog(d.stream, func(b *sched.Backlog) { d.step(now, m, b) })
}

// pull offers at most so many calls more.
func (d *driver) pull(now time.Duration, m *emulator.Model, most int, only bool) {
	d.offer = d.offer[:0]
	for len(d.offer) < most {
		i, c, ok := d.rows.pull(only)
		if !ok {
			break
		}
		s := c.Sched
		s.ID, s.Stream, s.Pool = sched.CallID(i+1), d.stream, d.poolOf(&c)
		d.offer = append(d.offer, s)
	}
	if len(d.offer) > 0 {
		d.queued += len(d.offer)
		d.step(now, m, &sched.Offer{Calls: d.offer})
	}
}
