package emulator

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rowsOf are judge-shaped rows, numbered from a number on.
func rowsOf(t testing.TB, from int) func(i int) Arrival {
	sonnet := model(t, "claude-sonnet-4-6")
	return func(i int) Arrival {
		return Arrival{Model: sonnet, Hash: hashOf(from + i), Est: 400, In: 400, MaxTokens: 300}
	}
}

// submit makes a batch that must be taken.
func submit(t testing.TB, m *Model, now time.Duration, org, n, from int) *Batch {
	t.Helper()
	b, why := m.Submit(now, org, n, int64(n)*1500, rowsOf(t, from))
	if b == nil {
		t.Fatalf("refused: %+v", why)
	}
	return b
}

// endOf polls a batch each ten seconds until it has ended, or until limit.
func endOf(m *Model, b *Batch, limit time.Duration) time.Duration {
	for now := b.Created; now <= limit; now += 10 * time.Second {
		if b.Status(now) == Ended {
			return b.EndedAt
		}
	}
	return Never
}

// Without noise a batch takes its overhead and two rows a second; its rows are
// billed at half the price, and sync limits do not know of it.
func TestBatchPlain(t *testing.T) {
	m := modelOf(t, "steady", 1)
	b := submit(t, m, 0, 0, 500, 0)
	if s := b.Status(0); s != InProgress || m.Queued(0, 0) != 500 {
		t.Errorf("status %v, %d queued", s, m.Queued(0, 0))
	}
	if got := m.Waiting(2*time.Minute, 0); got != 380 || m.Queued(2*time.Minute, 0) != 500 {
		t.Errorf("after a minute of work %d rows wait", got)
	}
	if diff := cmp.Diff(BatchCounts{Processing: 500}, b.Counts(2*time.Minute)); diff != "" {
		t.Errorf("counts before the end: %s", diff)
	}
	if got := endOf(m, b, time.Hour); got != 310*time.Second {
		t.Errorf("ended at %v", got)
	}
	if diff := cmp.Diff(BatchCounts{Succeeded: 500}, b.Counts(time.Hour)); diff != "" {
		t.Errorf("counts after the end: %s", diff)
	}
	var ids []int
	cost := int64(0)
	b.Results(func(i int, r RowResult) bool {
		ids = append(ids, i)
		if want := (400*3000 + r.Usage.Output*15000 + 1) / 2; r.Kind != Succeeded || r.Cost != want {
			t.Fatalf("row %d: %+v, want it to cost %d", i, r, want)
		}
		cost += r.Cost
		return true
	})
	if slices.IsSorted(ids) {
		t.Error("the results are in the order of the rows")
	}
	slices.Sort(ids)
	if len(ids) != 500 || len(slices.Compact(ids)) != 500 {
		t.Errorf("%d results", len(ids))
	}
	st := m.Stats(time.Hour)
	want := BatchStats{Created: 1, Rows: 500, Succeeded: 500, PeakQueued: 500, Billed: cost}
	if diff := cmp.Diff(want, st.Orgs[0].Batches); diff != "" {
		t.Errorf("stats: %s", diff)
	}
	if st.Billed != cost || st.Distinct != 500 || st.Requests != 0 || len(st.Orgs[0].Pools) != 0 {
		t.Errorf("stats %+v", st)
	}
	if l := m.Level(time.Hour, 0, "sonnet-4.x", Input); l != 10_000_000 {
		t.Errorf("input level %v", l)
	}
}

// Eight batches of an org are worked off at once, whatever their size; the
// ninth waits in the order of creation, and other orgs do not feel it.
func TestBatchPlaces(t *testing.T) {
	m := modelOf(t, "steady", 1)
	var bs []*Batch
	for i := range 18 {
		bs = append(bs, submit(t, m, 0, 0, 120, i*120))
	}
	other := submit(t, m, 0, 1, 120, 9000)
	m.Advance(time.Hour)
	for i, b := range bs {
		if want := 2*time.Minute + time.Duration(i/8)*time.Minute; b.EndedAt != want {
			t.Errorf("batch %d ended at %v, want %v", i, b.EndedAt, want)
		}
	}
	if other.EndedAt != 2*time.Minute {
		t.Errorf("the other org's ended at %v", other.EndedAt)
	}
}

// The default's noise moves no mean: a batch of 8,000 takes a bit over an hour,
// one of 500 about five minutes, as facts/control.md D has them.
func TestBatchDefaultPace(t *testing.T) {
	for _, c := range []struct {
		rows                        int
		mean, least, most, inMiddle time.Duration
	}{
		{500, 316 * time.Second, 150 * time.Second, 10 * time.Minute, 15 * time.Second},
		{8000, 68 * time.Minute, 52 * time.Minute, 84 * time.Minute, 90 * time.Second},
	} {
		sum, n := time.Duration(0), 40
		for seed := range n {
			m := modelOf(t, "default", uint64(seed))
			end := endOf(m, submit(t, m, 0, 0, c.rows, 0), 3*time.Hour)
			if end < c.least || end > c.most {
				t.Errorf("seed %d: %d rows took %v", seed, c.rows, end)
			}
			sum += end
		}
		if mean := sum / time.Duration(n); (mean - c.mean).Abs() > c.inMiddle {
			t.Errorf("%d rows took %v on average, want about %v", c.rows, mean, c.mean)
		}
	}
}

// A canceled batch ends about 25 s later with what it had; which rows those
// are is arbitrary, and each row is there once.
func TestBatchCancel(t *testing.T) {
	m := modelOf(t, "steady", 1)
	b := submit(t, m, 0, 0, 1000, 0)
	at := 160 * time.Second
	m.CancelBatch(at, b)
	if b.Status(at) != Canceling || b.Status(at+10*time.Second) != Canceling {
		t.Errorf("status %v", b.Status(at))
	}
	end := endOf(m, b, time.Hour)
	if took := end - at; took < 12*time.Second || took > 50*time.Second {
		t.Errorf("ended %v after the cancel", took)
	}
	m.CancelBatch(end+time.Second, b) // changes nothing
	if diff := cmp.Diff(BatchCounts{Succeeded: 210, Canceled: 790}, b.Counts(end+time.Minute)); diff != "" {
		t.Errorf("counts: %s", diff)
	}
	first := 0
	b.Results(func(i int, r RowResult) bool {
		if r.Kind == Succeeded && i < 210 {
			first++
		}
		if (r.Kind == Succeeded) != (r.Cost > 0) {
			t.Errorf("row %d: %+v", i, r)
		}
		return true
	})
	if first == 210 {
		t.Error("the first rows were the ones processed")
	}

	early := submit(t, m, end, 0, 100, 5000)
	m.CancelBatch(end+time.Second, early)
	endOf(m, early, 2*time.Hour)
	if early.EndedAt > end+time.Minute || early.counts.Canceled != 100 {
		t.Errorf("canceled at once, it ended at %v with %+v", early.EndedAt-end, early.counts)
	}
}

// After 24 hours a batch ends with what it has, the rest expired and unbilled.
func TestBatchExpires(t *testing.T) {
	sc := steady()
	sc.Batches.RowsPerSecond = 0.01
	m := NewModel(sc, 1, epoch)
	b := submit(t, m, 0, 0, 2000, 0)
	if b.Status(24*time.Hour-time.Second) != InProgress {
		t.Error("ended before its time")
	}
	if b.Status(24*time.Hour) != Ended || b.EndedAt != 24*time.Hour {
		t.Errorf("status %v, ended at %v", b.Status(24*time.Hour), b.EndedAt)
	}
	if diff := cmp.Diff(BatchCounts{Succeeded: 863, Expired: 1137}, b.counts); diff != "" {
		t.Errorf("counts: %s", diff)
	}
}

// A create that does not fit into the queue is refused whole, and the time it
// is told to wait is enough.
func TestBatchQueueCap(t *testing.T) {
	sc := steady()
	sc.Orgs[0].BatchQueue = 1000
	m := NewModel(sc, 1, epoch)
	submit(t, m, 0, 0, 600, 0)
	submit(t, m, 0, 0, 400, 600)
	now := 2 * time.Minute
	b, why := m.Submit(now, 0, 500, 1, rowsOf(t, 2000))
	if want := (BatchRefusal{Status: 429, Class: QueueFull, RetryAfter: 65 * time.Second}); b != nil || why != want {
		t.Fatalf("%+v", why)
	}
	submit(t, m, now, 0, 240, 2000)
	if st := m.Stats(now).Orgs[0]; st.Batches.PeakQueued != 1000 || st.Pools[0].Refused[QueueFull] != 1 || st.Pools[0].Requests != 0 {
		t.Errorf("stats %+v", st)
	}
	now += why.RetryAfter
	submit(t, m, now, 0, 260, 3000)
}

func TestBatchRefusals(t *testing.T) {
	sc := steady()
	sc.Orgs[0].SpendUSD = 0.001
	sc.Storm = Storm{Start: time.Hour, Phases: []StormPhase{{time.Hour, 1}}}
	m := NewModel(sc, 1, epoch)
	refused := func(now time.Duration, n int, bytes int64) BatchRefusal {
		t.Helper()
		b, why := m.Submit(now, 0, n, bytes, rowsOf(t, 0))
		if b != nil {
			t.Error("it was taken")
		}
		return why
	}
	tooMuch := BatchRefusal{Status: 413, Class: Invalid}
	if got := refused(0, 100_001, 1); got != tooMuch {
		t.Errorf("100,001 rows: %+v", got)
	}
	if got := refused(0, 1, 256<<20+1); got != tooMuch {
		t.Errorf("256 MB and a byte: %+v", got)
	}
	if b, why := m.Submit(0, 1, 100_000, 256<<20, rowsOf(t, 0)); b == nil {
		t.Errorf("100,000 rows in 256 MB: %+v", why)
	}
	submit(t, m, 0, 0, 10, 0)
	if got := refused(10*time.Minute, 10, 1); got != (BatchRefusal{Status: 429, Class: SpendLimit}) {
		t.Errorf("over the month's dollars: %+v", got)
	}
	if got := refused(time.Hour, 10, 1); got != (BatchRefusal{Status: 529, Class: Overload}) {
		t.Errorf("in a storm: %+v", got)
	}
}

// Calls to batch endpoints have a bucket of their own.
func TestBatchCalls(t *testing.T) {
	m := modelOf(t, "tier-start", 1)
	for i := range 1000 {
		if ok, _ := m.BatchCall(0, 0); !ok {
			t.Fatalf("call %d refused", i)
		}
	}
	if ok, wait := m.BatchCall(0, 0); ok || wait != time.Second {
		t.Errorf("call 1001: %v, wait %v", ok, wait)
	}
	if ok, _ := m.BatchCall(0, 1); !ok {
		t.Error("the other org's call was refused")
	}
	if ok, _ := m.BatchCall(time.Second, 0); !ok {
		t.Error("refused after the wait")
	}
	if got := m.Stats(time.Second).Orgs[0].Batches.HTTPRequests; got != 1002 {
		t.Errorf("%d calls counted", got)
	}
}

// Colleagues' batches take room in the queue and places, show in the list, and
// count for nobody.
func TestBatchColleagues(t *testing.T) {
	sc := steady()
	sc.Orgs[0].BatchQueue = 1000
	sc.Orgs[0].BatchColleagues = []BatchColleague{{Rows: 700, Every: 5 * time.Minute, From: time.Minute, Until: time.Hour}}
	m := NewModel(sc, 1, epoch)
	if m.Queued(0, 0) != 0 || m.Queued(time.Minute, 0) != 700 {
		t.Errorf("%d rows queued", m.Queued(time.Minute, 0))
	}
	if _, why := m.Submit(time.Minute, 0, 400, 1, rowsOf(t, 0)); why.Class != QueueFull {
		t.Errorf("%+v", why)
	}
	submit(t, m, time.Minute, 0, 100, 0)
	m.Advance(2 * time.Hour)
	list := m.Batches(2*time.Hour, 0)
	if n := len(list); n != 12+1 || !list[0].Other || list[n-2].Other || list[0].Created != 56*time.Minute {
		t.Errorf("%d batches, the newest of %v", n, list[0].Created)
	}
	st := m.Stats(2 * time.Hour).Orgs[0]
	if st.Batches.Created != 1 || st.Batches.Succeeded != 100 || st.OtherRequests != 12 || st.OtherRefused != 0 {
		t.Errorf("stats %+v", st)
	}
	for i, b := range list {
		if m.BatchByID(2*time.Hour, 0, b.ID) != b || m.BatchByID(2*time.Hour, 1, b.ID) != nil {
			t.Errorf("batch %d is not found by its id", i)
		}
	}
	m.DeleteBatch(2*time.Hour, list[3])
	if len(m.Batches(2*time.Hour, 0)) != 12 || m.BatchByID(2*time.Hour, 0, list[3].ID) != nil {
		t.Error("the deleted batch is still there")
	}
}

// Rows that fail by the provider's own fault may be sent again, and fare anew.
func TestBatchErrored(t *testing.T) {
	sc := steady()
	sc.Batches.Errored = 0.3
	m := NewModel(sc, 1, epoch)
	rows := rowsOf(t, 0)
	b, _ := m.Submit(0, 0, 1000, 1, func(i int) Arrival {
		a := rows(i)
		a.Invalid = i < 10
		return a
	})
	m.Advance(time.Hour)
	classes := map[Class]int{}
	var again []int
	b.Results(func(i int, r RowResult) bool {
		if r.Kind == Errored {
			classes[r.Class]++
			if r.Class != Invalid {
				again = append(again, i)
			}
			if r.Cost != 0 || r.Usage != (Usage{}) {
				t.Errorf("billed %+v", r)
			}
		}
		return true
	})
	if classes[Invalid] != 10 || classes[Overload] < 100 || classes[Injected] < 100 || len(again) > 360 {
		t.Errorf("errors %v", classes)
	}
	b, _ = m.Submit(time.Hour, 0, len(again), 1, func(i int) Arrival { return rows(again[i]) })
	m.Advance(2 * time.Hour)
	if n := b.counts.Errored; n == 0 || n > int64(len(again)/2) {
		t.Errorf("%d of %d failed again", n, len(again))
	}
}

// One prefix in every row is written by the first and read by most others.
func TestBatchCache(t *testing.T) {
	m := modelOf(t, "default", 1)
	rows := rowsOf(t, 0)
	b, _ := m.Submit(0, 0, 1000, 1, func(i int) Arrival {
		a := rows(i)
		a.In, a.Est = 0, 2400
		a.Prefixes = []Prefix{{Hash: hashOf(99), Tokens: 2000, TTL: time.Hour}}
		return a
	})
	m.Advance(time.Hour)
	hits, tokens := 0, m.prefixTokens(&Prefix{Hash: hashOf(99), Tokens: 2000})
	b.Results(func(_ int, r RowResult) bool {
		u := r.Usage
		if u.CacheRead+u.CacheWrite1h != tokens || u.Input > 800 {
			t.Fatalf("usage %+v", u)
		}
		if u.CacheRead > 0 {
			hits++
		}
		return true
	})
	if hits < 650 || hits > 750 {
		t.Errorf("%d of 1000 found the prefix", hits)
	}
}

// With all luck one row writes the prefix, and all others read it.
func TestBatchCacheWriter(t *testing.T) {
	sc := steady()
	sc.Batches.CacheHits = 1
	m := NewModel(sc, 1, epoch)
	rows := rowsOf(t, 0)
	b, _ := m.Submit(0, 0, 50, 1, func(i int) Arrival {
		a := rows(i)
		a.In, a.Est = 0, 2400
		a.Prefixes = []Prefix{{Hash: hashOf(98), Tokens: 2000, TTL: 5 * time.Minute}}
		return a
	})
	m.Advance(time.Hour)
	writers := 0
	b.Results(func(_ int, r RowResult) bool {
		if r.Usage.CacheWrite5m > 0 {
			writers++
		}
		return true
	})
	if writers != 1 {
		t.Errorf("%d rows wrote the prefix", writers)
	}
}

// While there are places, what others do moves no batch's rate.
func TestBatchNeighbours(t *testing.T) {
	end := func(neighbours int) time.Duration {
		m := modelOf(t, "default", 4)
		b := submit(t, m, 0, 0, 2000, 0)
		for i := range neighbours {
			submit(t, m, 2*time.Minute+time.Duration(i)*7777*time.Millisecond, 0, 3, 10_000+3*i)
		}
		m.Advance(time.Hour)
		return b.EndedAt
	}
	if alone, among := end(0), end(20); (alone - among).Abs() > time.Microsecond {
		t.Errorf("alone it ends at %v, among others at %v", alone, among)
	}
}

// How often somebody looks changes nothing.
func TestBatchLooksAreFree(t *testing.T) {
	run := func(step time.Duration) (ends []time.Duration) {
		m := modelOf(t, "default", 3)
		var bs []*Batch
		for i := range 12 {
			now := time.Duration(i) * 7 * time.Second
			if step > 0 {
				for at := time.Duration(0); at < now; at += step {
					m.Advance(max(at, now-7*time.Second))
				}
			}
			bs = append(bs, submit(t, m, now, 0, 300+i, 1000*i))
		}
		for at := 90 * time.Second; step > 0 && at < 2*time.Hour; at += step {
			m.Waiting(at, 0)
		}
		m.Advance(3 * time.Hour)
		for _, b := range bs {
			ends = append(ends, b.EndedAt)
		}
		return ends
	}
	if diff := cmp.Diff(run(0), run(333*time.Millisecond)); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkBatches is 141,600 rows in batches of 500 over two orgs, with polls
// each minute, on virtual time.
func BenchmarkBatches(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		m := modelOf(b, "default", 1)
		var bs []*Batch
		for i := 0; i < 141_600; i += 500 {
			bs = append(bs, submit(b, m, 0, i/500%2, min(500, 141_600-i), i))
		}
		for now := time.Duration(0); m.Queued(now, 0)+m.Queued(now, 1) > 0; now += time.Minute {
			for _, x := range bs {
				x.Status(now)
			}
		}
	}
}
