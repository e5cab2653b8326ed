package route

import (
	"math"
	"time"
)

// CancelTime is what a cancelled batch may take to end, at most, before its rows
// can go by sync (facts/control.md B.12).
const CancelTime = 10 * time.Minute

// RescueAt is the last instant at which to cancel batches and send what they
// have not answered by sync, so that all ends by the deadline: so many rows
// unfinished, so many a second by sync, the slowest answer, what a ramp loses,
// and the time a cancel takes (facts/control.md B.12). It may lie before 0: too
// late already. A rate of 0 makes it the earliest instant there is.
func RescueAt(deadline time.Duration, unfinished, rate float64, slowest, ramp, cancel time.Duration) time.Duration {
	if unfinished <= 0 {
		return deadline
	}
	need := math.Inf(1)
	if rate > 0 {
		need = unfinished / rate
	}
	d := duration(need)
	if d > Never/2 {
		return -Never
	}
	return deadline - d - slowest - ramp - cancel
}

// Hysteresis is the share of rows below which a new plan is not worth a change
// of the old one (facts/control.md C.4).
const Hysteresis = 0.05

// Keep reports whether an old split should be kept: the new one would send fewer
// than a twentieth of the rows another way.
func Keep(old, now Split) bool {
	total, moved := 0.0, 0.0
	for c := range now.Sync {
		for k := range now.Sync[c] {
			total += now.Sync[c][k] + now.Batch[c][k]
			moved += max(0, now.Sync[c][k]-at(old.Sync, c, k)) + max(0, now.Batch[c][k]-at(old.Batch, c, k))
		}
	}
	return moved < Hysteresis*total || total == 0
}

func at(rows [][]float64, c, k int) float64 {
	if c >= len(rows) || k >= len(rows[c]) {
		return 0
	}
	return rows[c][k]
}
