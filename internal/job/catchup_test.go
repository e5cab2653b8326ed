package job

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
)

// readings counts the answers that are read from a journal, bodies included.
type readings struct {
	books
	n int
}

type readBook struct {
	Book
	to *readings
}

func (r *readings) Begin(ctx context.Context, s Spec) (Book, error) {
	b, err := r.books.Begin(ctx, s)
	return readBook{b, r}, err
}

func (b readBook) Answer(ctx context.Context, at int64) (Answer, error) {
	b.to.n++
	return b.Book.Answer(ctx, at)
}

func (b readBook) Answers(ctx context.Context) iter.Seq2[Answer, error] {
	return func(yield func(Answer, error) bool) {
		for a, err := range b.Book.Answers(ctx) {
			if b.to.n++; !yield(a, err) {
				return
			}
		}
	}
}

// After a kill the journal tells how rows stand without their answers: those
// alone are read that errored or whose line OUT lacks, not the million others.
func TestResumeReadsFewAnswers(t *testing.T) {
	const n, settled, errors = 300, 299, 3
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", n)}
	f := b.fleet()
	f.stop = settled // its line is not written
	f.answer = func(call int, body []byte) flotilla.Result {
		if call > 10 && call <= 10+errors {
			return refusal(500, "api_error", "oops")
		}
		return echo(call, body)
	}
	if e := b.run(f); e.err != nil {
		t.Fatal(e.err)
	}
	for _, cut := range []int64{0, 10} { // the second: a last line torn off
		info, err := os.Stat(b.cfg.Output.Path)
		if err == nil {
			err = os.Truncate(b.cfg.Output.Path, info.Size()-cut)
		}
		if err != nil {
			t.Fatal(err)
		}
		run, err := Open(t.Context(), b.fleet(), b.cfg)
		if err != nil {
			t.Fatal(err)
		}
		read := &readings{books: books{b.j}}
		if err := run.Begin(t.Context(), read); err != nil {
			t.Fatal(err)
		}
		if read.n > errors+1 {
			t.Errorf("%d answers were read, want %d errors and a line", read.n, errors)
		}
		if o := run.tally.outcomes; o[Succeeded] != settled-errors || o[Errored] != errors || run.tally.stops["end_turn"] != settled-errors {
			t.Errorf("%+v", run.tally)
		}
		b.leave(run)
		if n := len(b.lines()); n != settled {
			t.Errorf("%d lines, want %d", n, settled)
		}
	}
}

// leave ends a run without a word, as a kill does.
func (b *bench) leave(run *Run) {
	b.t.Helper()
	if err := run.book.End(context.Background(), false, nil); err != nil {
		b.t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// OUT cut below what was durable keeps the lines that are whole, each of them
// validated: the journal's word for that offset is not taken until the next sync.
func TestOutCutBelowDurable(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 20)}
	f := b.fleet()
	f.halt = 18
	e := b.run(f)
	if e.err != nil {
		t.Fatal(e.err)
	}
	whole, err := os.ReadFile(b.cfg.Output.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.cfg.Output.Path, whole[:len(whole)-700], 0o600); err != nil {
		t.Fatal(err)
	}
	f = b.fleet()
	f.stop = 1
	b.run(f)
	text, err := os.ReadFile(b.cfg.Output.Path)
	if err != nil || !strings.HasPrefix(string(text), string(whole[:strings.LastIndex(string(whole[:len(whole)-700]), "\n")+1])) {
		t.Errorf("whole lines were written anew, %v", err)
	}
	if info, err := b.j.Find(t.Context(), e.JobID); err != nil || len(info.Outs) != 1 || info.Outs[0].Durable != 0 {
		t.Errorf("known to be durable: %+v, %v", info.Outs, err)
	}
	if e := b.run(b.fleet()); e.err != nil || e.Succeeded != 20 {
		t.Fatalf("%+v, %v", e.Summary, e.err)
	}
	b.whole(20)
	// A fault inside a line, which its two ends do not show.
	whole, err = os.ReadFile(b.cfg.Output.Path)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(whole), `"role":"assistant"`, "\"role\":\"assi\x00tant\"", 1)
	if err := os.WriteFile(b.cfg.Output.Path, []byte(broken[:len(broken)-10]), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := b.run(b.fleet()); e.err == nil || !strings.Contains(e.err.Error(), "line 1 is not of this job") {
		t.Errorf("a broken line: %v", e.err)
	}
}

// Whatever was answered, killed, cut and retried, the summary of a resumed job
// counts what reading every answer of the journal gives.
func TestCatchUpTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		b.seed = rapid.Uint64().Draw(rt, "seed")
		n := rapid.IntRange(2, 40).Draw(rt, "rows")
		faults := rapid.IntRange(1, 10).Draw(rt, "faults")
		b.cfg.Inputs = []string{b.input("in.jsonl", n)}
		for range rapid.IntRange(1, 4).Draw(rt, "kills") {
			f := b.fleet()
			f.answer = func(call int, body []byte) flotilla.Result {
				switch k := f.rng.IntN(4 * faults); {
				case k == 0:
					return refusal(500, "api_error", fmt.Sprintf("oops %d", call))
				case k == 1:
					return refusal(529, "overloaded_error", "Overloaded")
				case k == 2:
					return answered("cut", "max_tokens")
				case k == 3:
					return answered("no", "refusal")
				}
				return echo(call, body)
			}
			b.cfg.Retry = rapid.SampledFrom([][]string{nil, {"errored"}, {"refused"}, {"errored", "refused", "truncated"}}).Draw(rt, "retry")
			left := b.left(f)
			if left == 0 {
				continue
			}
			f.stop = rapid.IntRange(1, left).Draw(rt, "stop")
			b.run(f)
			if text, err := os.ReadFile(b.cfg.Output.Path); err == nil && len(text) > 0 && rapid.Bool().Draw(rt, "cuts") {
				cut := rapid.IntRange(0, len(text)).Draw(rt, "cut")
				if err := os.WriteFile(b.cfg.Output.Path, text[:cut], 0o600); err != nil {
					rt.Fatal(err)
				}
			}
		}
		b.cfg.Retry = nil
		f := b.fleet()
		f.halt = -1
		e := b.run(f)
		if e.err != nil {
			rt.Fatal(e.err)
		}
		want, standing := b.slowTally(e.JobID)
		got := Summary{Succeeded: e.Succeeded, Errored: e.Errored, StopReasons: e.StopReasons, Errors: e.Errors}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
		lines := b.lines()
		if len(lines) != len(standing) {
			rt.Fatalf("OUT has %d lines, want %d", len(lines), len(standing))
		}
		for id, a := range standing {
			body := lines[id].Get("result.message")
			if a.Outcome == Errored {
				body = lines[id].Get("result.error")
			}
			if body.Raw != string(a.Body) {
				rt.Fatalf("%s has the line of %s, want %s", id, body.Raw, a.Body)
			}
		}
	})
}

// left is how many calls a run would make.
func (b *bench) left(f *fakeFleet) int {
	b.t.Helper()
	run, err := Open(context.Background(), f, b.cfg)
	if err == nil {
		err = run.Begin(context.Background(), books{b.j})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	defer b.leave(run)
	return run.src.remaining()
}

// slowTally counts a job by reading all of its answers.
func (b *bench) slowTally(key string) (s Summary, standing map[string]Answer) {
	ctx := context.Background()
	info, err := b.j.Find(ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	rows := map[int]Answer{}
	for a, err := range b.j.AnswersOf(ctx, info.ID, 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		rows[a.Row] = kept(&a)
	}
	var all []Answer
	for _, a := range rows {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Answer) int { return int(a.At - b.At) })
	count, standing := newTally(), map[string]Answer{}
	for _, a := range all {
		id := fmt.Sprintf("r/%d", a.Row)
		count.add(&a, func() string { return id })
		standing[id] = a
	}
	return Summary{
		Succeeded: count.outcomes[Succeeded], Errored: count.outcomes[Errored], StopReasons: count.stops, Errors: count.groups(),
	}, standing
}

// A job that goes on asks other jobs' answers for its pending calls, and each
// of them gets its own.
func TestCacheForPendingCalls(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 20)}
	f := b.fleet()
	f.stop = 8
	b.run(f)
	other := b.cfg
	var turned strings.Builder
	for i := 19; i >= 0; i-- {
		fmt.Fprintf(&turned, "{\"id\":\"r/%d\",\"q\":\"text <%d> é\"}\n", i, i)
	}
	b.cfg.Inputs, b.cfg.NoCache = []string{b.file("turned.jsonl", turned.String())}, true
	b.cfg.Output.Path += ".jsonl"
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	b.cfg = other
	f = b.fleet()
	if e := b.run(f); e.err != nil || len(f.sent) > 0 || e.Cached != 12 || e.Resumed != 8 {
		t.Errorf("sent %v, %d cached, %d resumed, %v", f.sent, e.Cached, e.Resumed, e.err)
	}
	b.whole(20)
}
