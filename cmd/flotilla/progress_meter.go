package main

import (
	"time"

	"github.com/flotilla-llm/flotilla"
)

// counts is how far a job has come.
type counts struct {
	rows    int // of the job
	done    int // settled, in earlier runs too
	errored int // of done
	calls   int // settled by calls of this run
	in, out int64
	spent   flotilla.Money // of the job, in earlier runs too
}

// meterSpan is how far back rates look: one minute, since limits are by the
// minute.
const meterSpan = time.Minute

// glance is what a meter keeps of one look.
type glance struct {
	at      time.Time
	calls   int
	in, out int64
	sent    map[laneKey]int64
	waiting map[holder]int
}

// laneKey names a lane.
type laneKey struct{ org, pool, tier string }

func keyOf(l *flotilla.LaneState) laneKey { return laneKey{l.Org, l.Pool, l.Tier} }

// syncLane is the lane that a notice about an org and a pool means: windows,
// ramps and colleagues are of the sync tier.
func syncLane(n *flotilla.Notice) laneKey { return laneKey{n.Org, n.Pool, tierNameSync} }

// holder is a limit, and the lane that it holds back.
type holder struct {
	laneKey
	limit string
}

// meter turns looks at a job into rates over the last minute of the scaled
// clock.
type meter struct{ glances []glance }

// add takes a look in.
func (m *meter) add(c counts, s *flotilla.Snapshot) {
	now := glance{at: s.At, calls: c.calls, in: c.in, out: c.out, sent: map[laneKey]int64{}, waiting: map[holder]int{}}
	for i := range s.Lanes {
		l := &s.Lanes[i]
		k := keyOf(l)
		now.sent[k] = l.Succeeded
		now.waiting[holder{k, l.Waiting}]++
	}
	m.glances = append(m.glances, now)
	// One glance older than the span stays: rates reach over all of it.
	for len(m.glances) > 2 && s.At.Sub(m.glances[1].at) >= meterSpan {
		m.glances = m.glances[1:]
	}
}

// span is the time between the first and the last glance; 0: no rate yet.
func (m *meter) span() (first, last *glance, minutes float64) {
	if len(m.glances) < 2 {
		return nil, nil, 0
	}
	first, last = &m.glances[0], &m.glances[len(m.glances)-1]
	return first, last, last.at.Sub(first.at).Minutes()
}

// rates are what was done a minute.
type rates struct{ calls, in, out float64 }

func (m *meter) rates() rates {
	first, last, minutes := m.span()
	if minutes <= 0 {
		return rates{}
	}
	return rates{
		calls: float64(last.calls-first.calls) / minutes,
		in:    float64(last.in-first.in) / minutes,
		out:   float64(last.out-first.out) / minutes,
	}
}

// lane is how many calls a minute one lane finished.
func (m *meter) lane(k laneKey) float64 {
	first, last, minutes := m.span()
	if minutes <= 0 {
		return 0
	}
	return float64(last.sent[k]-first.sent[k]) / minutes
}

// binding is the limit that most looks found some lane waiting for; limits that
// are none come last.
func (m *meter) binding() holder {
	seen := map[holder]int{}
	var best holder
	score := func(h holder) int {
		if h.limit == "" || h.limit == "work" {
			return seen[h]
		}
		return seen[h] + 1_000_000
	}
	for i := range m.glances {
		for h, n := range m.glances[i].waiting {
			seen[h] += n
		}
	}
	for h := range seen {
		if best == (holder{}) || score(h) > score(best) || score(h) == score(best) && h.before(best) {
			best = h
		}
	}
	return best
}

// before is an order without meaning, so that equal limits do not take turns.
func (h holder) before(o holder) bool {
	if h.limit != o.limit {
		return h.limit < o.limit
	}
	if h.org != o.org {
		return h.org < o.org
	}
	if h.pool != o.pool {
		return h.pool < o.pool
	}
	return h.tier < o.tier
}

// eta is when a job of so many rows ends at the rate of the last minute; zero:
// unknown.
func (m *meter) eta(left int) time.Time {
	if len(m.glances) == 0 || left <= 0 {
		return time.Time{}
	}
	calls := m.rates().calls
	if calls <= 0 {
		return time.Time{}
	}
	minutes := float64(left) / calls
	if minutes > 1e6 {
		return time.Time{}
	}
	return m.glances[len(m.glances)-1].at.Add(time.Duration(minutes * float64(time.Minute)))
}
