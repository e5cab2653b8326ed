package emulator

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Equal bodies get the same answers whatever tier they take: sync, batch, or
// some by each.
func TestTiersAnswerAlike(t *testing.T) {
	type answer struct {
		hash, stop int
		nth        uint32
		usage      Usage
	}
	run := func(bySync int) []answer {
		m := modelOf(t, "default", 7)
		sonnet := model(t, "claude-sonnet-4-6")
		body := func(i int) Arrival {
			return Arrival{Model: sonnet, Hash: hashOf(i % 150), Est: 400, MaxTokens: 70}
		}
		var out []answer
		now := time.Duration(0)
		for i := range bySync {
			x := m.Arrive(now, body(i))
			now = max(now, x.End)
			m.Finish(now, x)
			out = append(out, answer{i % 150, int(x.Stop), x.Answer, x.Usage})
			m.Release(x)
		}
		if bySync == 200 {
			return out
		}
		b, _ := m.Submit(now, 0, 200-bySync, 1, func(i int) Arrival { return body(bySync + i) })
		m.Advance(now + 24*time.Hour)
		b.Results(func(i int, r RowResult) bool {
			out = append(out, answer{(bySync + i) % 150, int(r.Stop), r.Answer, r.Usage})
			return true
		})
		return out
	}
	sorted := cmp.Transformer("sorted", func(as []answer) []answer {
		as = slices.Clone(as)
		slices.SortFunc(as, func(a, b answer) int { return (a.hash-b.hash)*10 + int(a.nth) - int(b.nth) })
		return as
	})
	want := run(200)
	for _, n := range []int{0, 90} {
		if diff := cmp.Diff(want, run(n), sorted, cmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("%d by sync: %s", n, diff)
		}
	}
}
