package flotilla

import (
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// judgement is how many of a lane's refusals the core held for what.
type judgement struct{ steady, hidden, accel, daily int64 }

// judged counts the refusals of an attempt's lane, before the core is told of
// one that only it can name.
func (f *Fleet) judged(a *attempt) (j judgement) {
	if r := a.answer.refused; r != nil && r.Refusal.Class == sched.RateLimited {
		j.steady, j.hidden, j.accel, j.daily = f.core.Judged(a.lane)
	}
	return j
}

// classOf is what an attempt came to, in the words of Observation.Class.
func (f *Fleet) classOf(a *attempt, before judgement) string {
	switch {
	case a.answer.succeeded():
		return "succeeded"
	case a.answer.failed != nil && a.answer.failed.Failure == sched.Aborted:
		return "canceled"
	case a.answer.refused == nil:
		return "transport"
	case a.answer.refused.Refusal.Class != sched.RateLimited:
		return className(a.answer.refused.Refusal.Class)
	}
	switch now := f.judged(a); {
	case now.hidden > before.hidden:
		return "hidden"
	case now.accel > before.accel:
		return "acceleration"
	case now.daily > before.daily:
		return "daily"
	}
	return "steady"
}

// observe tells of an attempt that ended, and counts its lane's dollars.
func (f *Fleet) observe(now time.Duration, a *attempt, before judgement) {
	l := &f.lanes[a.lane]
	l.cost += a.charged()
	f.tellBeyond(now, l, a.answer.beyond)
	if f.cfg.Observe == nil {
		return
	}
	c := a.call
	o := Observation{
		At: f.clock.wall(now), Client: c.stream.opt.Client, Job: c.stream.opt.Job, Line: c.line != nil,
		Org: l.org.Name, Pool: l.pool.name, Tier: tierName(l.tier), Model: c.row.Facts.Model, Priority: c.stream.opt.Priority,
		Class: f.classOf(a, before), Status: a.answer.status,
		Queued: max(a.sentAt-c.at, 0), Latency: a.endedAt - a.sentAt,
		Usage: a.answer.usage, Cost: a.charged(), InDoubt: a.answer.inDoubt(),
		Attempt: a.try, Final: f.calls[c.id] == nil,
	}
	if a.headAt > 0 {
		o.FirstByte = max(a.headAt-a.sentAt, 0)
	}
	if a.estimate > 0 {
		o.Cost, o.Estimated, o.Kept = a.estimate, true, max(a.charged()-a.estimate, 0)
	}
	f.cfg.Observe(o)
}

// observeRow tells of a row's turn in a batch, and counts its lane's dollars.
func (f *Fleet) observeRow(b *batch, r *Record, res *Result) {
	l := &f.lanes[b.lane]
	l.cost += r.Charged
	if f.cfg.Observe == nil {
		return
	}
	s := b.stream
	o := Observation{
		At: r.At, Client: s.opt.Client, Job: s.opt.Job, Org: r.Org, Pool: r.Pool, Tier: r.Tier, Model: r.Model,
		Priority: s.opt.Priority, Class: "expired", Status: r.Status, Latency: max(r.At.Sub(b.at), 0),
		Cost: r.Charged, InDoubt: r.InDoubt, Final: res != nil,
	}
	switch {
	case r.InDoubt:
		o.Class = "transport"
	case res == nil && r.Status != 0: // its own failure: it goes again
		o.Class = "server"
	case res == nil && b.canceling: // taken back, to go sooner by another way
		o.Class = "canceled"
	case res == nil:
	case res.Err == nil:
		o.Class, o.Usage = "succeeded", res.Usage
	default:
		o.Class = r.Type
	}
	f.cfg.Observe(o)
}
