package lab

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Experiments that compare rounds which cannot run at the same time send a probe
// before each and after the last, on the queue that is empty then: where probes
// differ, the hour had its part.
const (
	probeCanaries = 4
	probeOnes     = 2
)

func probe(org string, cut time.Duration) []lot {
	var lots []lot
	for i := range probeCanaries {
		lots = append(lots, lot{Name: fmt.Sprintf("%s %d", armIdle, i), Org: org, Rows: canaryRows, Cut: cut})
	}
	for i := range probeOnes {
		lots = append(lots, lot{Name: fmt.Sprintf("%s %d", armOne, i), Org: org, Rows: 1, Cut: cut})
	}
	return lots
}

// patience is the age from which on a batch counts as stalled where nothing is
// known of its like (facts/control.md B.12).
func patience(rows int) time.Duration {
	return max(15*time.Minute, 3*(2*time.Minute+time.Duration(rows)*time.Second))
}

// longestBatch is the age at which batches are given up in any case, before
// they expire.
const longestBatch = 20 * time.Hour

// baseline is what probes showed.
type baseline struct {
	Overhead time.Duration
	Rate     float64   // rows a second of one batch in the fast ones of the probes; NaN: none
	Drift    effect    // range over the probes
	Each     []float64 // rate of each probe; NaN: it showed none
}

// drifted says that the probes differ by more than chance lets them: the range
// of several grows with their number.
func (b *baseline) drifted() bool { return b.Drift.N > 1 && b.Drift.Log > threshold+1.96*b.Drift.SE }

// starved says that not even the probes proceeded, on an empty queue: what is
// slow then is no matter of depth or size.
func (b *baseline) starved() bool { return !(b.Rate >= notEvenSmall) }

// notEvenSmall is the rate below which batches are taken to starve where there
// is nothing to compare them with: a fifth of what healthy ones do
// (facts/control.md D).
const notEvenSmall = 0.4

// baselineOf sums probes up.
func baselineOf(probes []seen) baseline {
	var all, fast []outcome
	for i := range probes {
		all = append(all, probes[i].Lots...)
	}
	var b baseline
	b.Overhead, _ = overheadOf(all)
	best, worst := math.Inf(-1), math.Inf(1)
	for i := range probes {
		v := logRate(probes[i].of(armIdle), b.Overhead)
		b.Each = append(b.Each, math.Exp(v))
		if math.IsNaN(v) {
			continue
		}
		best, worst = max(best, v), min(worst, v)
	}
	for i := range probes {
		if c := probes[i].of(armIdle); logRate(c, b.Overhead) > best-threshold {
			fast = append(fast, c...)
		}
	}
	b.Rate = pooledRate(fast, b.Overhead)
	if len(b.Each) > 1 {
		b.Drift = effect{Log: best - worst, SE: leastSD * math.Sqrt(2.0/probeCanaries), N: len(b.Each)}
	}
	return b
}

// slower is by how much lots are slower than the probes; n tells how many of
// them, the quickest, are taken.
func (b *baseline) slower(lots []outcome, n int) effect {
	some := quickest(lots, n, b.Overhead)
	if len(some) == 0 || math.IsNaN(b.Rate) {
		return effect{}
	}
	return effect{Log: math.Log(b.Rate) - logRate(some, b.Overhead), SE: leastSD / math.Sqrt(float64(min(len(some), 2))), N: 1}
}

// addBaseline adds what the probes showed.
func (r *Result) addBaseline(org, model string, probes []seen, b *baseline) {
	var lots []outcome
	for i := range probes {
		if v := logRate(probes[i].of(armIdle), b.Overhead); math.Exp(v) > b.Rate/2.5 {
			lots = append(lots, probes[i].Lots...)
		}
	}
	r.addOrgPace(org, model, lots)
	r.addEffect("batch_drift", model, b.Drift, "")
	if b.drifted() {
		r.NotShown = append(r.NotShown, fmt.Sprintf("what the hour did: probes on the empty queue differed by a factor of %.1f (batch-mechanism tells)", math.Exp(b.Drift.Log)))
	}
}

// paced is what rounds on one org showed.
type paced struct {
	probes []seen
	done   map[int]seen // by the round's number
	before map[int]int  // which probe was before it
}

// slowHour says that a probe beside a round was slow itself: what the round
// showed is then the hour's doing, or may be.
func (p *paced) slowHour(i int, b *baseline) bool {
	for j := p.before[i]; j <= p.before[i]+1 && j < len(b.Each); j++ {
		if b.Each[j] < b.Rate/2.5 {
			return true
		}
	}
	return false
}

// paced carries rounds out on one org with a probe before each and one after
// the last. A round for which the queue has no room, or for whose reserve there
// is not enough money, is left out with a reason; keep is asked before each
// whether it is still wanted, with what the earlier ones showed.
func (b *Bench) paced(ctx context.Context, org string, rounds []round, r *Result, want func(nth int, done map[int]seen) bool) (p paced, err error) {
	p.done, p.before = map[int]seen{}, map[int]int{}
	var beside disturbance
	look := func(x round) (seen, error) {
		s, err := b.round(ctx, x)
		beside.take(&s)
		return s, err
	}
	for i := range rounds {
		if !want(i, p.done) {
			continue
		}
		first, err := look(round{Name: "probe before " + rounds[i].Name, Lots: probe(org, patience(canaryRows))})
		if err != nil {
			return p, err
		}
		p.before[i] = len(p.probes)
		p.probes = append(p.probes, first)
		s, why, err := b.ifRoom(ctx, org, rounds[i], look)
		if err != nil {
			return p, err
		}
		if why != "" {
			r.NotShown = append(r.NotShown, rounds[i].Name+": "+why)
			continue
		}
		p.done[i] = s
	}
	last, err := look(round{Name: "probe after all", Lots: probe(org, patience(canaryRows))})
	if err != nil {
		return p, err
	}
	r.addDisturbance(&beside)
	p.probes = append(p.probes, last)
	return p, nil
}

// ifRoom carries a round out if the queue and the money have room for it; why
// says that they have not.
func (b *Bench) ifRoom(ctx context.Context, org string, x round, look func(round) (seen, error)) (s seen, why string, err error) {
	if _, begun, err := b.desk().kept("began " + x.Name); err != nil {
		return s, "", err
	} else if !begun {
		ok, err := b.room(ctx, org, sumRows(x.Lots))
		if err != nil {
			return s, "", err
		}
		if !ok {
			return s, "the queue of " + org + " had no room for it", nil
		}
	}
	s, err = look(x)
	if isBudget(err) {
		return s, "the reserve for its rows would have passed --max-spend", nil
	}
	return s, "", err
}
