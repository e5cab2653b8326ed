package emulator

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// small is an org of a few round numbers: 60 requests, 6,000 input and 600
// output tokens a minute, so one, a hundred and ten a second.
var small = Limits{Requests: 60, Input: 6000, Output: 600}

// one is a world of one org.
func one(o Org, change ...func(*Scenario)) Scenario {
	if o.Name == "" {
		o.Name = "org"
	}
	if o.Limits == (Limits{}) {
		o.Limits = small
	}
	sc := Scenario{Name: "test", Orgs: []Org{o}}
	for _, f := range change {
		f(&sc)
	}
	return sc
}

// call is one arrival in tests: body, estimate, output.
func call(t testing.TB, m *Model, now time.Duration, body int, in, out int64) *Exchange {
	t.Helper()
	return m.Arrive(now, Arrival{Model: model(t, "claude-haiku-4-5"), Hash: hashOf(body), Est: in, In: in, Out: out, MaxTokens: max(out, 100)})
}

// wantRefusal states one refusal whole.
func wantRefusal(t *testing.T, m *Model, x *Exchange, status int, class Class, after time.Duration, code, text string) {
	t.Helper()
	kind, gotCode, message := m.RefusalText(x)
	wantKind := "rate_limit_error"
	if status == 529 {
		wantKind = "overloaded_error"
	}
	if x.Status != status || x.Class != class || x.RetryAfter != after || kind != wantKind || gotCode != code || !strings.Contains(message, text) {
		t.Errorf("status %d, class %d, retry after %v, %s, code %q: %s", x.Status, x.Class, x.RetryAfter, kind, gotCode, message)
	}
}

func TestSteadyLimits(t *testing.T) {
	t.Run("requests", func(t *testing.T) {
		m := NewModel(one(Org{}), 1, epoch)
		for i := range 60 {
			if x := call(t, m, 0, i, 1, 1); x.Status != 200 {
				t.Fatalf("request %d refused", i)
			}
		}
		wantRefusal(t, m, call(t, m, 0, 60, 1, 1), 429, Steady, time.Second, "", "rate limit of 60 requests per minute")
		if x := call(t, m, time.Second, 61, 1, 1); x.Status != 200 {
			t.Errorf("refused after the wait it was told")
		}
	})
	t.Run("input", func(t *testing.T) {
		m := NewModel(one(Org{}), 1, epoch)
		call(t, m, 0, 0, 5900, 1)
		wantRefusal(t, m, call(t, m, 0, 1, 1050, 1), 429, Steady, 10*time.Second, "", "rate limit of 6,000 input tokens per minute")
		if x := call(t, m, 10*time.Second, 2, 1050, 1); x.Status != 200 {
			t.Errorf("refused after the wait it was told")
		}
	})
	t.Run("output goes negative and then blocks", func(t *testing.T) {
		m := NewModel(one(Org{}), 1, epoch)
		call(t, m, 0, 0, 1, 645)
		wantRefusal(t, m, call(t, m, 0, 1, 1, 1), 429, Steady, 5*time.Second, "", "rate limit of 600 output tokens per minute")
		if x := call(t, m, 5*time.Second, 2, 1, 1); x.Status != 200 {
			t.Errorf("refused after the wait it was told")
		}
	})
	t.Run("a request above the bucket passes when it is full", func(t *testing.T) {
		m := NewModel(one(Org{}), 1, epoch)
		if x := call(t, m, 0, 0, 7000, 1); x.Status != 200 {
			t.Errorf("refused by a full bucket")
		}
		if x := call(t, m, 0, 1, 7000, 1); x.RetryAfter != 70*time.Second {
			t.Errorf("retry after %v", x.RetryAfter)
		}
	})
	t.Run("workspace", func(t *testing.T) {
		m := NewModel(one(Org{Workspace: 600}), 1, epoch)
		call(t, m, 0, 0, 500, 80)
		x := call(t, m, 0, 1, 100, 1)
		wantRefusal(t, m, x, 429, Steady, 8*time.Second, "", "your workspace's rate limit of 600 tokens per minute")
	})
}

// In reserve mode max_tokens is charged at admission and the rest given back.
func TestReserveMode(t *testing.T) {
	m := NewModel(one(Org{ReserveOutput: true}, func(sc *Scenario) { sc.Latency.PerSecond = 10 }), 1, epoch)
	a := Arrival{Model: model(t, "claude-haiku-4-5"), Est: 1, In: 1, Out: 20, MaxTokens: 500}
	a.Hash = hashOf(1)
	x := m.Arrive(0, a)
	if got := m.Level(0, 0, "haiku-4.5", Output); got != 100 {
		t.Errorf("level %v after admission", got)
	}
	a.Hash = hashOf(2)
	wantRefusal(t, m, m.Arrive(0, a), 429, Steady, 40*time.Second, "", "output tokens")
	if got := m.Level(x.End, 0, "haiku-4.5", Output); got != 600 { // 100 + 2 s of refill + 480 given back, at most full
		t.Errorf("level %v at the end", got)
	}
}

func TestHiddenLimit(t *testing.T) {
	org := Org{Limits: Limits{Requests: 600, Input: 1e6, Output: 1e6}, Hidden: time.Second}
	m := NewModel(one(org), 1, epoch)
	for i := range 10 {
		if x := call(t, m, 0, i, 1, 1); x.Status != 200 {
			t.Fatalf("request %d refused", i)
		}
	}
	x := call(t, m, 0, 10, 1, 1)
	wantRefusal(t, m, x, 429, Hidden, time.Second, "", "rate limit of 600 requests per minute")
	if x.Reading.Remaining[Requests] != 590 {
		t.Errorf("the header shows %d left", x.Reading.Remaining[Requests])
	}
	org.HiddenUnnamed = true
	m = NewModel(one(org), 1, epoch)
	for i := range 11 {
		x = call(t, m, 0, i, 1, 1)
	}
	wantRefusal(t, m, x, 429, Hidden, time.Second, "", plainText)
}

func TestConcurrencyLimit(t *testing.T) {
	m := NewModel(one(Org{Concurrency: 2}, func(sc *Scenario) { sc.Latency.TTFT = time.Second }), 1, epoch)
	first := call(t, m, 0, 0, 1, 1)
	call(t, m, 0, 1, 1, 1)
	wantRefusal(t, m, call(t, m, 0, 2, 1, 1), 429, Concurrent, time.Second, "", "concurrent connections")
	m.Cancel(0, first)
	if x := call(t, m, 0, 3, 1, 1); x.Status != 200 {
		t.Errorf("refused though a slot is free")
	}
	if x := call(t, m, time.Second, 4, 1, 1); x.Status != 200 {
		t.Errorf("refused at the instant at which answers end")
	}
}

func TestSpendLimit(t *testing.T) {
	m := NewModel(one(Org{SpendUSD: 0.01}), 1, epoch)
	call(t, m, 0, 0, 5000, 1000) // exactly $0.01
	x := call(t, m, time.Minute, 1, 1, 1)
	wantRefusal(t, m, x, 429, SpendLimit, 0, "enforced_spend_limit_reached", "You will regain access on 2026-12-01 at 00:00 UTC.")
	month := date("2026-12-01").Sub(epoch)
	if x := call(t, m, month-1, 2, 1, 1); x.Class != SpendLimit {
		t.Errorf("open before the month ends")
	}
	if x := call(t, m, month, 3, 1, 1); x.Status != 200 {
		t.Errorf("closed in the new month")
	}
}

func TestDailyCap(t *testing.T) {
	m := NewModel(one(Org{Daily: DailyCap{Tokens: 3000, RetryAfter: 30 * time.Second}}), 1, epoch)
	call(t, m, 0, 0, 2000, 10)
	call(t, m, time.Hour, 1, 1000, 10)
	wantRefusal(t, m, call(t, m, 2*time.Hour, 2, 1, 1), 429, DailyLimit, 30*time.Second, "", plainText)
	if x := call(t, m, 24*time.Hour-time.Second, 3, 1, 1); x.Class != DailyLimit {
		t.Errorf("open after %v", 24*time.Hour-time.Second)
	}
	if x := call(t, m, 24*time.Hour+time.Minute, 4, 1, 1); x.Status != 200 {
		t.Errorf("still closed when the first use is a day old")
	}

	honest := NewModel(one(Org{Daily: DailyCap{Tokens: 3000, Text: true}}), 1, epoch)
	call(t, honest, 0, 0, 3000, 10)
	x := call(t, honest, time.Hour, 1, 1, 1)
	wantRefusal(t, honest, x, 429, DailyLimit, 23*time.Hour, "", "daily rate limit of 3,000 tokens per day")
}

func TestAdditiveAcceleration(t *testing.T) {
	org := Org{Limits: Limits{Requests: 1e6, Input: 100_000, Output: 1e6}, Acceleration: Acceleration{Kind: "additive"}}
	m := NewModel(one(org), 1, epoch)
	call(t, m, 0, 0, 9000, 1)
	x := call(t, m, 20*time.Second, 1, 2000, 1)
	wantRefusal(t, m, x, 429, Accelerated, 40*time.Second, "ramp_limit_exceeded",
		"Your current limit is 10,000 input tokens per minute, and will increase to 20,000 at the next minute boundary.")
	// Nine minutes of use raise the ceiling to the limit; then it is gone.
	for i := 1; i <= 9; i++ {
		now := time.Duration(i) * time.Minute
		ceiling := int64(10_000 * (i + 1))
		if x := call(t, m, now, 2*i, ceiling, 1); x.Status != 200 {
			t.Fatalf("minute %d: %d refused", i, ceiling)
		}
		if x := call(t, m, now, 2*i+1, 1, 1); x.Class != Accelerated && i < 9 {
			t.Errorf("minute %d: more than %d admitted", i, ceiling)
		}
	}
	if !m.lanes[0][poolIndex("haiku-4.5")].accel.off {
		t.Errorf("it still holds at the full limit")
	}
}

// Using 0.3 of a minute's ceiling earns the next step, less does not.
func TestAdditiveAccelerationIsEarned(t *testing.T) {
	for used, want := range map[float64]float64{2999: 10_000, 3000: 20_000} {
		s := newAcceleration(Acceleration{Kind: "additive"}, 100_000)
		s.take(used)
		s.rollMinutes(1)
		if s.ceil != want {
			t.Errorf("after %v tokens the ceiling is %v, want %v", used, s.ceil, want)
		}
	}
}

// An idle minute costs a step, down to the first ceiling.
func TestAdditiveAccelerationFalls(t *testing.T) {
	s := newAcceleration(Acceleration{Kind: "additive"}, 100_000)
	s.ceil = 50_000
	s.rollMinutes(3)
	if s.ceil != 20_000 {
		t.Errorf("after three idle minutes the ceiling is %v", s.ceil)
	}
	s.rollMinutes(1_000_000)
	if s.ceil != 10_000 || s.minute != 1_000_000 {
		t.Errorf("after many: %v at minute %d", s.ceil, s.minute)
	}
}

func TestRatioAcceleration(t *testing.T) {
	org := Org{Limits: Limits{Requests: 1e6, Input: 600_000, Output: 1e6}, Acceleration: Acceleration{Kind: "ratio"}}
	m := NewModel(one(org), 1, epoch)
	n := 0
	for ; call(t, m, 0, n, 1000, 1).Status == 200; n++ {
	}
	x := call(t, m, 0, n+1, 1000, 1)
	wantRefusal(t, m, x, 429, Accelerated, 5*time.Second, "", plainText)
	if x.Reading.Remaining[Input] < 500_000 {
		t.Errorf("the header shows %d left", x.Reading.Remaining[Input])
	}
	// Growth at the pace that the averages allow passes: half as much again a minute.
	m = NewModel(one(org), 1, epoch)
	refused, rate := 0, 20.0 // tokens a second
	for now := time.Duration(0); now < 30*time.Minute; now += time.Second {
		rate = min(10_000, rate*math.Pow(1.5, 1.0/60))
		if call(t, m, now, int(now/time.Second), int64(rate), 1).Status != 200 {
			refused++
		}
	}
	if refused > 0 {
		t.Errorf("%d of slow growth refused", refused)
	}
}

func TestStorm(t *testing.T) {
	sc := one(Org{Limits: Limits{1e9, 1e12, 1e12}})
	sc.Storm = Storm{Start: 2 * time.Minute, Every: 10 * time.Minute, Phases: storm.Phases}
	m := NewModel(sc, 1, epoch)
	for _, c := range []struct {
		at   time.Duration
		want float64
	}{
		{0, 0},
		{2*time.Minute - 1, 0},
		{2 * time.Minute, 0.9},
		{3*time.Minute - 1, 0.9},
		{3 * time.Minute, 0.5},
		{3*time.Minute + 30*time.Second, 0},
		{12 * time.Minute, 0.9},
		{13*time.Minute + 10*time.Second, 0.5},
	} {
		refused := 0
		for i := range 2000 {
			x := call(t, m, c.at, i, 1, 1)
			if x.Class == Overload {
				refused++
				wantRefusal(t, m, x, 529, Overload, 0, "", "Overloaded")
				if x.Reading.Known {
					t.Fatal("a 529 has limit headers")
				}
			}
			m.Release(x)
		}
		if got := float64(refused) / 2000; math.Abs(got-c.want) > 0.03 {
			t.Errorf("at %v: %v refused, want %v", c.at, got, c.want)
		}
	}
}

// A refusal uses up nothing.
func TestRefusalsAreFree(t *testing.T) {
	m := NewModel(one(Org{Concurrency: 1}, func(sc *Scenario) { sc.Latency.TTFT = time.Hour }), 1, epoch)
	call(t, m, 0, 0, 100, 1)
	level := func() string {
		return fmt.Sprint(m.Level(0, 0, "haiku-4.5", Requests), m.Level(0, 0, "haiku-4.5", Input), m.Level(0, 0, "haiku-4.5", Output))
	}
	before := level()
	for i := range 50 {
		if x := call(t, m, 0, i+1, 100, 1); x.Status != 429 {
			t.Fatal("admitted")
		}
	}
	if after := level(); after != before {
		t.Errorf("levels %s, before %s", after, before)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 58276: "58,276", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
