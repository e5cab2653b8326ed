package plan

import (
	"math"
	"math/rand/v2"
	"time"
)

// policies are the naive controllers by name.
var policies = map[string]func(cap int, rng *rand.Rand) policy{
	"fixed": newFixed, "aimd": newAIMD, "inspect": newInspect, "sdk": newSemaphore,
}

// fixed keeps a constant number of slots busy; what is refused is tried again
// after retry-after, by its slot.
type fixed struct{ n int }

func newFixed(cap int, _ *rand.Rand) policy { return &fixed{cap} }

func (f *fixed) window() int             { return f.n }
func (f *fixed) sent(int)                {}
func (f *fixed) succeeded(time.Duration) {}
func (f *fixed) failed(_, _, retryAfter time.Duration, _ bool, _ int) verdict {
	return verdict{wait: max(time.Second, retryAfter), slot: true}
}

// aimd is the plain one of facts/control.md F.2, first column: a window from
// 4, 5 % (at least one) more per round of a window's successes, halved once
// per episode of refusals; the lane rests for retry-after.
type aimd struct {
	w, most float64
	done    float64       // successes of this round
	cut     time.Duration // of the last one: only a refusal of something sent later cuts again
}

func newAIMD(cap int, _ *rand.Rand) policy {
	return &aimd{w: min(4, float64(cap)), most: float64(cap), cut: -1}
}

func (a *aimd) window() int { return int(a.w) }
func (a *aimd) sent(int)    {}
func (a *aimd) succeeded(time.Duration) {
	if a.done++; a.done >= math.Floor(a.w) {
		a.done = 0
		a.w = min(a.most, a.w+max(1, 0.05*a.w))
	}
}

func (a *aimd) failed(now, sent, retryAfter time.Duration, _ bool, _ int) verdict {
	if sent > a.cut {
		a.cut, a.done = now, 0
		a.w = max(1, a.w/2)
	}
	wait := max(time.Second, retryAfter)
	return verdict{wait: wait, hold: wait}
}

// inspectLike follows facts/control.md A.11: twice as many per clean round
// until the first 429, then 5 % rounded to a nice number; 0.8 of it after a
// 429, once per episode, with a cooldown of 15 s at least; a round counts only
// if it was used to 0.8. A refused call waits out retry-after, jittered up, in its
// slot: a refusal takes no time in the model, so that giving the slot on would
// refuse the whole queue at one instant.
type inspectLike struct {
	w, peak, done int
	most          int
	refused       bool
	cool          time.Duration
	rng           *rand.Rand
}

// inspectLike's least and first windows (A.11).
const (
	inspectLeast = 10
	inspectFirst = 20
)

func newInspect(cap int, rng *rand.Rand) policy {
	return &inspectLike{w: min(inspectFirst, cap), most: cap, rng: rng}
}

func (p *inspectLike) window() int   { return p.w }
func (p *inspectLike) sent(busy int) { p.peak = max(p.peak, busy) }
func (p *inspectLike) succeeded(now time.Duration) {
	if now < p.cool {
		return
	}
	if p.done++; p.done < max(p.w, 4) {
		return
	}
	saturated := float64(p.peak) >= 0.8*float64(p.w)
	p.done, p.peak = 0, 0
	if !saturated {
		return
	}
	if !p.refused {
		p.w = min(p.most, 2*p.w)
		return
	}
	p.w = min(p.most, nicer(p.w))
}

// nicer is 5 % more, rounded up to a multiple of 1 below 20, of 5 from there.
func nicer(w int) int {
	step := 1
	if w >= 20 {
		step = 5
	}
	return (int(math.Ceil(float64(w)*1.05)) + step - 1) / step * step
}

func (p *inspectLike) failed(now, _, retryAfter time.Duration, overload bool, _ int) verdict {
	if !overload && now >= p.cool {
		p.refused, p.done, p.peak = true, 0, 0
		p.w = max(min(inspectLeast, p.most), int(0.8*float64(p.w)))
		p.cool = now + max(15*time.Second, retryAfter)
	}
	wait := max(time.Second, retryAfter) + time.Duration(p.rng.Float64()*float64(time.Second))
	return verdict{wait: wait, slot: true}
}

// semaphore is a script around an official SDK: as many slots as the cap, each
// held through the SDK's own retries (anthropic-sdk-go: two, 0.5·2ⁿ s to 8 s
// less up to a quarter; a retry-after below a minute is honoured). A call that
// fails three times has failed.
type semaphore struct {
	n   int
	rng *rand.Rand
}

func newSemaphore(cap int, rng *rand.Rand) policy { return &semaphore{cap, rng} }

func (s *semaphore) window() int             { return s.n }
func (s *semaphore) sent(int)                {}
func (s *semaphore) succeeded(time.Duration) {}
func (s *semaphore) failed(_, _, retryAfter time.Duration, _ bool, try int) verdict {
	if try > 2 {
		return verdict{giveUp: true}
	}
	if retryAfter > 0 && retryAfter < time.Minute {
		return verdict{wait: retryAfter, slot: true}
	}
	wait := math.Min(8, 0.5*math.Pow(2, float64(try-1))) * (1 - 0.25*s.rng.Float64())
	return verdict{wait: time.Duration(wait * float64(time.Second)), slot: true}
}
