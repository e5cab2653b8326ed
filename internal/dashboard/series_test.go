package dashboard

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

func values[T any](list []*T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

// A second in which nobody looked is a gap; one in which nothing happened is 0.
func TestSeriesLeavesGaps(t *testing.T) {
	s := newSeries()
	at := func(sec int) time.Time { return epoch.Add(time.Duration(sec) * time.Second) }
	for sec := range 5 {
		s.look(at(sec), &load{inFlight: 3, queued: sec})
	}
	s.observe(at(1), &flotilla.Observation{Class: "succeeded", Final: true, Cost: 5, Usage: price.Usage{Output: 60}})
	s.observe(at(1), &flotilla.Observation{Class: "overloaded"})
	s.observe(at(3), &flotilla.Observation{Class: "steady"})
	// The process sleeps from 5 to 19; a late tick at 22 vouches for 21 and 20.
	s.look(at(19), nil)
	s.look(at(22), nil)
	c := s.read(at(23), 1)
	if len(c.T) != 60 || c.Step != 1 || c.T[59] != at(22).Unix() {
		t.Fatalf("%d points of %d s, the last at %v", len(c.T), c.Step, time.Unix(c.T[len(c.T)-1], 0))
	}
	from := 60 - 23
	got := values(c.Calls[from:])
	want := []any{int64(0), int64(1), int64(0), int64(0), int64(0)}
	for range 14 {
		want = append(want, nil)
	}
	want = append(want, int64(0), int64(0), int64(0), int64(0))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("calls (-want +got):", diff)
	}
	if *c.Refused[from+1] != 1 || *c.By["overloaded"][from+1] != 1 || *c.By["steady"][from+3] != 1 || *c.Output[from+1] != 60 || *c.USD[from+1] != 5 {
		t.Error("refusals, tokens or dollars are not where they happened")
	}
	if *c.InFlight[from+1] != 3 || *c.Queued[from+4] != 4 || c.InFlight[from+20] != nil {
		t.Error("what was in flight is not where it was seen, or is known of a time when no fleet was")
	}
	for _, sec := range []int{0, 5, 10} {
		if p := s.second(at(sec).Unix()); (p.Calls == nil) != (sec != 0) {
			t.Errorf("second %d: %v", sec, p.Calls)
		}
	}
}

// Whatever the length of a chart, its sums are those of what happened in it.
func TestSeriesSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSeries()
		span := rapid.IntRange(1, 3*3600).Draw(t, "seconds")
		happened := rapid.SliceOfN(rapid.IntRange(0, span-1), 0, 50).Draw(t, "when")
		calls := make([]int64, span)
		for _, sec := range happened {
			calls[sec]++
		}
		for sec := range span {
			now := epoch.Add(time.Duration(sec) * time.Second)
			s.look(now, nil)
			for range calls[sec] {
				s.observe(now, &flotilla.Observation{Class: "succeeded", Final: true})
			}
		}
		minutes := rapid.IntRange(1, daySpan).Draw(t, "minutes")
		now := epoch.Add(time.Duration(span) * time.Second)
		c := s.read(now, minutes)
		if len(c.T) > maxPoints || len(c.T) == 0 || c.Step < 1 {
			t.Fatalf("%d points of %d s", len(c.T), c.Step)
		}
		var got, want int64
		for _, n := range c.Calls {
			if n != nil {
				got += *n
			}
		}
		for sec, n := range calls {
			if at := epoch.Unix() + int64(sec); at >= c.T[0] && at < c.T[len(c.T)-1]+c.Step {
				want += n
			}
		}
		if got != want {
			t.Fatalf("%d minutes: %d calls are shown, %d happened", minutes, got, want)
		}
	})
}
