package lab

import "fmt"

// disturbance is what was in the queues beside an experiment's own batches.
type disturbance struct {
	others map[string]int64 // most rows of colleagues' batches, by org
	doubt  int              // creates of which nothing was heard
}

func (d *disturbance) take(s *seen) {
	if d.others == nil {
		d.others = map[string]int64{}
	}
	for org, n := range s.Others {
		d.others[org] = max(d.others[org], n)
	}
	d.doubt += s.Doubt
}

// addDisturbance says so in a result.
func (r *Result) addDisturbance(d *disturbance) {
	for _, org := range sortedKeys(d.others) {
		n := d.others[org]
		if n == 0 {
			continue
		}
		r.Metrics = append(r.Metrics, Metric{Name: "others_queued", Org: org, Value: float64(n), Unit: "rows", Low: float64(n), High: float64(n), N: 1, Note: "most at once"})
		if n > manyRows {
			r.NotShown = append(r.NotShown, fmt.Sprintf("an empty queue on %s: colleagues had up to %d rows in it", org, n))
		}
	}
	if d.doubt > 0 {
		r.NotShown = append(r.NotShown, fmt.Sprintf("what became of %d creates of which nothing was heard: their rows may have been queued too", d.doubt))
	}
}
