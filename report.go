package flotilla

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Report is how a Carry went. Times and rates are on the scaled clock.
type Report struct {
	Cause          Cause
	Budget         *BudgetExceededError // with CapReached
	Started, Ended time.Time
	RealWall       time.Duration // on the machine's clock

	Attempts        int
	Hedges          int
	HedgeCost       Money // of attempts whose answer was not used
	FailedCost      Money // of attempts that gave no answer, in doubt ones at worst case
	InDoubt         int   // attempts whose outcome is unknown
	TransportErrors int   // attempts without an answer of the API: broken connections, 5xx but 529, pages of a proxy

	// The shortest time in which anybody could have done this work, and the
	// shortest that keeps the floors and the ramp (facts/control.md C.1), from
	// the tokens and latencies that were measured. 0: unknown.
	Bound, PoliteBound time.Duration
	FurtherOrg         time.Duration // what one more org like the best would save of PoliteBound; 0: nothing

	P50, P95, P99 time.Duration // of calls by sync
	Lanes         []LaneReport
	Closed        []ClosedLane // lanes that were closed at the end
	Binding       []Binding    // what the time went into; shares sum to 1

	Running []RunningBatch // batches left at the provider: the next run takes them over
	Orphans []OpenBatch    // batches of earlier runs whose org has no key here: their rows stay out
}

// LaneReport is one lane's part in a Report.
type LaneReport struct {
	Org, Pool, Tier string
	N, Succeeded    int
	Attempts        int
	P50, P95        time.Duration
	Cost            Money
	Peak            int // most in flight
	Cap             int

	Steady, Acceleration, Hidden, Concurrency, Daily, Spend, QueueFull int // refusals by class
	Overloaded                                                         int
	Auth, Permission, Credit, Hold                                     int
	SoftFloor, HardFloor                                               time.Duration // time spent waiting at them
}

// RateLimited is how many attempts a limit refused.
func (l *LaneReport) RateLimited() int {
	return l.Steady + l.Acceleration + l.Hidden + l.Concurrency + l.Daily + l.Spend + l.QueueFull
}

// ClosedLane is a lane that takes no calls.
type ClosedLane struct {
	Org, Pool string
	Class     string
	Reopens   time.Time // zero: unknown, or not before a person acts
}

// Binding is a limit and its share of the time in which calls waited.
type Binding struct {
	Limit           string // the names of interface.md, "--summary"
	Org, Pool, Tier string
	Share           float64
	OneStep         *OneStep // nil: nobody can raise it
}

// laneTally counts what one stream did on one lane.
type laneTally struct {
	n, succeeded, attempts int
	inherited              int // of n, in batches that earlier runs made
	cost                   Money
	latency                *hdrhistogram.Histogram
	work                   work
}

// work sums what the calls of a lane took, for the bounds.
type work struct {
	requests, input, output float64
	latency, least, most    time.Duration
}

// tally gathers a stream's Report.
type tally struct {
	began    time.Duration
	realFrom time.Duration
	before   []sched.LaneView
	lanes    map[sched.LaneID]*laneTally
	latency  *hdrhistogram.Histogram
	report   Report
}

// Histograms hold latencies from a millisecond to a day to two digits: enough
// for a p99 and small enough for one per lane.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(24*time.Hour/time.Millisecond), 2)
}

func (t *tally) start(f *Fleet, now time.Duration) {
	t.lanes = map[sched.LaneID]*laneTally{}
	t.began, t.realFrom = now, f.clock.elapsed()
	t.before = append([]sched.LaneView(nil), f.core.Lanes()...)
	t.latency = newHistogram()
	t.report.Started = f.clock.wall(now)
}

func (t *tally) lane(id sched.LaneID) *laneTally {
	l := t.lanes[id]
	if l == nil {
		l = &laneTally{latency: newHistogram()}
		t.lanes[id] = l
	}
	return l
}

func (t *tally) sent(s *sched.Send) {
	t.report.Attempts++
	t.lane(s.Lane).attempts++
	if s.Hedge {
		t.report.Hedges++
	}
}

// ended counts an attempt; unused says that its call was answered without it.
func (t *tally) ended(a *attempt, unused bool) {
	if a.answer.inDoubt() {
		t.report.InDoubt++
	}
	if unused {
		t.report.HedgeCost += a.charged()
		return
	}
	if a.answer.outage() {
		t.report.TransportErrors++
	}
	if !a.answer.succeeded() {
		t.report.FailedCost += a.charged()
	}
}

func (t *tally) settled(r *Result, s *sched.Settle, a *attempt) {
	if a == nil {
		return
	}
	l := t.lane(a.lane)
	l.n++
	l.cost += r.Cost
	if s.Outcome != sched.Succeeded {
		return
	}
	l.succeeded++
	ms := max(int64(r.Latency/time.Millisecond), 1)
	_ = l.latency.RecordValue(ms)
	_ = t.latency.RecordValue(ms)
	w := &l.work
	w.requests++
	w.input += float64(r.Usage.Input + r.Usage.CacheWrite5m + r.Usage.CacheWrite1h)
	w.output += float64(r.Usage.Output)
	w.latency += r.Latency
	if w.least == 0 || r.Latency < w.least {
		w.least = r.Latency
	}
	w.most = max(w.most, r.Latency)
}

// batchRow counts a row's turn in a batch; r is nil where it did not settle it.
func (t *tally) batchRow(b *batch, r *Result, rec *Record) {
	l := t.lane(b.lane)
	l.attempts++
	t.report.Attempts++
	if rec.InDoubt {
		t.report.InDoubt++
		t.report.FailedCost += rec.Charged
	}
	if r == nil {
		return
	}
	l.n++
	if b.inherited {
		l.inherited++
	}
	l.cost += r.Cost
	if r.Err == nil {
		l.succeeded++
		_ = l.latency.RecordValue(max(int64(r.Latency/time.Millisecond), 1))
	}
}

// reportOn completes a stream's report.
func (f *Fleet) reportOn(now time.Duration, s *stream) Report {
	t := &s.tally
	r := &t.report
	r.Cause, r.Budget = s.cause, s.budget
	r.Ended = f.clock.wall(now)
	r.RealWall = f.clock.elapsed() - t.realFrom
	r.P50, r.P95, r.P99 = quantile(t.latency, 50), quantile(t.latency, 95), quantile(t.latency, 99)
	views := f.core.Lanes()
	for i := range views {
		var before sched.LaneView
		if i < len(t.before) {
			before = t.before[i]
		}
		f.reportLane(t, sched.LaneID(i), &views[i], &before)
	}
	r.Binding = bindings(views, t.before, s.route.Batch)
	f.bounds(t, views)
	return *r
}

func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	if h.TotalCount() == 0 {
		return 0
	}
	return time.Duration(h.ValueAtQuantile(q)) * time.Millisecond
}

func (f *Fleet) reportLane(t *tally, id sched.LaneID, v, before *sched.LaneView) {
	refused := func(c sched.Class) int { return int(v.Refused[c] - before.Refused[c]) }
	r := LaneReport{
		Org: v.Org, Pool: v.Pool, Tier: tierName(v.Tier), Peak: v.Peak, Cap: f.lanes[id].limit(),
		Steady:       int(v.Steady - before.Steady),
		Hidden:       int(v.Hidden - before.Hidden),
		Acceleration: int(v.Accel-before.Accel) + refused(sched.Acceleration),
		Concurrency:  refused(sched.Concurrency), Daily: refused(sched.Daily), Spend: refused(sched.Spend),
		QueueFull: refused(sched.QueueFull), Overloaded: refused(sched.Overloaded),
		Auth: refused(sched.Auth), Permission: refused(sched.Permission), Credit: refused(sched.Credit), Hold: refused(sched.Hold),
		SoftFloor: v.Clocks[sched.LimitSoftFloor] - before.Clocks[sched.LimitSoftFloor],
		HardFloor: v.Clocks[sched.LimitHardFloor] - before.Clocks[sched.LimitHardFloor],
	}
	if l := t.lanes[id]; l != nil {
		r.N, r.Succeeded, r.Attempts, r.Cost = l.n, l.succeeded, l.attempts, l.cost
		r.P50, r.P95 = quantile(l.latency, 50), quantile(l.latency, 95)
	}
	t.report.Lanes = append(t.report.Lanes, r)
	if v.Closed {
		c := ClosedLane{Org: v.Org, Pool: v.Pool, Class: className(v.Class)}
		if v.Reopens > 0 && v.Reopens < sched.Never {
			c.Reopens = f.clock.wall(v.Reopens)
		}
		t.report.Closed = append(t.report.Closed, c)
	}
}
