package sched

import "time"

// ownRate is what we sent in the last two seconds, per second.
type ownRate struct {
	bin [rateBins][2]float64
	at  int64 // number of the newest bin
}

const (
	rateBins = 10
	rateBin  = 200 * time.Millisecond
)

func (o *ownRate) turn(now time.Duration) {
	k := int64(now / rateBin)
	for i := max(o.at+1, k-rateBins+1); i <= k; i++ {
		o.bin[i%rateBins] = [2]float64{}
	}
	o.at = max(o.at, k)
}

func (o *ownRate) add(now time.Duration, in float64) {
	o.turn(now)
	b := &o.bin[o.at%rateBins]
	b[0]++
	b[1] += in
}

// per second, of requests or input tokens.
func (o *ownRate) per(now time.Duration, d Dim) float64 {
	o.turn(now)
	i := 0
	if d == Input {
		i = 1
	}
	sum := 0.0
	for k := range o.bin {
		sum += o.bin[k][i]
	}
	return sum / secs(rateBins*rateBin)
}

// enough says whether the two seconds hold more than chance.
func (o *ownRate) enough(now time.Duration) bool {
	return o.per(now, Requests)*secs(rateBins*rateBin) >= 4
}

// tally is what was let through since a refusal told a rate: an empty bucket
// then and an empty one now make it the refill itself, or less where the
// bucket stood full in between.
type tally struct {
	sum [2]float64
	at  time.Duration
	on  bool
}

func (t *tally) restart(now time.Duration) { *t = tally{at: now, on: true} }

func (t *tally) add(in, sign float64) {
	t.sum[0] += sign
	t.sum[1] += sign * in
}

// per second, of requests or input tokens; 0 while that would be chance.
func (t *tally) per(now time.Duration, d Dim) float64 {
	s := secs(now - t.at)
	if !t.on || s < 5 || t.sum[0] < 5 || d == Output {
		return 0
	}
	if d == Input {
		return t.sum[1] / s
	}
	return t.sum[0] / s
}
