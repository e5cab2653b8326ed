//go:build unix

package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// BenchmarkResumeMillion resumes a job of a million rows of which all but one
// are settled, with its OUT in place, after an orderly end and after a kill, and
// prints each time and the memory beside its bound: Begin to the first call 3 s,
// all 15 s, 300 MB.
func BenchmarkResumeMillion(b *testing.B) {
	const n = 1_000_000
	bench := newBench(b)
	path := filepath.Join(bench.dir, "in.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	var line []byte
	for i := range n {
		line = fmt.Appendf(line, "{\"id\":\"r/%d\",\"q\":\"text <%d> é %s\"}\n", i, i, strings.Repeat("word ", i%60))
		if len(line) > 1<<20 || i == n-1 {
			if _, err := f.Write(line); err != nil {
				b.Fatal(err)
			}
			line = line[:0]
		}
	}
	_ = f.Close()
	bench.cfg.Inputs = []string{path}
	j, err := journal.Open(context.Background(), filepath.Join(bench.dir, "journal.db"), journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	bench.j = j
	b.Cleanup(func() { _ = j.Close() })
	settleAll(b, bench, n-1)
	for b.Loop() {
		resumeOnce(b, bench, "OUT whole, job ended in order")
	}
	b.StopTimer()
	info, err := os.Stat(bench.cfg.Output.Path)
	if err != nil {
		b.Fatal(err)
	}
	tear(b, bench, info.Size()-10, info.Size()-3<<20)
	resumeOnce(b, bench, "killed while it wrote")
	tear(b, bench, info.Size()-10, info.Size())
	resumeOnce(b, bench, "OUT cut by somebody")
}

// tear leaves OUT as a kill does: cut to size, with so many bytes known to be
// durable, and no word of the run's in the journal.
func tear(b *testing.B, bench *bench, size, durable int64) {
	b.Helper()
	ctx := context.Background()
	run, err := Open(ctx, bench.fleet(), bench.cfg)
	if err != nil {
		b.Fatal(err)
	}
	if err := run.Begin(ctx, books{bench.j}); err != nil {
		b.Fatal(err)
	}
	if err := run.Close(); err != nil {
		b.Fatal(err)
	}
	run.book.Wrote(durable)
	if err := errors.Join(run.book.End(ctx, false, json.RawMessage("{}")), os.Truncate(bench.cfg.Output.Path, size)); err != nil {
		b.Fatal(err)
	}
}

// resumeOnce opens the job, pulls what is left, and ends without sending it.
func resumeOnce(b *testing.B, bench *bench, how string) {
	runtime.GC()
	cpu := cpuNow(b)
	start := time.Now()
	run, err := Open(context.Background(), bench.fleet(), bench.cfg)
	if err != nil {
		b.Fatal(err)
	}
	indexed, cpuIndexed := time.Now(), cpuNow(b)
	if err := run.Begin(context.Background(), books{bench.j}); err != nil {
		b.Fatal(err)
	}
	rows, err := run.src.Pull(10)
	if err != nil || len(rows) != 1 {
		b.Fatalf("%d rows to send, %v", len(rows), err)
	}
	first, cpuFirst := time.Now(), cpuNow(b)
	if err := run.end(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Logf("%s: index %.1f s; begin to first call %.1f s, %.1f s of CPU (bound 3 s); all %.1f s, %.1f s of CPU (bound 15 s); %s in use (bound 300 MB)", how,
		indexed.Sub(start).Seconds(), first.Sub(indexed).Seconds(), (cpuFirst - cpuIndexed).Seconds(), time.Since(start).Seconds(), (cpuNow(b) - cpu).Seconds(), heapNow())
	if err := errors.Join(run.book.End(context.Background(), false, nil), run.Close()); err != nil {
		b.Fatal(err)
	}
}

// cpuNow is what the process has used of the processors.
func cpuNow(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heapNow() string {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%d MB", m.HeapInuse>>20)
}

// settleAll writes answers of the first n rows into the journal, one in twenty
// of them an error, and OUT.
func settleAll(b *testing.B, bench *bench, n int) {
	ctx := context.Background()
	run, err := Open(ctx, bench.fleet(), bench.cfg)
	if err != nil {
		b.Fatal(err)
	}
	if err := run.Begin(ctx, books{bench.j}); err != nil {
		b.Fatal(err)
	}
	var records []flotilla.Record
	for i := range n {
		res := answered(fmt.Sprintf("text <%d> é %s", i, strings.Repeat("and more ", 20)), "end_turn")
		r := flotilla.Record{
			Kind: flotilla.OutcomeRecord, Job: run.book.ID(), Row: i, Attempt: int64(i + 1), Org: "high", Pool: "haiku-4.5", Tier: "sync", Model: "claude-haiku-4-5",
			Type: "succeeded", Cost: res.Cost, Charged: res.Cost, Hash: run.x.row(i).key, Answer: res.Message, Attempts: 1, StopReason: "end_turn", At: time.Unix(1_800_000_000, 0), Out: 5,
		}
		if i%20 == 0 {
			r.Type, r.Status, r.StopReason, r.Answer = "errored", 529, "", flotilla.Envelope(refusal(529, "overloaded_error", "Overloaded").Err)
		}
		records = append(records, r)
		if len(records) == 1000 || i == n-1 {
			if err := bench.j.Append(records); err != nil {
				b.Fatal(err)
			}
			records = records[:0]
		}
	}
	if err := errors.Join(run.book.End(ctx, false, nil), run.Close()); err != nil { // OUT is one process's at a time
		b.Fatal(err)
	}
	halted := bench.fleet()
	halted.halt = -1
	again, err := Open(ctx, halted, bench.cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer again.Close()
	if err := again.Begin(ctx, books{bench.j}); err != nil { // writes the lines
		b.Fatal(err)
	}
	if err := again.end(ctx); err != nil {
		b.Fatal(err)
	}
	s, err := again.summary(ctx, &flotilla.Report{})
	if err != nil {
		b.Fatal(err)
	}
	totals, err := again.totals(s)
	if err != nil {
		b.Fatal(err)
	}
	if err := again.book.End(ctx, false, totals); err != nil {
		b.Fatal(err)
	}
}
