package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// Outage is a span without network between client and provider: what is in
// flight at its start breaks off (and may have been billed), and nothing can be
// sent before its end.
type Outage struct {
	From, Until time.Duration // on the model's time line
	Fails       time.Duration // how long it takes to notice, at the start and at each try; 0: at once
}

// outage is the one that lasts at now.
func (d *driver) outage(now time.Duration) *Outage {
	for i := range d.outages {
		if o := &d.outages[i]; o.From <= now && now < o.Until {
			return o
		}
	}
	return nil
}

// nextOutage is when the next one begins, of those not yet begun.
func (d *driver) nextOutage() time.Duration {
	if d.begun == len(d.outages) {
		return emulator.Never
	}
	return d.outages[d.begun].From
}

// breakOff begins outages that are due: idle connections are lost with what is
// in flight.
func (d *driver) breakOff(now time.Duration, m *emulator.Model) {
	for d.nextOutage() <= now {
		o := &d.outages[d.begun]
		d.begun++
		clear(d.idle)
		d.breakErrands(now + o.Fails)
		for _, f := range d.flying {
			if f.fate == answered {
				d.end(now, now+o.Fails, m, f, broken)
			}
		}
	}
}
