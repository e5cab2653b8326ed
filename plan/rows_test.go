package plan

import (
	"testing"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"pgregory.net/rapid"
)

// slowRows is what rows is, written down plainly.
type slowRows struct {
	call  func(i int) Call
	taken []bool
}

func (s *slowRows) pull(only bool) int {
	for i, t := range s.taken {
		if !t && (!only || s.call(i).Alone) {
			s.taken[i] = true
			return i
		}
	}
	return -1
}

func (s *slowRows) pullFar(pool int32, want *sched.Gather) (got []int32) {
	var bytes, worst int64
	for i := len(s.taken) - 1; i >= 0 && int64(len(got)) < want.Rows; i-- {
		c := s.call(i)
		if s.taken[i] || c.Alone || c.Sched.Pool != pool {
			continue
		}
		if bytes += c.size(); len(got) > 0 && bytes > want.Bytes {
			break
		}
		if worst += c.batchWorst(); worst > want.Worst {
			break
		}
		s.taken[i] = true
		got = append(got, int32(i))
	}
	return got
}

func (s *slowRows) left(pool int32) (rows, bytes int64) {
	for i, t := range s.taken {
		if c := s.call(i); !t && !c.Alone && c.Sched.Pool == pool {
			rows++
			bytes += c.size()
		}
	}
	return rows, bytes
}

// Both ends of the source give what a plain search gives, whatever comes back
// in between.
func TestRowsAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Call {
			return Call{
				Sched: sched.Call{Pool: int32(rapid.IntRange(0, 1).Draw(t, "pool")), Worst: rapid.Int64Range(1, 9).Draw(t, "worst")},
				Size:  rapid.Int64Range(1, 9).Draw(t, "size"), Alone: rapid.IntRange(0, 3).Draw(t, "alone") == 0,
			}
		}), 0, 200).Draw(t, "calls")
		call := func(i int) Call { return calls[i] }
		r := newRows(len(calls), call)
		r.sort(func(c *Call) int32 { return c.Sched.Pool }, 2)
		twin := &slowRows{call: call, taken: make([]bool, len(calls))}
		var out []int
		for range 60 {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				only := rapid.Bool().Draw(t, "only")
				i, _, ok := r.pull(only)
				want := twin.pull(only)
				if ok != (want >= 0) || ok && i != want {
					t.Fatalf("pull gives %d (%v), want %d", i, ok, want)
				}
				if ok {
					out = append(out, i)
				}
			case 2:
				pool := int32(rapid.IntRange(0, 1).Draw(t, "of"))
				want := sched.Gather{
					Rows: rapid.Int64Range(1, 40).Draw(t, "rows"), Bytes: rapid.Int64Range(1, 200).Draw(t, "bytes"),
					Worst: rapid.Int64Range(1, 100).Draw(t, "most"),
				}
				got, _, _ := r.pullFar(pool, &want)
				slow := twin.pullFar(pool, &want)
				if len(got) != len(slow) {
					t.Fatalf("a batch of %v, want %v", got, slow)
				}
				for k := range got {
					if got[k] != slow[k] {
						t.Fatalf("a batch of %v, want %v", got, slow)
					}
					out = append(out, int(got[k]))
				}
			case 3:
				if len(out) == 0 {
					continue
				}
				k := rapid.IntRange(0, len(out)-1).Draw(t, "back")
				r.back(out[k], 0, false)
				twin.taken[out[k]] = false
				out = append(out[:k], out[k+1:]...)
			}
			if r.left != len(calls)-len(out) {
				t.Fatalf("%d left of %d with %d out", r.left, len(calls), len(out))
			}
			for pool := range int32(2) {
				rows, bytes := twin.left(pool)
				if p := r.piles[pool]; p.rows != rows || int64(p.bytes) != bytes {
					t.Fatalf("pool %d has %d rows of %v bytes, want %d of %d", pool, p.rows, p.bytes, rows, bytes)
				}
			}
		}
	})
}
