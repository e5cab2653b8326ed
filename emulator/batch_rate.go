package emulator

import (
	"math"
	"time"
)

// noiseStep is how long a rate is constant at most.
const noiseStep = 10 * time.Second

// finishing is how long rows that are under way when a batch is canceled still
// come to an end.
const finishing = 5 * time.Second

// cancelSD is the spread of the time from a cancel to the end.
const cancelSD = 0.2

// lastRow is when a batch stops proceeding because it was canceled.
func (b *Batch) lastRow() time.Duration {
	if b.CancelAt == Never {
		return Never
	}
	return b.CancelAt + finishing
}

// setRates fixes all rates until the next event.
func (q *batchQueue) setRates() {
	common := q.pace.RowsPerSecond * q.pace.Depth.of(q.waiting(q.at)) * q.pace.Hours.of(q.m.start.Add(q.at))
	for _, b := range q.open {
		if b.phase != running {
			continue
		}
		q.stepNoise(b)
		b.rate = common * q.pace.Size.of(int64(b.n)) * math.Exp(b.noise-q.pace.SD*q.pace.SD/2)
		if q.at >= b.lastRow() {
			b.rate = 0
		}
	}
}

// startNoise draws the noise from its stationary distribution.
func (q *batchQueue) startNoise(b *Batch) {
	b.steps = uint64(q.at / noiseStep)
	if q.pace.SD > 0 {
		b.noise = q.pace.SD * b.key.normal(drawBatchStart)
	}
}

// stepNoise moves the noise on where a step has passed in which the batch
// proceeded; one that stands still keeps it.
func (q *batchQueue) stepNoise(b *Batch) {
	step := uint64(q.at / noiseStep)
	if step == b.steps || q.pace.SD <= 0 || b.rate <= 0 {
		return
	}
	b.steps = step
	phi := math.Exp(-noiseStep.Seconds() / q.pace.Correlation.Seconds())
	b.noise = phi*b.noise + q.pace.SD*math.Sqrt(1-phi*phi)*b.key.normal(drawBatchStep+purpose(step)<<8)
}
