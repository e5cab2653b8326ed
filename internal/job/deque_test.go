package job

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
)

// nothingSettled is a Standing in which nothing has settled, and some calls are in doubt.
type nothingSettled struct{ doubt map[int]bool }

func (nothingSettled) Outcome(int) Outcome     { return Pending }
func (nothingSettled) At(int) int64            { return 0 }
func (nothingSettled) Stop(int) string         { return "" }
func (nothingSettled) Superseded() []int64     { return nil }
func (s nothingSettled) InDoubt(call int) bool { return s.doubt[call] }
func (nothingSettled) Failed(int) int          { return 0 }
func (nothingSettled) Doubts() int             { return 0 }

// mixed are rows of two pools, of which every fifth asks for a stream.
func mixed(n int) string {
	var in strings.Builder
	for i := range n {
		model, extra := "claude-haiku-4-5", ""
		if i%3 == 1 {
			model = "claude-sonnet-4-6"
		}
		if i%5 == 4 {
			extra = `,"stream":true`
		}
		fmt.Fprintf(&in, `{"custom_id":"r/%d","params":{"model":%q,"max_tokens":%d,"messages":[{"role":"user","content":%q}]%s}}`+"\n",
			i, model, 5+i%7, strings.Repeat("x", i%11), extra)
	}
	return in.String()
}

func mixedIndex(t testing.TB, n int) *index {
	b := newBench(t)
	x, err := indexOf(t, Shape{Provider: "https://api.anthropic.com", Version: flotilla.DefaultVersion}, false, b.file("in.jsonl", mixed(n)))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// stocked is a source of all calls of an index, without canaries.
func stocked(x *index, doubt map[int]bool) *source {
	s := &source{
		x: x, name: "7f3a", limit: x.calls(), standing: nothingSettled{doubt}, again: map[int]resend{}, back: map[int]setback{},
		settled: newCallSet(x.calls()), canary: canary{out: -1}, left: x.calls(),
	}
	s.stock(nil)
	return s
}

// twin is a slow deque: a state for every call, looked through each time.
type twin struct {
	s     *source
	state []byte // f free, s out by sync, b in a batch, x settled
	doubt map[int]bool
}

func (w *twin) pick(far bool, ok func(call int) bool) int {
	for i := range w.state {
		call := i
		if far {
			call = len(w.state) - 1 - i
		}
		if w.state[call] == 'f' && ok(call) {
			return call
		}
	}
	return -1
}

func (w *twin) kind(call int) *kind { return &w.s.x.kinds[w.s.x.row(call).kind] }

func (w *twin) pull(most int, ok func(int) bool) (calls []int) {
	for len(calls) < most {
		call := w.pick(false, ok)
		if call < 0 {
			break
		}
		w.state[call] = 's'
		calls = append(calls, call)
	}
	return calls
}

func (w *twin) pullFar(want flotilla.Chunk) (calls []int) {
	for _, doubt := range []bool{false, true} {
		left := want
		passed := map[int]bool{}
		for len(calls) < want.Rows {
			call := w.pick(true, func(c int) bool {
				return w.kind(c).pool == want.Pool && !w.kind(c).alone && w.doubt[c] == doubt && !passed[c]
			})
			if call < 0 {
				break
			}
			f := w.s.row(call).Facts
			size, worst := itemSize(w.s.name, call, f.Size), f.Worst.ByBatch()
			if worst > left.Worst {
				passed[call] = true
				continue
			}
			if size > left.Bytes && len(calls) > 0 {
				break
			}
			left.Bytes, left.Worst = left.Bytes-size, left.Worst-worst
			w.state[call] = 'b'
			calls = append(calls, call)
		}
		if len(calls) > 0 {
			break
		}
	}
	return calls
}

func (w *twin) backlog() (out []flotilla.Backlog) {
	for _, pool := range []string{"haiku-4.5", "sonnet-4.x"} {
		var sum load
		family := ""
		for call := range w.state {
			if k := w.kind(call); k.pool == pool && !k.alone && w.state[call] == 'f' {
				family = k.family
				sum.add(w.s.weight(call))
			}
		}
		if sum.rows > 0 {
			out = append(out, sum.backlog(pool, family))
		}
	}
	return out
}

func (w *twin) of(state byte) (calls []int) {
	for call := range w.state {
		if w.state[call] == state {
			calls = append(calls, call)
		}
	}
	return calls
}

func indexes(rows []flotilla.Row) (calls []int) {
	for _, r := range rows {
		calls = append(calls, r.Index)
	}
	return calls
}

// The deque against its twin, over any order of taking, settling and giving back.
func TestDequeTwin(t *testing.T) {
	const n = 60
	x := mixedIndex(t, n)
	rapid.Check(t, func(rt *rapid.T) {
		doubt := map[int]bool{}
		for _, call := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 8).Draw(rt, "doubt") {
			doubt[call] = true
		}
		s := stocked(x, doubt)
		w := &twin{s: s, state: []byte(strings.Repeat("f", n)), doubt: doubt}
		same := func(what string, want []int, rows []flotilla.Row) {
			if diff := cmp.Diff(want, indexes(rows), cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("%s: %s", what, diff)
			}
			for _, r := range rows {
				if r.InDoubt != w.doubt[r.Index] {
					rt.Fatalf("%s: call %d is in doubt: %v", what, r.Index, r.InDoubt)
				}
			}
		}
		over := func(what string, rows []flotilla.Row, err error) {
			end := len(w.of('f')) == 0 && len(w.of('b')) == 0 && len(rows) == 0
			if errors.Is(err, io.EOF) != end || !end && err != nil {
				rt.Fatalf("%s: %v, with %q", what, err, w.state)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"pull": func(*rapid.T) {
				most := rapid.IntRange(1, 9).Draw(rt, "most")
				rows, err := s.Pull(most)
				same("Pull", w.pull(most, func(int) bool { return true }), rows)
				over("Pull", rows, err)
			},
			"ineligible": func(*rapid.T) {
				most := rapid.IntRange(1, 9).Draw(rt, "most")
				rows, err := s.PullIneligible(most)
				want := w.pull(most, func(call int) bool { return w.kind(call).alone && !w.doubt[call] })
				want = append(want, w.pull(most-len(want), func(call int) bool { return w.kind(call).alone })...)
				same("PullIneligible", want, rows)
				over("PullIneligible", rows, err)
			},
			"far": func(*rapid.T) {
				want := flotilla.Chunk{
					Pool: rapid.SampledFrom([]string{"haiku-4.5", "sonnet-4.x"}).Draw(rt, "pool"), Rows: rapid.IntRange(1, 12).Draw(rt, "rows"),
					Bytes: rapid.Int64Range(1, 2000).Draw(rt, "bytes"), Worst: flotilla.Money(rapid.Int64Range(0, 2_000_000).Draw(rt, "worst")),
				}
				rows, err := s.PullFar(want)
				if err != nil {
					rt.Fatal(err)
				}
				same("PullFar", w.pullFar(want), rows)
			},
			"return": func(*rapid.T) {
				if calls := w.of('b'); len(calls) > 0 {
					call := rapid.SampledFrom(calls).Draw(rt, "call")
					w.doubt[call] = rapid.Bool().Draw(rt, "doubted")
					s.Return([]flotilla.Row{{Index: call, Failed: 2, InDoubt: w.doubt[call]}, {Index: call}})
					w.state[call] = 'f'
					if failed, _ := s.setback(call); failed != 2 {
						rt.Fatalf("call %d failed %d times", call, failed)
					}
				}
			},
			"settle": func(*rapid.T) {
				if calls := append(w.of('b'), w.of('s')...); len(calls) > 0 {
					call := rapid.SampledFrom(calls).Draw(rt, "call")
					s.took(call)
					w.state[call] = 'x'
				}
			},
			"take": func(*rapid.T) {
				calls := rapid.SliceOfNDistinct(rapid.IntRange(0, n+3), 0, 5, rapid.ID[int]).Draw(rt, "calls")
				var want []int
				for _, call := range calls {
					if call < n && w.state[call] == 'f' {
						w.state[call] = 'b'
						want = append(want, call)
					}
				}
				same("Take", want, s.Take(calls))
			},
			"": func(*rapid.T) {
				near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
				got := s.Backlog()
				slices.SortFunc(got, func(a, b flotilla.Backlog) int { return strings.Compare(a.Pool, b.Pool) })
				if diff := cmp.Diff(w.backlog(), got, cmp.Comparer(near)); diff != "" {
					rt.Fatalf("backlog: %s", diff)
				}
			},
		})
	})
}

// Rows of a batch may go only when the canary of their shape has passed, and it
// goes by sync even where all else is for batches.
func TestCanaryHoldsBatches(t *testing.T) {
	s := stocked(mixedIndex(t, 30), nil)
	s.hook, s.w = func(*Answer, resend) {}, &writer{x: s.x, form: outTable, old: newStandingOut(30), retried: map[int]string{}}
	s.canary = canaries(s.x, s.limit, func(int) bool { return false }, s.free.has)
	want := flotilla.Chunk{Pool: "haiku-4.5", Rows: 50, Bytes: 1 << 20, Worst: flotilla.USD(1)}
	for range 4 { // two models, with stream and without
		if b := s.Backlog(); len(b) != 0 {
			t.Fatalf("backlog %v with a canary left", b)
		}
		rows, err := s.PullIneligible(10)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d canaries, %v", len(rows), err)
		}
		if again, err := s.Pull(10); len(again) > 0 || err != nil {
			t.Fatalf("%d rows beside a canary, %v", len(again), err)
		}
		if far, _ := s.PullFar(want); len(far) > 0 {
			t.Fatalf("%d rows in a batch beside a canary", len(far))
		}
		res := answered("x", "end_turn")
		res.Row = rows[0].Index
		if err := s.Settled(t.Context(), res); err != nil {
			t.Fatal(err)
		}
	}
	if far, _ := s.PullFar(want); len(far) != 15 {
		t.Errorf("%d rows in a batch", len(far))
	}
	if b := s.Backlog(); len(b) != 1 || b[0].Pool != "sonnet-4.x" {
		t.Errorf("backlog %v", b)
	}
}

// Where no org takes sync, the canary is a batch of one.
func TestCanaryByBatch(t *testing.T) {
	s := stocked(mixedIndex(t, 30), nil)
	s.noSync = true
	s.hook, s.w = func(*Answer, resend) {}, &writer{x: s.x, form: outTable, old: newStandingOut(30), retried: map[int]string{}}
	s.canary = canaries(s.x, s.limit, func(int) bool { return false }, func(call int) bool { return s.free.has(call) && call%3 != 1 && call%5 != 4 })
	want := flotilla.Chunk{Pool: "haiku-4.5", Rows: 50, Bytes: 1 << 20, Worst: flotilla.USD(1)}
	if b := s.Backlog(); len(b) != 1 || b[0].Rows != 1 || b[0].Pool != "haiku-4.5" {
		t.Fatalf("backlog %v", b)
	}
	if rows, err := s.Pull(10); len(rows) > 0 || err != nil {
		t.Fatalf("%d rows by sync, %v", len(rows), err)
	}
	rows, _ := s.PullFar(want)
	if len(rows) != 1 || rows[0].Index != 0 {
		t.Fatalf("batch of %v", indexes(rows))
	}
	if b := s.Backlog(); len(b) != 0 {
		t.Fatalf("backlog %v with the canary out", b)
	}
	s.Return(rows) // refused for another reason: it goes again
	if rows, _ = s.PullFar(want); len(rows) != 1 || rows[0].Index != 0 {
		t.Fatalf("batch of %v", indexes(rows))
	}
	res := answered("x", "end_turn")
	res.Row = rows[0].Index
	if err := s.Settled(t.Context(), res); err != nil {
		t.Fatal(err)
	}
	if rows, _ = s.PullFar(want); len(rows) != 15 {
		t.Errorf("batch of %v", indexes(rows))
	}
}

// Calls of open batches are neither free nor canaries, and no end is told while
// they are out.
func TestStockKeepsOpenBatches(t *testing.T) {
	s := stocked(mixedIndex(t, 10), nil)
	s.limit = 8
	s.stock([]flotilla.OpenBatch{{Rows: []int{0, 3, 9}}})
	rows, err := s.Pull(20)
	if diff := cmp.Diff([]int{1, 2, 4, 5, 6, 7}, indexes(rows)); diff != "" || err != nil {
		t.Fatalf("%s, %v", diff, err)
	}
	if diff := cmp.Diff([]int{0, 3, 9}, indexes(s.Take([]int{0, 3, 9, 1, 77}))); diff != "" { // 9 is behind the limit, and paid for
		t.Errorf("taken: %s", diff)
	}
	if rows, err := s.Pull(20); len(rows) > 0 || err != nil {
		t.Errorf("%v, %v", indexes(rows), err)
	}
	s.Return([]flotilla.Row{{Index: 3, Failed: 1}, {Index: 9}})
	if rows, err := s.Pull(20); err != nil || len(rows) != 1 || rows[0].Failed != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	s.left = 8
	for _, call := range []int{0, 1, 2, 3, 4, 5, 6, 7} {
		s.took(call)
	}
	if _, err := s.Pull(20); !errors.Is(err, io.EOF) || s.left != 0 {
		t.Errorf("%v, %d left", err, s.left)
	}
}

// BenchmarkDequeMillion takes a million calls into batches of 2,000 from one end
// while sync takes them from the other, a tenth of each batch given back.
func BenchmarkDequeMillion(b *testing.B) {
	s := stocked(mixedIndex(b, 1000), nil)
	one := s.x.rows
	for s.x.rows.n < 1_000_000 {
		s.x.rows.add(*one.at(s.x.rows.n % 1000))
	}
	s.limit, s.settled = s.x.calls(), newCallSet(s.x.calls())
	for b.Loop() {
		s.back = map[int]setback{}
		clear(s.settled)
		s.stock(nil)
		for turns := 0; ; turns++ {
			far, _ := s.PullFar(flotilla.Chunk{Pool: []string{"haiku-4.5", "sonnet-4.x"}[turns%2], Rows: 2000, Bytes: math.MaxInt64, Worst: math.MaxInt64})
			near, err := s.Pull(500)
			_ = s.Backlog()
			s.Return(far[:len(far)/10])
			for _, r := range append(far[len(far)/10:], near...) {
				s.took(r.Index)
			}
			if errors.Is(err, io.EOF) {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/call")
}

// A row that can go neither by batch nor by sync is a fault of the input.
func TestNoSyncRefusesRowsForSyncAlone(t *testing.T) {
	b := newBench(t)
	b.cfg.Shape = Shape{Provider: b.cfg.Shape.Provider, Version: b.cfg.Shape.Version}
	b.cfg.Inputs = []string{b.file("in.jsonl", mixed(10))}
	b.cfg.NoSync = true
	_, err := Open(t.Context(), b.fleet(), b.cfg)
	if err == nil || !strings.HasSuffix(err.Error(), "in.jsonl line 5: no batch may carry the row (stream), and no org takes sync calls") || HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	b.cfg.Inputs = []string{b.file("in.jsonl", mixed(4))}
	run, err := Open(t.Context(), b.fleet(), b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	_ = run.Close()
}
