package wire

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseLimits(t *testing.T) {
	h := header(
		"Date", "Sun, 12 Apr 2026 21:16:40 GMT",
		"anthropic-ratelimit-requests-limit", "1000", "anthropic-ratelimit-requests-remaining", "999",
		"anthropic-ratelimit-requests-reset", "2026-04-12T21:16:39Z",
		"anthropic-ratelimit-input-tokens-limit", "50000", "anthropic-ratelimit-input-tokens-remaining", "49000",
		"anthropic-ratelimit-input-tokens-reset", "2026-04-12T21:16:46Z",
		"anthropic-ratelimit-output-tokens-limit", "10000",
		"anthropic-ratelimit-tokens-limit", "60000", "anthropic-ratelimit-tokens-remaining", "59000",
		"anthropic-fast-output-tokens-limit", "7", "anthropic-priority-input-tokens-remaining", "8",
		"retry-after", "3",
	)
	at := func(s int) time.Time { return time.Date(2026, 4, 12, 21, 16, s, 0, time.UTC) }
	want := Limits{
		Date:          at(40),
		Requests:      Limit{1000, 999, at(39), true, true},
		Input:         Limit{50000, 49000, at(46), true, true},
		Output:        Limit{Limit: 10000, HasLimit: true},
		Tokens:        Limit{Limit: 60000, Remaining: 59000, HasLimit: true, HasRemaining: true},
		FastOutput:    Limit{Limit: 7, HasLimit: true},
		PriorityInput: Limit{Remaining: 8, HasRemaining: true},
	}
	got := ParseLimits(h)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !got.Requests.Known() || got.Output.Known() || got.Tokens.Known() {
		t.Errorf("known: requests %v, output %v, tokens %v", got.Requests.Known(), got.Output.Known(), got.Tokens.Known())
	}
	if none := ParseLimits(http.Header{}); none != (Limits{}) {
		t.Errorf("no headers: %+v", none)
	}
}

// peer-faults 2: an RFC 3339 reset was parsed as a number, the year in seconds;
// whatever cannot be parsed is ignored and counted.
func TestPeerFault2StrictHeaders(t *testing.T) {
	for _, reset := range []string{
		"2026", "2026-04-12", "1775941000", "6s", "12ms", "", "2026-04-12 21:16:46Z", "2026-04-12T21:16:46", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z",
	} {
		l := ParseLimits(header("anthropic-ratelimit-requests-reset", reset))
		if !l.Requests.Reset.IsZero() || l.Bad != 1 {
			t.Errorf("reset %q: taken for %s, %d counted as bad", reset, l.Requests.Reset, l.Bad)
		}
	}
	for _, count := range []string{"-1", "+1", "1.5", "1e3", "1,000", " 1", "0x10", "", "99999999999999999999", "NaN", "1000 "} {
		l := ParseLimits(header("anthropic-ratelimit-input-tokens-remaining", count))
		if l.Input.HasRemaining || l.Bad != 1 {
			t.Errorf("remaining %q: taken for %d, %d counted as bad", count, l.Input.Remaining, l.Bad)
		}
	}
	if l := ParseLimits(header("Date", "today", "retry-after", "soon", "retry-after-ms", "5s")); l.Bad != 3 || !l.Date.IsZero() {
		t.Errorf("bad Date and waits: %+v", l)
	}
}

// peer-faults 3: "500ms" was read as 500 seconds.
func TestPeerFault3RetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		ms, sec, date string
		want          time.Duration
		ok            bool
	}{
		{sec: "30", want: 30 * time.Second, ok: true},
		{sec: "1.5", want: 1500 * time.Millisecond, ok: true},
		{ms: "1500.5", sec: "30", want: 1500500 * time.Microsecond, ok: true},
		{ms: "500ms", sec: "2", want: 2 * time.Second, ok: true},
		{sec: "0", ok: true},
		{sec: "172800", want: 48 * time.Hour, ok: true}, // days are kept
		{sec: "2147483", want: 2147483 * time.Second, ok: true},
		{sec: date(90 * time.Second), want: 90 * time.Second, ok: true},
		{sec: date(90 * time.Second), date: date(60 * time.Second), want: 30 * time.Second, ok: true},
		{sec: date(-time.Hour), ok: true}, // durations clamp at 0 (peer-faults 6)
		{sec: "500ms"},
		{sec: "30s"},
		{sec: "-5"},
		{sec: "+5"},
		{sec: "1e3"},
		{sec: "NaN"},
		{sec: "Inf"},
		{sec: "0x10"},
		{sec: "1_000"},
		{sec: ""},
		{sec: "."},
		{sec: "2147484"}, // over 2^31-1 ms
		{sec: "99999999999999999999"},
		{sec: "2026-11-30T12:00:30Z"},
		{sec: date(100 * 24 * time.Hour)},
		{},
	} {
		h := http.Header{}
		for name, v := range map[string]string{"retry-after-ms": c.ms, "date": c.date} {
			if v != "" {
				h.Set(name, v)
			}
		}
		if c.sec != "" || c.ms == "" {
			h.Set("retry-after", c.sec)
		}
		if got, ok := RetryAfter(h, now); ok != c.ok || ok && got != c.want {
			t.Errorf("ms %q, s %q, date %q: %s %v, want %s %v", c.ms, c.sec, c.date, got, ok, c.want, c.ok)
		}
	}
	if got, ok := RetryAfter(header("retry-after", date(time.Minute)), time.Time{}); ok {
		t.Errorf("a date without any clock: %s", got)
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("1000", "999", "2026-04-12T21:16:46Z", "Sun, 12 Apr 2026 21:16:40 GMT", "30", "500")
	f.Add("-1", "1e9", "2026", "", "500ms", "NaN")
	f.Add("", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, limit, remaining, reset, date, wait, ms string) {
		h := header("anthropic-ratelimit-output-tokens-limit", limit, "anthropic-ratelimit-output-tokens-remaining", remaining,
			"anthropic-ratelimit-output-tokens-reset", reset, "date", date, "retry-after", wait, "retry-after-ms", ms)
		l := ParseLimits(h)
		if l.Output.Limit < 0 || l.Output.Remaining < 0 || l.Bad < 0 || l.Bad > 6 {
			t.Fatalf("%+v", l)
		}
		if d, ok := RetryAfter(h, l.Date); ok && (d < 0 || d > longestWait) {
			t.Fatalf("a wait of %s", d)
		}
	})
}
