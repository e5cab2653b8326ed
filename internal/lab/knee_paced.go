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
	pacedStep     = 1.15 // where nothing was refused
	pacedRefusals = 7    // of one try: colleagues' calls may be among those refused
	pacedFor      = 100 * time.Second
	pacedTries    = 4
	pacedFar      = 0.08 // share of refusals above which the pace was far too high
)

// pacedTop sends at an even pace a little above what is thought to pass. At a
// refusal the bucket is empty, so that what passes between two of them is what
// refilled. New calls go before retry-after is over: none of them is one that
// was refused.
func (s *station) pacedTop(ctx context.Context, perMin float64, cap int) (hiddenTop, error) {
	pace := pacedOver * perMin / 60
	found := hiddenTop{Bound: true}
	for range pacedTries {
		began := s.clock.Now()
		d, err := s.drive(ctx, course{
			conc: cap, pace: pace, open: true,
			enough: func(d *drive) bool { return d.refused() >= pacedRefusals || s.clock.Now()-d.From > pacedFor },
		})
		if err != nil || d.Closed != "" || d.Grown > 0 {
			return found, err
		}
		passed, span := between(s.sentFrom(began))
		rate := float64(passed) / span.Seconds()
		if d.refused() < 3 || span <= 0 {
			kept := float64(d.Sent-d.refused()) / (d.To - d.From).Seconds()
			found = hiddenTop{PerMin: 60 * kept, Calls: d.Sent, Bound: true}
			if kept < 0.97*pace { // the places in flight hold it back
				return found, nil
			}
			pace *= pacedStep
			continue
		}
		found = hiddenTop{PerMin: 60 * rate, SE: 60 / span.Seconds(), Calls: passed}
		if float64(d.refused()) < pacedFar*float64(passed) {
			return found, nil
		}
		pace = pacedOver * rate
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
