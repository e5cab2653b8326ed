package sched

import (
	"testing"
	"time"
)

// TestRetryGoesElsewhere: a call whose attempt failed at a lane that answers
// nobody is not that lane's next probe while others would take it: each of its
// attempts there may be billed.
func TestRetryGoesElsewhere(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	for i, org := range []string{"dead", "b", "c"} {
		w.lane(LaneConfig{Org: org, Pool: "p", Group: int32(i), Cap: 60}, 0, 0, 0)
	}
	most := 0
	tries := map[CallID]int{}
	w.fail = func(_ time.Duration, s Send) (Failure, bool) {
		if s.Lane != 0 {
			return 0, false
		}
		tries[s.Call]++
		most = max(most, tries[s.Call])
		return Cut, true
	}
	w.step(&AddStream{})
	for i := range 20 { // one call at a time, as from a caller that waits for each
		w.offer(1, Call{In: 100, MaxOut: 100, Out: 100})
		w.run(time.Duration(i+1) * 10 * time.Minute)
	}
	w.want(Succeeded, 20)
	if most > 1 {
		t.Errorf("a call was sent to the dead lane %d times", most)
	}
	t.Log(most, w.sends, w.end)
}
