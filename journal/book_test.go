package journal

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// A transaction that fails leaves the book as it was, whatever was in it.
func TestFailedTransactionIsUndone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBook(1, 1, "", sequences{})
		attempt := int64(0)
		for range rapid.IntRange(1, 10).Draw(rt, "transactions") {
			before := maps.Clone(b.open)
			live := liveSpans(b)
			sp := &span{}
			b.spans = append(b.spans, sp)
			for range rapid.IntRange(0, 8).Draw(rt, "changes") {
				if rapid.Bool().Draw(rt, "opens") {
					attempt++
					b.intend(attempt, openIntent{day: 1, worst: 5, span: sp})
				} else {
					b.end(rapid.Int64Range(0, attempt).Draw(rt, "attempt"), 1, 3)
				}
			}
			committed := rapid.Bool().Draw(rt, "committed")
			b.finish(committed)
			if !committed && (!maps.Equal(before, b.open) || liveSpans(b) != live) {
				rt.Fatalf("open %v, was %v", b.open, before)
			}
			if liveSpans(b) != len(b.open) || len(b.sums) != 0 {
				rt.Fatalf("%d live in spans, %d open, sums %v", liveSpans(b), len(b.open), b.sums)
			}
		}
	})
}

func liveSpans(b *book) (n int) {
	for _, sp := range b.spans {
		n += sp.live
	}
	return n
}

// What a transaction adds to the sums is what its records say.
func TestSums(t *testing.T) {
	b := newBook(1, 1, "", sequences{})
	sp := &span{}
	b.intend(1, openIntent{day: 30, worst: 500, span: sp})
	b.intend(2, openIntent{day: 31, worst: 50, span: sp})
	if day := b.end(1, 31, 120); day != 30 {
		t.Errorf("booked on %d, want the day of sending", day)
	}
	b.end(9, 31, 7) // of an intent that is not known
	for day, want := range map[int]sum{30: {spent: 120}, 31: {spent: 7, open: 50}} {
		if got := *b.sum(day); got != want {
			t.Errorf("day %d adds %+v, want %+v", day, got, want)
		}
	}
}
