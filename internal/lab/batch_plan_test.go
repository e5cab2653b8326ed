package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

func batchEnv(orgs int, queue int64) *Env {
	e := &Env{Seed: 1}
	for _, name := range orgNames(orgs) {
		e.Orgs = append(e.Orgs, Org{Name: name, BatchQueue: queue})
	}
	return e
}

// All batch experiments together leave room under the $20 of the structural
// ones (issue 4), and none fills more than four fifths of a queue.
func TestBatchEstimates(t *testing.T) {
	e := batchEnv(3, 500_000)
	sum := price.Nanos(0)
	for _, x := range []Experiment{BatchDepth(), BatchSize(), BatchCliff(), BatchAdditivity(), BatchMechanism()} {
		est := x.Estimate(e)
		cost := est.Cost(price.Published())
		t.Logf("%-17s %9s with a reserve of %s, %v", x.Name(), cost, est.Reserve, est.Takes)
		if est.Refused != "" || est.Reserve <= 0 || est.Takes <= 0 || len(est.Lines) == 0 {
			t.Errorf("%s: %+v", x.Name(), est)
		}
		sum += cost
	}
	if sum > 15*price.Dollar {
		t.Errorf("%s in all", sum)
	}
	// 136,000 rows at $2.25e-5 are $3.06, and some of one row (facts/control.md E.3).
	est := BatchMechanism().Estimate(e)
	if got := (est.Cost(price.Published()) - est.Reserve).Float(); got < 3.06 || got > 3.07 {
		t.Errorf("the cells cost $%.4f", got)
	}
}

func TestDepthLevels(t *testing.T) {
	for _, c := range []struct {
		queue int64
		want  []int
	}{
		{500_000, []int{500, 2000, 8000, 50_000, 200_000}},
		{200_000, []int{500, 2000, 8000, 50_000, 160_000}},
		{100_000, []int{500, 2000, 8000, 50_000}},
		{25_000, []int{500, 2000, 8000, 20_000}},
		{600, nil},
	} {
		e := batchEnv(1, c.queue)
		got := batchDepth{}.levels(e, &e.Orgs[0])
		if len(got) != len(c.want) || len(got) > 0 && got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("cap %d: levels %v, want %v", c.queue, got, c.want)
		}
	}
}

// What no queue could hold is refused beforehand.
func TestBatchNeedsRoom(t *testing.T) {
	e := batchEnv(2, 600)
	for _, x := range []Experiment{BatchDepth(), BatchSize(), BatchCliff(), BatchAdditivity(), BatchMechanism()} {
		if est := x.Estimate(e); est.Refused == "" || est.Hint == "" {
			t.Errorf("%s: %+v", x.Name(), est)
		}
	}
}

// In each cell every arm is carried out once, on its own org where there are
// three, never two on one queue at the same time; over the cells each org has
// each role.
func TestCellRoles(t *testing.T) {
	arms := []string{armBig, armMany, armIdle}
	for k := 1; k <= 4; k++ {
		orgs := orgNames(k)
		roles := map[string]int{}
		for _, c := range cells() {
			seenArms := map[string]bool{}
			for _, r := range c.rounds(orgs) {
				byOrg := map[string]string{}
				for _, l := range r.Lots {
					for _, arm := range arms {
						if !strings.HasPrefix(l.Name, arm) {
							continue
						}
						if other := byOrg[l.Org]; other != "" && other != arm {
							t.Errorf("%d orgs, %s: %s and %s on %s", k, r.Name, other, arm, l.Org)
						}
						byOrg[l.Org] = arm
						if !seenArms[arm] {
							roles[l.Org+" "+arm]++
						}
						seenArms[arm] = true
					}
					if l.At+l.Cut != horizon {
						t.Errorf("%s is looked at after %v", l.Name, l.At+l.Cut)
					}
				}
			}
			if len(seenArms) != len(arms) {
				t.Errorf("%d orgs, %s: arms %v", k, c.name(), seenArms)
			}
		}
		for _, org := range orgs[:min(k, 3)] {
			for _, arm := range arms {
				if n := roles[org+" "+arm]; n < 1 {
					t.Errorf("%d orgs: %s never has the role %q: %v", k, org, arm, roles)
				}
			}
		}
	}
}

func TestNextHour(t *testing.T) {
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	for _, c := range []struct {
		now  time.Time
		hour int
		want time.Time
	}{
		{at(3, 10, 59), 11, at(3, 11, 0)},
		{at(3, 11, 0), 11, at(3, 11, 0)},
		{at(3, 11, 9), 11, at(3, 11, 9)},
		{at(3, 11, 10), 11, at(4, 11, 0)},
		{at(30, 22, 0), 3, time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)},
	} {
		if got := nextHour(c.now, c.hour); !got.Equal(c.want) {
			t.Errorf("%v, %d h: %v, want %v", c.now, c.hour, got, c.want)
		}
	}
}

// A lot's rate: by its own end, or by what it had done when it was canceled.
func TestPooledRate(t *testing.T) {
	began := epoch
	lotOf := func(done, canceled int, worked, after time.Duration) outcome {
		o := outcome{lot: lot{Rows: done + canceled}, Created: began, Ended: began.Add(worked + after), Succeeded: done, Canceled: canceled}
		if canceled > 0 {
			o.Asked = began.Add(worked)
		}
		return o
	}
	for _, c := range []struct {
		name string
		lots []outcome
		want float64
	}{
		{"whole", []outcome{lotOf(200, 0, 160*time.Second, 0)}, 2},
		{"canceled", []outcome{lotOf(216, 7784, 10*time.Minute, 25*time.Second)}, .4},
		{"nothing done", []outcome{lotOf(0, 8000, 10*time.Minute, 25*time.Second)}, .5 / 540},
		{"quicker than the overhead", []outcome{lotOf(10, 0, 40*time.Second, 0)}, 1},
		{"two", []outcome{lotOf(200, 0, 160*time.Second, 0), lotOf(100, 0, 160*time.Second, 0)}, 1.5},
	} {
		if got := pooledRate(c.lots, time.Minute); got < c.want*.999 || got > c.want*1.001 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}
