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

// lastSecond is the requests of the last second.
func (o *ownRate) lastSecond(now time.Duration) float64 {
	o.turn(now)
	sum := 0.0
	for i := range int64(rateBins / 2) {
		sum += o.bin[(o.at+rateBins-i)%rateBins][0]
	}
	return sum
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

// told says whether a refusal now tells anything about a rate: something sent
// since the last one was admitted. What is out for a second counts as such,
// for refusals come at once. In an outage nothing was, and each refusal would
// cut a ceiling that has nothing to do with it.
func (t *tally) told(now time.Duration, o *ownRate) bool {
	return !t.on || t.sum[0]-o.lastSecond(now) >= 0.5
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
