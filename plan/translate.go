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

func failureOf(x *emulator.Exchange) sched.Failure {
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
