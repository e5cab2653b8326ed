package plan

import (
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// readingOf is what the limit headers of an answer tell a client whose Date
// header was written at the given time.
func readingOf(m *emulator.Model, x *emulator.Exchange, date time.Duration) sched.Reading {
	var out sched.Reading
	r := &x.Reading
	if !r.Known {
		return out
	}
	date = m.WholeSecond(date)
	for d := range sched.NumDims {
		if r.Shown&(1<<d) == 0 {
			continue
		}
		out.Known |= 1 << d
		out.Limit[d] = float64(r.Limit[d])
		out.Remaining[d] = float64(r.Remaining[d])
		out.ResetIn[d] = r.Reset[d] - date
	}
	return out
}

// event is how a Fleet would report the end of a flight.
func (d *driver) event(m *emulator.Model, f *flight) sched.Event {
	x := f.x
	switch {
	case f.fate != answered:
		d.failed = sched.Failed{Attempt: f.attempt, Failure: f.failure()}
		return &d.failed
	case x.Class != emulator.Admitted:
		d.refused = sched.Refused{Attempt: f.attempt, Reading: readingOf(m, x, x.End), Refusal: refusalOf(x)}
		return &d.refused
	case x.Fault == emulator.StreamError:
		// What was produced before the error may be billed: the dollars stay in doubt.
		d.refused = sched.Refused{Attempt: f.attempt, Reading: readingOf(m, x, x.FirstByte), Cost: f.worst, Refusal: sched.Refusal{Class: sched.Overloaded}}
		return &d.refused
	case x.Fault != emulator.NoFault:
		d.failed = sched.Failed{Attempt: f.attempt, Failure: faultOf(x)}
		return &d.failed
	}
	d.done = d.answer(m, f)
	return &d.done
}

func (d *driver) answer(m *emulator.Model, f *flight) sched.Done {
	x := f.x
	at := x.End
	if d.streamed {
		at = x.FirstByte
	}
	return sched.Done{Attempt: f.attempt, Cost: x.Cost(), Reading: readingOf(m, x, at), Usage: sched.Usage{
		Input: x.Usage.Input, CacheWrite: x.Usage.CacheWrite5m + x.Usage.CacheWrite1h, CacheRead: x.Usage.CacheRead, Output: x.Usage.Output,
	}}
}

// failure is how a client sees a flight end that the provider did not end.
func (f *flight) failure() sched.Failure {
	switch {
	case f.fate == aborted:
		return sched.Aborted
	case f.fate == unsent:
		return sched.NotSent
	case f.headed:
		return sched.Cut
	case f.x.Reused:
		return sched.ReusedReset
	}
	return sched.Reset
}

// refusalOf is what a client reads out of a refusal's status, headers and text.
func refusalOf(x *emulator.Exchange) sched.Refusal {
	r := sched.Refusal{RetryAfter: x.RetryAfter, Named: x.Named, Dim: sched.Dim(x.Dim)}
	switch x.Class {
	case emulator.Overload:
		r.Class = sched.Overloaded
	case emulator.Accelerated:
		r.Class = sched.RateLimited
		if x.CeilingNow > 0 || x.Named {
			r.Class = sched.Acceleration
			r.CeilingNow, r.CeilingNext = float64(x.CeilingNow), float64(x.CeilingNext)
		}
	case emulator.Concurrent:
		r.Class = sched.Concurrency
	case emulator.SpendLimit:
		r.Class = sched.Spend
	case emulator.DailyLimit:
		r.Class = sched.RateLimited
		if x.Named || x.RetryAfter > dailyRetryAfter {
			r.Class = sched.Daily
		}
	default:
		r.Class = sched.RateLimited
	}
	return r
}

// dailyRetryAfter tells a daily cap by its wait (facts/control.md B.6).
const dailyRetryAfter = 300 * time.Second

// faultOf is how a client sees a fault of the provider or the network.
func faultOf(x *emulator.Exchange) sched.Failure {
	switch x.Fault {
	case emulator.ReusedReset:
		return sched.ReusedReset
	case emulator.DropBefore:
		if x.Reused {
			return sched.ReusedReset
		}
		return sched.Reset
	}
	return sched.Cut
}
