package flotilla

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Names of what is remembered of a lane.
const (
	hintRamp   = "ramp"           // ceiling of the ramp at the end (facts/control.md B.5)
	hintWindow = "window"         // AIMD window; 0: it was never cut
	hintDaily  = "tokens_per_day" // a rolling daily cap that was learned
	hintRPM    = "rpm"            // limits a minute, as headers told them
	hintITPM   = "itpm"
	hintOTPM   = "otpm"
)

// recall adds what earlier runs learned of a lane; a memory that cannot be read
// is worth no failure.
func (f *Fleet) recall(now time.Duration, o *orgState, p *poolState, cfg *sched.LaneConfig) {
	if f.cfg.Memory == nil {
		return
	}
	uses, err := f.cfg.Memory.DayUse(o.Name, p.name, f.clock.wall(now).Add(-24*time.Hour))
	if err == nil {
		for _, u := range uses {
			cfg.DayUse = append(cfg.DayUse, sched.DayUse{Start: f.clock.at(u.Start), Tokens: u.Tokens})
		}
	}
	hints, err := f.cfg.Memory.Hints(o.Name, p.name)
	if err != nil {
		return
	}
	cfg.HintRamp, cfg.HintWindow, cfg.HintPerDay = hints[hintRamp], hints[hintWindow], int64(hints[hintDaily])
}

// remember keeps values of a lane for the next run, beside the loop.
func (f *Fleet) remember(l *laneState, hints map[string]float64) {
	if f.cfg.Memory == nil {
		return
	}
	org, pool := l.org.Name, l.pool.name
	f.flights.Add(1)
	go func() {
		defer f.flights.Done()
		_ = f.cfg.Memory.Remember(org, pool, hints) // worth no failure either
	}()
}

// rememberLanes keeps, at the end of a stream, how its lanes stood: zeros too,
// so that what no longer holds is forgotten.
func (f *Fleet) rememberLanes(t *tally) {
	for id := range t.lanes {
		if f.lanes[id].tier == sched.Batch {
			continue
		}
		v := f.core.Lane(id)
		if v.Ramp == 0 { // it has ended: all of the cap was open
			v.Ramp = float64(f.lanes[id].group.limit)
		}
		f.remember(&f.lanes[id], map[string]float64{
			hintRamp: v.Ramp, hintWindow: v.AIMD,
			hintRPM: v.Refill[sched.Requests] * 60, hintITPM: v.Refill[sched.Input] * 60, hintOTPM: v.Refill[sched.Output] * 60,
		})
	}
}
