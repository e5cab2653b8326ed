package emulator

import (
	"encoding/binary"
	"testing"
	"time"
)

var epoch = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// hashOf is a body's hash for tests that need no body.
func hashOf(n int) (h [16]byte) {
	binary.BigEndian.PutUint64(h[8:], uint64(n)+1)
	return h
}

func model(t testing.TB, name string) int {
	t.Helper()
	i, ok := ModelIndex(name)
	if !ok {
		t.Fatalf("no model %s", name)
	}
	return i
}

func modelOf(t testing.TB, name string, seed uint64) *Model {
	t.Helper()
	sc, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return NewModel(sc, seed, epoch)
}

// BenchmarkArriveFinish is one call through the model with 100 in flight.
func BenchmarkArriveFinish(b *testing.B) {
	m := modelOf(b, "default", 1)
	sonnet := model(b, "claude-sonnet-4-6")
	var flight []*Exchange
	now := time.Duration(0)
	b.ReportAllocs()
	for i := range b.N {
		now += 20 * time.Millisecond
		if len(flight) == 100 {
			x := flight[i%100]
			now = max(now, x.End)
			m.Finish(now, x)
			m.Release(x)
			flight[i%100] = m.Arrive(now, Arrival{Org: i % 3, Model: sonnet, Hash: hashOf(i % 100_000), Est: 200, MaxTokens: 120})
			continue
		}
		flight = append(flight, m.Arrive(now, Arrival{Org: i % 3, Model: sonnet, Hash: hashOf(i), Est: 200, MaxTokens: 120}))
	}
}

// An answer comes when it was said to, is billed at list price and counted.
func TestOneAnswer(t *testing.T) {
	m := modelOf(t, "steady", 1)
	x := m.Arrive(0, Arrival{Model: model(t, "claude-sonnet-4-6"), Hash: hashOf(1), Est: 1000, In: 4000, MaxTokens: 120, Out: 75})
	if x.Status != 200 || x.FirstToken != 1100*time.Millisecond || x.End != 2100*time.Millisecond {
		t.Fatalf("status %d, first token %v, end %v", x.Status, x.FirstToken, x.End)
	}
	if got := m.Level(0, 0, "sonnet-4.x", Input); got != 10_000_000-1000 {
		t.Errorf("input level after admission: %v", got)
	}
	m.Finish(x.End, x)
	want := int64(4000*3000 + 75*15000)
	if x.Cost() != want {
		t.Errorf("cost %d, want %d", x.Cost(), want)
	}
	st := m.Stats(x.End)
	if st.Requests != 1 || st.Succeeded != 1 || st.Distinct != 1 || st.Billed != want {
		t.Errorf("stats %+v", st)
	}
}
