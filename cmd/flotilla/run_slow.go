package main

import (
	"fmt"
	"math"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/route"
)

// worthSaying is the least slowing down that is said beforehand.
const worthSaying = 10 * time.Second

// slowText says which cap of ours will slow the job or end it early, and by how
// much; empty: none.
func (r *runner) slowText() string {
	if text := r.moneyText(); text != "" {
		return text
	}
	capped, free := r.problem(1), r.problem(1)
	if !knowsLimits(capped.Lanes) {
		return "" // without a limit to compare with, any cap seems to be the only one
	}
	for i := range free.Lanes {
		free.Lanes[i].Cap = 1 << 20
	}
	with, _ := route.SyncBound(capped)
	without, _ := route.SyncBound(free)
	if with.Limit != route.LimitCap || with.Time-without.Time < worthSaying {
		return ""
	}
	return fmt.Sprintf("the cap on calls in flight makes this about %s longer (%s instead of %s); --conc raises it",
		span(with.Time-without.Time), span(with.Time), span(without.Time))
}

func knowsLimits(lanes []route.Lane) bool {
	for i := range lanes {
		if lanes[i].PerMinute[route.Requests] == 0 {
			return false
		}
	}
	return len(lanes) > 0
}

// moneyText compares the cap on the job with what it is expected to cost.
func (r *runner) moneyText() string {
	p, limit := &r.plan, r.settings.MaxSpend
	if limit == 0 || p.Pending == 0 || p.Expected == 0 {
		return ""
	}
	left := limit - p.Spent
	if left < p.Expected {
		fits := int(float64(p.Pending) * max(left.Float(), 0) / p.Expected.Float())
		return fmt.Sprintf("the cap of %s is below the %s expected: about %s of %s rows fit", dollars(limit), p.Spent+p.Expected, whole(fits), whole(p.Pending))
	}
	d := r.tailDelay(left)
	if d < worthSaying {
		return ""
	}
	return fmt.Sprintf("the cap of %s makes this about %s longer: near it fewer calls can be in flight, each held at its worst case of %s",
		dollars(limit), span(d), p.Worst/flotilla.Money(p.Pending))
}

// tailDelay is by how much a cap slows the end of a job: once what is left of it
// holds fewer worst cases than there are slots, calls in flight fall with what
// is left, exponentially.
func (r *runner) tailDelay(left flotilla.Money) time.Duration {
	p := &r.plan
	slots := 0
	prob := r.problem(1)
	for _, l := range prob.Lanes {
		slots += l.Cap
	}
	slots = min(slots, p.Pending)
	worst := p.Worst.Float() / float64(p.Pending)
	each := p.Expected.Float() / float64(p.Pending)
	held := float64(slots) * worst
	spare := left.Float() - p.Expected.Float()
	if spare >= held || each <= 0 || slots == 0 {
		return 0
	}
	spare = max(spare, worst) // the last calls go one by one
	latency := prob.Work.Latency.Seconds() / float64(p.Pending)
	slow := worst * latency / each * math.Log(held/spare)
	fast := (held - spare) / each * latency / float64(slots)
	return time.Duration(max(slow-fast, 0) * float64(time.Second))
}
