package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"pgregory.net/rapid"
)

// The heap gives flights in the order of a sorted list, whatever is taken out
// of its middle.
func TestFlightsAgreeWithAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h flights
		var list []*flight
		last := sched.AttemptID(0)
		less := func(a, b *flight) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(a.attempt - b.attempt)
		}
		push := func(*rapid.T) {
			last++
			f := &flight{at: time.Duration(rapid.IntRange(0, 20).Draw(t, "at")), attempt: last}
			h.push(f)
			list = append(list, f)
			slices.SortFunc(list, less)
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": push,
			"pop": func(t *rapid.T) {
				if len(list) == 0 {
					t.Skip("empty")
				}
				if got := h.pop(); got != list[0] {
					t.Fatalf("popped (%v, %d), want (%v, %d)", got.at, got.attempt, list[0].at, list[0].attempt)
				}
				list = list[1:]
			},
			"drop": func(t *rapid.T) {
				if len(list) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(list)-1).Draw(t, "i")
				h.drop(list[i])
				h.drop(list[i]) // it is not there any more
				list = slices.Delete(list, i, i+1)
			},
			"": func(t *rapid.T) {
				if len(h) != len(list) {
					t.Fatalf("%d flights, want %d", len(h), len(list))
				}
				for i, f := range h {
					if f.pos != i {
						t.Fatalf("flight at %d says %d", i, f.pos)
					}
				}
			},
		})
	})
}
