package main

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// inBatches is what of a job is at the provider.
type inBatches struct {
	batches, rows int
	ends          time.Time // the last of them, as expected; zero: unknown
	overdue       int       // batches
}

func batchesIn(s *flotilla.Snapshot) (b inBatches) {
	known := true
	for i := range s.Batches {
		one := &s.Batches[i]
		b.batches, b.rows = b.batches+1, b.rows+one.Rows
		if one.Stalled {
			b.overdue++
		}
		if !one.Expected.After(s.At) {
			known = false // or it is late, and nobody knows by how much
		} else if one.Expected.After(b.ends) {
			b.ends = one.Expected
		}
	}
	if !known {
		b.ends = time.Time{}
	}
	return b
}

// eta is when the job ends: the later of the last batch and of the rows that are
// in none, at the rate of the last minute. Batches end in lumps, so where sync
// carries nothing the rate is that since the job began. Zero: unknown.
func (p *progress) eta(c *counts, s *flotilla.Snapshot, b *inBatches) time.Time {
	if !hasBatchLane(s.Lanes) {
		return p.meter.eta(c.rows - c.done)
	}
	free := c.rows - c.done - b.rows
	if b.rows > 0 && b.ends.IsZero() {
		return time.Time{}
	}
	if free <= 0 {
		return b.ends
	}
	rate := 0.0 // a minute
	for i := range s.Lanes {
		if l := &s.Lanes[i]; l.Tier != tierNameBatch {
			rate += p.meter.lane(keyOf(l))
		}
	}
	if minutes := s.At.Sub(p.began.At).Minutes(); minutes > 0 {
		rate = max(rate, float64(c.done-p.beganDone)/minutes)
	}
	minutes := float64(free) / rate
	if rate <= 0 || minutes > 1e6 {
		return time.Time{}
	}
	end := s.At.Add(time.Duration(minutes * float64(time.Minute)))
	if b.ends.After(end) {
		return b.ends
	}
	return end
}

func hasBatchLane(lanes []flotilla.LaneState) bool {
	for i := range lanes {
		if lanes[i].Tier == tierNameBatch {
			return true
		}
	}
	return false
}

// text is the part of a standing that is at the provider; empty: nothing is.
func (b *inBatches) text() string {
	if b.batches == 0 {
		return ""
	}
	text := fmt.Sprintf("%s in %s", whole(b.rows), batchesText(b.batches))
	if b.overdue > 0 {
		text += fmt.Sprintf(", %s overdue", whole(b.overdue))
	}
	return text
}
