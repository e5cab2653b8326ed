package route

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The candidates of a large job: sync 16 min and $310, batch 50 min and $155,
// both 12 min and $250, batch with sync by the deadline 8 h and $160.
var large = []Candidate{
	{P90: 16 * time.Minute, Cost: 310e9, Most: 315e9, SyncCalls: 141_600},
	{P90: 50 * time.Minute, Cost: 155e9, Most: 158e9},
	{P90: 12 * time.Minute, Cost: 250e9, Most: 255e9, SyncCalls: 90_000},
	{P90: 8 * time.Hour, Cost: 160e9, Most: 170e9, SyncCalls: 5_000},
}

func TestChoose(t *testing.T) {
	slow := []Candidate{large[0], {P90: 90 * time.Minute, Cost: 155e9, Most: 158e9}}
	for _, c := range []struct {
		name string
		of   []Candidate
		wish Wish
		want Choice
	}{
		{"fast", large, Wish{Prefer: Fast}, Choice{2, Quickest}},
		{"fast inside a cap", large, Wish{Prefer: Fast, Cap: 200e9}, Choice{1, Quickest}},
		{"cheap", large, Wish{Prefer: Cheap}, Choice{1, Cheapest}},
		{"balanced: batch within the hour", large, Wish{}, Choice{1, Cheapest}},
		{"balanced: batch is slow", slow, Wish{}, Choice{0, Cheapest}},
		{"balanced: twice the fastest is more than an hour", []Candidate{{P90: 50 * time.Minute, Cost: 310e9}, slow[1]}, Wish{}, Choice{1, Cheapest}},
		{"balanced with a deadline is cheap", slow, Wish{Deadline: 2 * time.Hour}, Choice{1, Cheapest}},
		{"cheap by a short deadline", large, Wish{Prefer: Cheap, Deadline: 20 * time.Minute}, Choice{2, Cheapest}},
		{"none meets it: the quickest", large, Wish{Prefer: Cheap, Deadline: 10 * time.Minute}, Choice{2, TooLate}},
		{"cap beats deadline", large, Wish{Prefer: Cheap, Deadline: 20 * time.Minute, Cap: 200e9}, Choice{1, TooLate}},
		{"cap beats preference", large, Wish{Prefer: Fast, Cap: 158e9}, Choice{1, Quickest}},
		{"none is inside the cap", large, Wish{Prefer: Fast, Cap: 100e9}, Choice{1, OverCap}},
		{"nothing is left", large, Wish{Cap: -1}, Choice{1, OverCap}},
		{"one", large[:1], Wish{}, Choice{0, Only}},
		{"one that is late", large[:1], Wish{Deadline: time.Minute}, Choice{0, TooLate}},
		{"none", nil, Wish{}, Choice{-1, NothingIn}},
		{"beyond a day, cheap takes the quickest", []Candidate{{P90: 30 * time.Hour, Cost: 1}, {P90: 26 * time.Hour, Cost: 2}}, Wish{Prefer: Cheap}, Choice{1, TooLate}},
		{
			"a tie goes to fewer sync calls",
			[]Candidate{{P90: 600 * time.Second, Cost: 310e9, SyncCalls: 1000}, {P90: 603 * time.Second, Cost: 320e9, SyncCalls: 10}},
			Wish{Prefer: Fast},
			Choice{1, Quickest},
		},
		{
			"but what is more than a hair is no tie",
			[]Candidate{{P90: 600 * time.Second, Cost: 310e9, SyncCalls: 1000}, {P90: 610 * time.Second, Cost: 200e9, SyncCalls: 10}},
			Wish{Prefer: Fast},
			Choice{0, Quickest},
		},
		{"what never ends is not taken", []Candidate{{P90: Never}, {P90: time.Hour, Cost: 5}}, Wish{}, Choice{1, Cheapest}},
		{"unless nothing ends", []Candidate{{P90: Never, Cost: 2}, {P90: Never, Cost: 1}}, Wish{}, Choice{1, Cheapest}},
	} {
		if got := Choose(c.of, c.wish); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func drawCandidate(t *rapid.T) Candidate {
	c := Candidate{
		P90:       time.Duration(rapid.IntRange(1, 3000).Draw(t, "p90")) * time.Minute,
		Cost:      rapid.Int64Range(1, 1000).Draw(t, "cost"),
		SyncCalls: rapid.Int64Range(0, 5).Draw(t, "sync"),
	}
	c.Most = c.Cost + rapid.Int64Range(0, 50).Draw(t, "more")
	return c
}

// Whatever is chosen, nothing that a stronger rule prefers was left.
func TestChooseKeepsItsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SliceOfN(rapid.Custom(drawCandidate), 1, 6).Draw(t, "of")
		w := Wish{
			Prefer:   Prefer(rapid.IntRange(0, 2).Draw(t, "prefer")),
			Deadline: time.Duration(rapid.IntRange(0, 3000).Draw(t, "deadline")) * time.Minute,
			Cap:      rapid.Int64Range(0, 1200).Draw(t, "cap"),
		}
		got := Choose(of, w)
		chosen := of[got.Index]
		inside := func(c Candidate) bool { return w.Cap == 0 || c.Most <= w.Cap }
		intime := func(c Candidate) bool { return w.Deadline == 0 || c.P90 <= w.Deadline }
		for _, c := range of {
			switch {
			case inside(c) && !inside(chosen):
				t.Fatalf("%+v is inside the cap, chosen %+v", c, chosen)
			case !inside(c): // the cap was the first to speak
			case intime(c) && !intime(chosen):
				t.Fatalf("%+v is in time, chosen %+v", c, chosen)
			case w.Prefer == Fast && float64(chosen.P90) > float64(c.P90)*(1+tie):
				t.Fatalf("%+v is quicker, chosen %+v", c, chosen)
			case w.Prefer != Fast && w.Deadline > 0 && intime(c) && intime(chosen) && float64(chosen.Cost) > float64(c.Cost)*(1+tie):
				t.Fatalf("%+v is cheaper, chosen %+v", c, chosen)
			case c == chosen:
			case c.P90 <= chosen.P90 && c.Cost <= chosen.Cost && c.SyncCalls < chosen.SyncCalls:
				t.Fatalf("%+v is better in every way, chosen %+v", c, chosen)
			}
		}
	})
}
