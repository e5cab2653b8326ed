package emulator

import (
	"testing"
	"time"
)

// readingAfter is the reading of the last of n requests of 700 input tokens,
// made at once in a world with the given headers.
func readingAfter(t *testing.T, n int, start time.Time, o Org) (*Model, Reading) {
	t.Helper()
	o.Limits = Limits{Requests: 600, Input: 60_000, Output: 6_000}
	m := NewModel(one(o), 1, start)
	var r Reading
	for i := range n {
		r = call(t, m, 0, i, 700, 1).Reading
	}
	return m, r
}

// Requests are exact, tokens rounded to the nearest thousand, and reset is the
// whole second before all is full again.
func TestReading(t *testing.T) {
	m, r := readingAfter(t, 2, epoch.Add(300*time.Millisecond), Org{})
	if r.Remaining[Requests] != 598 || r.Limit[Requests] != 600 {
		t.Errorf("requests %d of %d", r.Remaining[Requests], r.Limit[Requests])
	}
	if r.Remaining[Input] != 59_000 || r.Limit[Input] != 60_000 { // of 58,600
		t.Errorf("input %d of %d", r.Remaining[Input], r.Limit[Input])
	}
	if r.Limit[Tokens] != 66_000 || r.Remaining[Tokens] != 65_000 {
		t.Errorf("tokens %d of %d", r.Remaining[Tokens], r.Limit[Tokens])
	}
	for d, want := range map[Dim]time.Time{
		Requests: epoch,                      // 0.2 s after 300 ms
		Input:    epoch.Add(1 * time.Second), // 1.4 s after 300 ms
		Output:   epoch,
	} {
		if got := m.Start().Add(r.Reset[d]); !got.Equal(want) {
			t.Errorf("%s reset at %v, want %v", dimText[d], got, want)
		}
	}
	if r.Reset[Tokens] != r.Reset[Input] {
		t.Errorf("the sum resets at %v, input at %v", r.Reset[Tokens], r.Reset[Input])
	}
}

func TestReadingOfASmallBucket(t *testing.T) {
	_, r := readingAfter(t, 1, epoch, Org{Capacity: 0.1})
	if r.Limit[Requests] != 600 || r.Remaining[Requests] != 59 || r.Reset[Requests] != 0 {
		t.Errorf("a tenth of the limit shows as %d of %d, reset %v", r.Remaining[Requests], r.Limit[Requests], r.Reset[Requests])
	}
}

func TestReadingOfAWorkspace(t *testing.T) {
	_, r := readingAfter(t, 2, epoch, Org{Workspace: 30_000})
	if r.Limit[Tokens] != 30_000 || r.Remaining[Tokens] != 29_000 {
		t.Errorf("tokens %d of %d", r.Remaining[Tokens], r.Limit[Tokens])
	}
}

func TestHeaderFaults(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		if _, r := readingAfter(t, 1, epoch, Org{Headers: HeaderFaults{Missing: true}}); r.Known {
			t.Errorf("%+v", r)
		}
	})
	t.Run("factor", func(t *testing.T) {
		_, r := readingAfter(t, 80, epoch, Org{Headers: HeaderFaults{Factor: 1.5}})
		if r.Limit[Requests] != 900 || r.Remaining[Requests] != 780 || r.Limit[Input] != 90_000 || r.Remaining[Input] != 6_000 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("constant", func(t *testing.T) {
		_, r := readingAfter(t, 50, epoch, Org{Headers: HeaderFaults{Constant: true}})
		if r.Remaining[Requests] != 600 || r.Remaining[Input] != 60_000 || r.Reset[Requests] != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("skew", func(t *testing.T) {
		_, r := readingAfter(t, 1, epoch, Org{Headers: HeaderFaults{DateSkew: -30 * time.Second}})
		if r.Skew != -30*time.Second {
			t.Errorf("%+v", r)
		}
	})
	t.Run("dropped and stale", func(t *testing.T) {
		o := Org{Limits: Limits{1e6, 1e9, 1e9}, Headers: HeaderFaults{Drop: 0.3, Stale: 0.3}}
		m := NewModel(one(o), 1, epoch)
		dropped, stale := 0, 0
		last := int64(1e6)
		for i := range 2000 {
			r := call(t, m, 0, i, 1, 1).Reading
			switch {
			case !r.Known:
				dropped++
			case r.Remaining[Requests] == last:
				stale++
			default:
				last = r.Remaining[Requests]
			}
		}
		if dropped < 500 || dropped > 700 || stale < 320 || stale > 520 { // 0.3, and 0.3 of the rest
			t.Errorf("%d dropped, %d stale of 2000", dropped, stale)
		}
	})
}

func TestWholeSecond(t *testing.T) {
	m := NewModel(one(Org{}), 1, epoch.Add(700*time.Millisecond))
	for at, want := range map[time.Duration]time.Duration{
		0:                       -700 * time.Millisecond,
		299 * time.Millisecond:  -700 * time.Millisecond,
		300 * time.Millisecond:  300 * time.Millisecond,
		1300 * time.Millisecond: 1300 * time.Millisecond,
		-800 * time.Millisecond: -1700 * time.Millisecond,
	} {
		if got := m.WholeSecond(at); got != want {
			t.Errorf("%v: %v, want %v", at, got, want)
		}
	}
}
