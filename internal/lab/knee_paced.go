package lab

import (
	"context"
	"time"
)

// hiddenTop is what a limit lets pass that no header shows.
type hiddenTop struct {
	PerMin float64 `json:"calls_per_min"`
	SE     float64 `json:"standard_error"`
	Calls  int     `json:"calls"`       // that passed between the first and the last refusal
	Bound  bool    `json:"lower_bound"` // it was not met
}

// Of the search.
const (
	pacedOver     = 1.02 // times what is thought to pass
	pacedRefusals = 7    // of one try: colleagues' calls may be among those refused
	pacedFor      = 100 * time.Second
	pacedTries    = 4
	pacedFar      = 0.08 // share of refusals above which the pace was far too high
)

// pacedTop empties the bucket, up to the first refusal, and then sends at an
// even pace a little above what is thought to pass (calls a minute). At a refusal
// the bucket is empty, so that what passes between two of them is what refilled.
// New calls go before retry-after is over: none of them is one that was refused.
func (s *station) pacedTop(ctx context.Context, perMin float64, shape Shape, cap int) (hiddenTop, error) {
	found := hiddenTop{Bound: true}
	for range pacedTries {
		began, most := s.clock.Now(), drainCalls(perMin)*3/2
		d, err := s.drive(ctx, course{
			conc: cap, shape: shape, pace: drainPace * perMin / 60, after: pacedOver * perMin / 60, spread: time.Second, open: true,
			enough: func(d *drive) bool {
				return d.refused() >= pacedRefusals || s.clock.Now()-d.From > pacedFor && d.refused() == 0 || d.Sent > most+int(2*perMin)
			},
		})
		if err != nil || d.Closed != "" || d.Grown > 0 {
			return found, err
		}
		passed, span := between(s.sentFrom(began))
		if d.refused() < 3 || span <= 0 {
			return hiddenTop{PerMin: float64(d.Sent-d.refused()) / (d.To - d.From).Minutes(), Calls: d.Sent, Bound: true}, nil
		}
		found = hiddenTop{PerMin: float64(passed) / span.Minutes(), SE: 1 / span.Minutes(), Calls: passed}
		if float64(d.refused()) < pacedFar*float64(passed) {
			return found, nil
		}
		perMin = found.PerMin
	}
	return found, nil
}

// sentFrom are this station's records since an instant, by their sends.
func (s *station) sentFrom(at time.Duration) []Record {
	return bySend(s.Records(), func(r *Record) bool {
		return r.Org == s.org.Name && r.Model == s.model.ID && r.Sent >= at
	})
}

// between counts what passed after the first refusal, up to the last.
func between(records []Record) (passed int, span time.Duration) {
	first, last, since := time.Duration(-1), time.Duration(-1), 0
	for i := range records {
		r := &records[i]
		switch {
		case r.Refused() && first < 0:
			first, last = r.Sent, r.Sent
		case r.Refused():
			last = r.Sent
			passed += since
			since = 0
		case r.OK() && first >= 0:
			since++
		}
	}
	return passed, last - first
}
