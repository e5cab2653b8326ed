package lab

import (
	"context"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// predicted is the limit that is expected to bind, before anything was tried.
type predicted struct {
	dim    int     // index into gaugeDims; -1: the etiquette cap
	perMin float64 // calls
	conc   float64 // in flight there
	drain  int     // bucket to drain beforehand, as an index; -1: none
}

// predict compares what each limit allows with what so many calls in flight of
// a latency (seconds) can do (facts/control.md C.5).
func predict(limits, use [len(gaugeDims)]float64, cap int, latency float64) predicted {
	p := predicted{dim: -1, perMin: 60 * float64(cap) / max(latency, 1e-3), drain: -1}
	worth := worthDraining * p.perMin
	for i := range gaugeDims {
		if use[i] <= 0 || limits[i] <= 0 {
			continue
		}
		if calls := limits[i] / use[i]; calls < worth {
			p.drain, worth = i, calls
			if calls < p.perMin {
				p.dim, p.perMin = i, calls
			}
		}
	}
	p.conc = p.perMin * latency / 60
	return p
}

func (s *station) predict(cap int, latency float64) predicted {
	var limits [len(gaugeDims)]float64
	for i := range limits {
		limits[i] = s.limit(i)
	}
	return predict(limits, s.gauges.use, cap, latency)
}

// name is the limit's (interface.md).
func (p predicted) name() string {
	if p.dim < 0 {
		return "cap"
	}
	return DimName(gaugeDims[p.dim])
}

const (
	// worthDraining is how far the limit may lie above what the cap can do for
	// its bucket to be drained beforehand: a full one hides the limit for
	// 60/(x−1) s at x times the refill (facts/control.md E.2). One that falls
	// against expectation is drained afterwards.
	worthDraining = 1.05
	drainPace     = 3.0 // times the refill
	drainPrompt   = 20_000
)

// tinyShape drains requests without using much else.
var tinyShape = Shape{In: 30, Out: 1, MaxTokens: 1}

// drainShape is of the calls that drain a bucket; ok is false for output, which
// cannot be drained faster than it is measured.
func drainShape(i int) (Shape, bool) {
	switch gaugeDims[i] {
	case wire.Requests:
		return tinyShape, true
	case wire.Input:
		return Shape{In: drainPrompt, Out: 1, MaxTokens: 1}, true
	}
	return Shape{}, false
}

// drainUse is what one such call takes out of bucket i.
func (s Shape) drainUse(i int) float64 {
	if gaugeDims[i] == wire.Input {
		return float64(s.In)
	}
	return 1
}

// drainCalls is how many calls drain a full bucket that refills so many of them
// a minute, with what refills meanwhile.
func drainCalls(perMin float64) int { return int(perMin * drainPace / (drainPace - 1)) }

// drain takes a bucket down to the floor with small calls, and no further: what
// is stored must not hide the limit, and colleagues must not miss it.
func (s *station) drain(ctx context.Context, i, cap int) (drive, error) {
	if i < 0 {
		return drive{}, nil
	}
	shape, ok := drainShape(i)
	if !ok {
		return drive{}, nil
	}
	perMin := s.limit(i) / shape.drainUse(i)
	most := drainCalls(perMin) * 3 / 2
	return s.drive(ctx, course{
		conc: cap, shape: shape, pace: drainPace * perMin / 60, spread: time.Second,
		enough: func(d *drive) bool { return d.Held > 0 || d.refused() > 0 || d.Sent >= most },
	})
}
