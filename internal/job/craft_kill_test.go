package job

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
)

// killed runs a poll that dies at the n-th result, in whatever part of it that is.
func (b *bench) killed(p *poll, at int) *fakeFleet {
	b.t.Helper()
	f := b.pollFleet(p)
	f.stop = at
	run, err := Open(context.Background(), f, b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	defer run.x.close()
	if err := run.Begin(context.Background(), books{b.j}); err != nil {
		b.t.Fatal(err)
	}
	if _, _, err := run.carry(context.Background()); !errors.Is(err, errKilled) {
		b.t.Fatalf("the kill at result %d did not come: %v", at, err)
	}
	if run.w.sink != nil {
		_ = run.w.sink.close()
	}
	if err := run.book.End(context.Background(), false, nil); err != nil {
		b.t.Fatal(err)
	}
	return f
}

// Whenever it is killed, the next run goes on: nothing is asked twice, and the
// lines are those of a run that nobody killed.
func TestCraftKilled(t *testing.T) {
	for _, out := range []string{"out.jsonl", "out.jsonl.gz", "out.csv"} {
		clean, p := pollBench(t, 15, 2, 3)
		clean.cfg.Output.Path = strings.TrimSuffix(clean.cfg.Output.Path, "out.jsonl") + out
		f := clean.pollFleet(p)
		if e := clean.run(f); e.err != nil {
			t.Fatal(e.err)
		}
		asked := len(f.sent)
		for at := 1; at <= asked; at += 7 {
			b, p := pollBench(t, 15, 2, 3)
			b.cfg.Output.Path = strings.TrimSuffix(b.cfg.Output.Path, "out.jsonl") + out
			first := b.killed(p, at)
			second := b.pollFleet(p)
			e := b.run(second)
			if e.err != nil || e.Pending != 0 || string(e.Judge) != "60" {
				t.Fatalf("%s killed at %d: %+v", out, at, e)
			}
			if got := len(first.sent) + len(second.sent); got != asked {
				t.Errorf("%s killed at %d: %d calls, want %d", out, at, got, asked)
			}
			if out == "out.jsonl" {
				if diff := cmp.Diff(clean.pollLines(), b.pollLines()); diff != "" {
					t.Fatalf("killed at %d (-want +got)\n%s", at, diff)
				}
			}
			third := b.pollFleet(p)
			before := readFile(t, b.cfg.Output.Path)
			if e := b.run(third); e.err != nil || len(third.sent) > 0 || string(readFile(t, b.cfg.Output.Path)) != string(before) || string(e.Judge) != "60" {
				t.Fatalf("%s: a finished job sent %d calls, or wrote: %v", out, len(third.sent), e.err)
			}
		}
	}
}

// A poll over batches, and over both tiers, is killed at every write to the journal
// and goes on: every body answered once, and the lines whole.
func TestCraftBatchesKilled(t *testing.T) {
	const n = 9
	for _, noSync := range []bool{true, false} {
		for _, before := range []bool{true, false} {
			for dieAt := 1; ; dieAt++ {
				b, p := pollBench(t, n, 0, 3)
				b.seed = uint64(dieAt)
				b.cfg.Options.Route = &flotilla.Route{Batch: true, NoSync: noSync}
				at := newProvider()
				f := b.batchFleet(at)
				f.answer, f.dieAt, f.before = p.answer, dieAt, before
				first := b.carryOn(f)
				if first.err != nil && !errors.Is(first.err, errKilled) {
					t.Fatal(first.err)
				}
				if first.err == nil && f.appends < dieAt {
					if dieAt < n {
						t.Fatalf("a job of %d rows made %d writes", n, f.appends)
					}
					_ = b.j.Close()
					break
				}
				again := b.batchFleet(at)
				again.answer = p.answer
				e := b.carryOn(again)
				if e.err != nil || e.Pending != 0 || len(e.RunningBatches) > 0 || string(e.Judge) != strconv.Itoa(2*n) {
					t.Fatalf("no sync %v, before %v, write %d: %+v, %v", noSync, before, dieAt, e.Summary, e.err)
				}
				lines := b.pollLines()
				if len(lines) != 2*n {
					t.Errorf("%d lines", len(lines))
				}
				for key, line := range lines {
					var row, ask int
					if _, err := fmt.Sscanf(key, "r/%d %d", &row, &ask); err != nil {
						t.Fatal(err)
					}
					v := gjson.Parse(line[:strings.LastIndexByte(line, '}')+1])
					asked := 1 + len(v.Get("tried").Array())
					if v.Get("told").Bool() {
						asked = 0
					} else if want := fmt.Sprintf("%d text <%d> é", ask, row); v.Get("said").Str != want {
						t.Errorf("no sync %v, before %v, write %d: %s says %q", noSync, before, dieAt, key, v.Get("said").Str)
					}
					if wins := at.wins[row*2+ask]; wins != asked {
						t.Errorf("no sync %v, before %v, write %d: %s was answered %d times, want %d", noSync, before, dieAt, key, wins, asked)
					}
				}
				_ = b.j.Close()
			}
		}
	}
}
