package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// noon is a wall-clock time in the zone that texts are written in.
var noon = time.Date(2026, 11, 30, 12, 4, 10, 0, time.Local)

// TestPlainLine holds the shape of interface.md, "Texts".
func TestPlainLine(t *testing.T) {
	s := standing{
		at: noon, job: "7f3a", counts: counts{rows: 141600, done: 48210, spent: price.USD(101.22)}, cap: 310 * price.Dollar,
		rates: rates{calls: 8941}, eta: noon.Add(10 * time.Minute), limit: limitText("cap", &flotilla.LaneState{Org: "high", Cap: 100}),
	}
	want := "2026-11-30T12:04:10 7f3a 48,210/141,600 34 %  8,940/min  $101.22 of $310  0 rate-limited  ETA 12:14  limit: 100 per key"
	if diff := cmp.Diff(want, s.line()); diff != "" {
		t.Error(diff)
	}
}

func TestPercentIsWholeAtTheEndAlone(t *testing.T) {
	for _, c := range []struct {
		counts counts
		want   string
	}{
		{counts{rows: 1000, done: 999}, "99 %"},
		{counts{rows: 1000, done: 1000}, "100 %"},
		{counts{rows: 3, done: 0}, "0 %"},
		{counts{}, "100 %"},
	} {
		if got := (&standing{counts: c.counts}).percent(); got != c.want {
			t.Errorf("%+v is %s, want %s", c.counts, got, c.want)
		}
	}
}

func TestClockTimeNamesAnotherDay(t *testing.T) {
	if got := clockTime(noon.Add(13*time.Hour), noon); got != "Dec 1 01:04" {
		t.Error(got)
	}
}

// lockedBuffer is a buffer that is read while progress writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

// fakeJob is a job that finishes so many calls a minute on one lane.
type fakeJob struct {
	began     time.Time
	perMinute float64
	rows      int
	lane      flotilla.LaneState
}

func (j *fakeJob) calls() int {
	return min(int(time.Since(j.began).Minutes()*j.perMinute), j.rows)
}

func (j *fakeJob) counts() counts {
	n := j.calls()
	return counts{rows: j.rows, done: n, calls: n, in: int64(n) * 200, out: int64(n) * 60, spent: flotilla.Money(n) * price.Dollar / 100}
}

func (j *fakeJob) snapshot(context.Context) (flotilla.Snapshot, error) {
	l := j.lane
	l.Succeeded = int64(j.calls())
	return flotilla.Snapshot{At: time.Now(), Lanes: []flotilla.LaneState{l}}, nil
}

func (j *fakeJob) watched() watched {
	return watched{job: "7f3a", counts: j.counts, snapshot: j.snapshot}
}

func TestPlainProgressSpeaksOftenAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		j := &fakeJob{began: time.Now(), perMinute: 600, rows: 1e6, lane: flotilla.LaneState{Org: "high", Pool: "haiku-4.5", Tier: "sync", Waiting: "cap", Cap: 120}}
		p := newProgress(&plainView{&out}, false)
		p.start(j.watched())
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if n := strings.Count(out.String(), "\n"); n != 12 {
			t.Errorf("%d lines in the first minute:\n%s", n, out.String())
		}
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if n := strings.Count(out.String(), "\n"); n != 16 {
			t.Errorf("%d lines in five minutes:\n%s", n, out.String())
		}
		p.end()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		last := lines[len(lines)-1]
		if !strings.Contains(last, " 3,010/1,000,000 0 %  600/min ") || !strings.HasSuffix(last, "limit: 120 per key") {
			t.Error(last)
		}
	})
}

func TestEventsAreToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		j := &fakeJob{began: time.Now(), perMinute: 3000, rows: 100_000, lane: flotilla.LaneState{
			Org: "high", Pool: "haiku-4.5", Tier: "sync", Waiting: "itpm", Limits: flotilla.Limits{Input: 650_000},
		}}
		p := newProgress(&plainView{&out}, false)
		p.start(j.watched())
		time.Sleep(90*time.Second + time.Millisecond)
		synctest.Wait()
		out.Reset()
		p.notify(flotilla.Notice{At: time.Now(), Kind: flotilla.ColleagueSeen, Org: "high", Pool: "haiku-4.5", Limit: "itpm", Value: 0.6})
		p.notify(flotilla.Notice{At: time.Now(), Kind: flotilla.ColleagueSeen, Org: "high", Pool: "haiku-4.5", Limit: "itpm", Value: 0.7}) // too soon
		p.notify(flotilla.Notice{At: time.Now(), Kind: flotilla.LaneParked, Org: "batch", Class: "auth"})
		p.notify(flotilla.Notice{At: time.Now(), Kind: flotilla.RampStep, Org: "high", Value: 60})
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 {
			t.Fatalf("events were told as %q", lines)
		}
		if want := "high: others now use ~60 % of input tokens; we go 3,000 → 1,300/min; ETA "; !strings.HasPrefix(lines[0], want) {
			t.Errorf("got  %s\nwant %s…", lines[0], want)
		}
		if want := "org batch: parked, its key is not accepted"; lines[1] != want {
			t.Errorf("got %q, want %q", lines[1], want)
		}
		p.end()
	})
}

// While every lane is closed nothing moves: the rate of the last minute says no
// end, and what holds the job is why they are.
func TestClosedLanesHaveNoETA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		var mu sync.Mutex
		j := &fakeJob{began: time.Now(), perMinute: 600, rows: 10_000, lane: flotilla.LaneState{Org: "high", Waiting: "cap", Cap: 120}}
		closed := false
		w := j.watched()
		w.snapshot = func(ctx context.Context) (flotilla.Snapshot, error) {
			mu.Lock()
			defer mu.Unlock()
			s, err := j.snapshot(ctx)
			if closed {
				l := &s.Lanes[0]
				l.Waiting, l.Closed, l.Class = "retry_after", true, "credit"
				low := *l
				low.Org = "low"
				s.Lanes = append(s.Lanes, low)
			}
			return s, err
		}
		p := newProgress(&plainView{&out}, false)
		p.start(w)
		time.Sleep(30*time.Second + time.Millisecond)
		synctest.Wait()
		if !strings.Contains(out.String(), "ETA") {
			t.Errorf("no ETA in\n%s", out.String())
		}
		mu.Lock()
		closed = true
		mu.Unlock()
		out.Reset()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		p.end()
		if s := out.String(); strings.Contains(s, "ETA") || !strings.Contains(s, "  limit: every lane is closed, its credit is used up\n") {
			t.Error(s)
		}
	})
}

// A lane where nothing of the API ever answers is told of, once.
func TestUnansweredLaneIsToldOnce(t *testing.T) {
	for _, c := range []struct {
		lane flotilla.LaneState
		want int
	}{
		{flotilla.LaneState{Org: "high", Sent: 4, InFlight: 1}, 1},
		{flotilla.LaneState{Org: "high", Sent: 4, InFlight: 2}, 0},                   // too few
		{flotilla.LaneState{Org: "high", Sent: 9, Overloaded: 9}, 0},                 // an answer
		{flotilla.LaneState{Org: "high", Sent: 9, RateLimited: 9}, 0},                // an answer
		{flotilla.LaneState{Org: "high", Sent: 9, Closed: true, Class: "credit"}, 0}, // was told of
	} {
		synctest.Test(t, func(t *testing.T) {
			var out lockedBuffer
			j := &fakeJob{began: time.Now(), rows: 10_000, lane: c.lane}
			p := newProgress(&plainView{&out}, false)
			p.start(j.watched())
			time.Sleep(time.Minute)
			synctest.Wait()
			p.end()
			if n := strings.Count(out.String(), "high: no answer of the API in 3 calls, but "); n != c.want {
				t.Errorf("%+v: told %d times:\n%s", c.lane, n, out.String())
			}
		})
	}
}

// The brake speaks of an overload only where the provider did.
func TestServerTroubleIsNoOverload(t *testing.T) {
	for refusals, want := range map[int64]string{
		0: "trouble on the way (5xx, resets)",
		3: "Anthropic overloaded (529)",
	} {
		if got := limitText("overload", &flotilla.LaneState{Org: "high", Overloaded: refusals}); got != want {
			t.Errorf("%d refusals: %q, want %q", refusals, got, want)
		}
	}
	if got := limitText("aimd", &flotilla.LaneState{Org: "batch", Tier: "batch"}); got != "org batch: our window of batches" {
		t.Error(got) // not a refusal, of which the line would count none
	}
	if got := limitText("retry_after", &flotilla.LaneState{Org: "batch", Closed: true, Class: "credit"}); got != "org batch: its credit is used up" {
		t.Error(got)
	}
}

func TestRisksAreForetoldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		j := &fakeJob{began: time.Now(), perMinute: 600, rows: 10_000, lane: flotilla.LaneState{Org: "high"}}
		w := j.watched()
		w.deadline = time.Now().Add(10 * time.Minute)
		w.cap = 20 * price.Dollar // gone after 2,000 calls
		p := newProgress(&plainView{&out}, false)
		p.start(w)
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		p.end()
		if n := strings.Count(out.String(), "at risk"); n != 1 {
			t.Errorf("the deadline was told %d times:\n%s", n, out.String())
		}
		if n := strings.Count(out.String(), "% of the cap is spent: $18.0"); n != 1 {
			t.Errorf("the cap was told %d times:\n%s", n, out.String())
		}
	})
}

func TestJSONProgressIsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		j := &fakeJob{began: time.Now(), perMinute: 600, rows: 1000, lane: flotilla.LaneState{Org: "high", Pool: "haiku-4.5", Tier: "sync", Waiting: "cap", Cap: 120, InFlight: 7}}
		p := newProgress(&jsonView{&out}, false)
		p.notify(flotilla.Notice{At: time.Now(), Kind: flotilla.LaneReopened, Org: "high"})
		p.start(j.watched())
		time.Sleep(11 * time.Second)
		synctest.Wait()
		p.end()
		var kinds []string
		for line := range strings.Lines(out.String()) {
			var v struct {
				Type  string
				Lanes []struct {
					Org      string
					InFlight int `json:"in_flight"`
				}
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			kinds = append(kinds, v.Type)
			if v.Type == "progress" && (len(v.Lanes) != 1 || v.Lanes[0].InFlight != 7) {
				t.Error(line)
			}
		}
		if diff := cmp.Diff([]string{"event", "progress", "progress", "progress"}, kinds); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRatesForget sees that a rate is of the last minute.
func TestRatesForget(t *testing.T) {
	var m meter
	at, calls := noon, 0
	add := func(seconds, perSecond int) {
		for range seconds {
			at, calls = at.Add(time.Second), calls+perSecond
			m.add(counts{calls: calls}, &flotilla.Snapshot{At: at})
		}
	}
	add(300, 100)
	if r := m.rates().calls; r != 6000 {
		t.Errorf("%v calls a minute, want 6000", r)
	}
	add(61, 1)
	if r := m.rates().calls; r < 60 || r > 160 {
		t.Errorf("%v calls a minute after a minute of 60", r)
	}
	if len(m.glances) > 70 {
		t.Errorf("%d glances are kept", len(m.glances))
	}
	if eta := m.eta(120); eta.Sub(at) < time.Minute || eta.Sub(at) > 2*time.Minute {
		t.Errorf("120 calls end in %v", eta.Sub(at))
	}
}
