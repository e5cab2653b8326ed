package lab

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// Rule is when an experiment stops itself because colleagues would feel it
// (facts/control.md E.1: a level below the soft floor for 10 s, more than five
// 429s in a minute).
type Rule struct {
	FloorFor time.Duration // how long a level may lie below the soft floor; negative: for ever
	Refusals int           // 429s in a minute that it may meet on one org; negative: any number
}

// Polite is the rule of facts/control.md E.1.
var Polite = Rule{FloorFor: 10 * time.Second, Refusals: 5}

// AbortError says why an experiment stopped itself.
type AbortError struct{ Why string }

func (e *AbortError) Error() string { return "stopped so that colleagues do not feel it: " + e.Why }

// guard watches what answers say of the buckets.
type guard struct {
	rule     Rule
	soft     float64
	refused  map[string][]time.Duration // 429s of the last minute by org, by their ends
	low      map[string]*lowLevel
	capacity map[string]float64 // largest remaining seen, by org, pool and dimension
	abort    *AbortError
}

// lowLevel is one bucket's standing.
type lowLevel struct {
	newest time.Duration // send of the newest reading
	since  time.Duration // send of the first of an unbroken row below the floor; negative: it is above
}

var dimNames = [...]string{wire.Requests: "rpm", wire.Input: "itpm", wire.Output: "otpm", wire.Tokens: "tpm"}

// DimName is the name of a dimension in texts and results (interface.md).
func DimName(d wire.Dim) string {
	if int(d) < len(dimNames) {
		return dimNames[d]
	}
	return ""
}

// see takes one record; pool is its model's.
func (g *guard) see(r *Record, pool string) {
	if r.Refused() {
		g.count(r.Org, r.End)
	}
	for d := wire.Requests; d <= wire.Output; d++ {
		if l := r.Read.Of(d); l != nil {
			g.level(r.Org+" "+pool+" "+DimName(d), r.Sent, l)
		}
	}
}

func (g *guard) count(org string, at time.Duration) {
	last := append(g.refused[org], at)
	for len(last) > 0 && last[0] <= at-time.Minute {
		last = last[1:]
	}
	g.refused[org] = last
	if g.rule.Refusals >= 0 && len(last) > g.rule.Refusals {
		g.stop(fmt.Sprintf("%d calls to %s were rate-limited within a minute", len(last), org))
	}
}

// level takes a reading: those that come out of order are left aside.
func (g *guard) level(bucket string, sent time.Duration, l *Level) {
	full := max(g.capacity[bucket], float64(l.Remaining))
	g.capacity[bucket] = full
	s := g.low[bucket]
	if s == nil {
		s = &lowLevel{since: -1}
		g.low[bucket] = s
	}
	if sent < s.newest {
		return
	}
	s.newest = sent
	switch {
	case float64(l.Remaining) >= g.soft*full:
		s.since = -1
	case s.since < 0:
		s.since = sent
	case g.rule.FloorFor >= 0 && sent-s.since > g.rule.FloorFor:
		g.stop(fmt.Sprintf("%s lay below %.0f %% for %.0f s", bucket, 100*g.soft, (sent - s.since).Seconds()))
	}
}

func (g *guard) stop(why string) {
	if g.abort == nil {
		g.abort = &AbortError{Why: why}
	}
}
