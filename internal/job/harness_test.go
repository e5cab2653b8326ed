package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/journal"
)

// books are jobs in a real journal.
type books struct{ *journal.Journal }

func (b books) Begin(ctx context.Context, s Spec) (Book, error) {
	j, err := b.Journal.Begin(ctx, journal.JobSpec{
		Identity: s.Identity, Provider: s.Provider, Emulated: s.Emulated, Command: s.Command, Inputs: s.Inputs, N: s.N, Template: s.Template, Fresh: s.Fresh,
		Client: s.Client, Kind: s.Kind, Shape: s.Shape,
	})
	if err != nil {
		return nil, err
	}
	return &book{j, b.Journal}, nil
}

type book struct {
	*journal.Job
	journal *journal.Journal
}

func (b *book) ID() int64   { return b.Job.ID }
func (b *book) Key() string { return b.Job.Key }

type standing struct{ *journal.State }

func (s standing) Outcome(call int) Outcome { return Outcome(s.State.Outcome(call)) }
func (s standing) Doubts() int              { return s.State.Doubts }

func (b *book) Standing(ctx context.Context) (Standing, error) {
	st, err := b.State(ctx)
	return standing{st}, err
}

func kept(a *journal.Answer) Answer {
	return Answer{
		At: a.ID, Row: a.Row, Outcome: Outcome(a.Type), Body: a.Body, Org: a.Org, Tier: a.Tier, Model: a.Model, When: a.At, Cost: a.Cost,
		Attempts: a.Attempts, Latency: a.Latency, Status: a.Status, StopReason: a.StopReason, Hash: a.Hash, Cached: a.Cached, Emulated: a.Emulated,
	}
}

func (b *book) Answers(ctx context.Context) iter.Seq2[Answer, error] {
	return func(yield func(Answer, error) bool) {
		for a, err := range b.Job.Answers(ctx, 0) {
			if !yield(kept(&a), err) || err != nil {
				return
			}
		}
	}
}

func (b *book) Answer(ctx context.Context, at int64) (Answer, error) {
	a, err := b.journal.Answer(ctx, at)
	return kept(&a), err
}

func (b *book) Adopt(ctx context.Context, list []Adoption) error {
	out := make([]journal.Adoption, len(list))
	for i, a := range list {
		out[i] = journal.Adoption(a)
	}
	return b.Job.Adopt(ctx, out)
}

func (b *book) Append(records []flotilla.Record) error { return b.journal.Append(records) }

func (b *book) Totals(ctx context.Context) (json.RawMessage, error) {
	if b.Left != journal.Finished && b.Left != journal.Stopped {
		return nil, nil
	}
	info, err := b.journal.Find(ctx, b.Job.Key)
	return info.Totals, err
}

func (b *book) Signal(ctx context.Context) (Signal, error) {
	s, err := b.Job.Signal(ctx)
	return Signal(s), err
}

func (b *book) End(ctx context.Context, finished bool, totals json.RawMessage) error {
	state := journal.Stopped
	if finished {
		state = journal.Finished
	}
	if totals == nil {
		return b.Job.End(ctx, state, nil)
	}
	return b.Job.End(ctx, state, totals)
}

// fakeFleet answers calls by a function, some at a time, out of order. Its
// records and results come in the order of a real fleet's.
type fakeFleet struct {
	*scales
	t       testing.TB
	book    func() *journal.Journal
	answer  func(call int, body []byte) flotilla.Result
	rng     *rand.Rand
	flight  int   // calls in flight at once; 0: 5
	stop    int   // end as by a kill, after so many results; 0: never
	halt    int   // end as by an interrupt, after so many results; 0: never
	sent    []int // calls, in the order of sending
	bodies  map[int][]string
	results int
}

var errKilled = errors.New("killed")

func (f *fakeFleet) Carry(ctx context.Context, src flotilla.Source, opt flotilla.Options) (r flotilla.Report, err error) {
	r.Started = time.Unix(1_800_000_000, 0)
	r.Ended = r.Started.Add(time.Minute)
	var out []flotilla.Row
	eof := false
	for {
		for !eof && len(out) < max(f.flight, 5) {
			rows, err := src.Pull(max(f.flight, 5) - len(out))
			if err != nil && !errors.Is(err, io.EOF) {
				return r, err
			}
			eof = errors.Is(err, io.EOF)
			out = append(out, rows...)
			if len(rows) == 0 {
				break
			}
		}
		if len(out) == 0 {
			if !eof {
				f.t.Fatal("nothing in flight, nothing to pull, and no end")
			}
			r.Cause = flotilla.Finished
			return r, nil
		}
		if f.halt > 0 && f.results >= f.halt || ctx.Err() != nil {
			r.Cause = flotilla.Interrupted
			return r, nil
		}
		i := f.rng.IntN(len(out))
		row := out[i]
		out = append(out[:i], out[i+1:]...)
		r.Attempts++
		if err := f.one(ctx, src, opt, row); err != nil {
			r.Cause = flotilla.Stopped
			return r, err
		}
	}
}

func (f *fakeFleet) one(ctx context.Context, src flotilla.Source, opt flotilla.Options, row flotilla.Row) error {
	body, err := src.Body(row.Index)
	if err != nil {
		return err
	}
	canonical := wire.Canonical(nil, body)
	if f.keyer.Key(canonical) != row.Facts.Hash {
		f.t.Fatalf("call %d: the body is not the one that was weighed", row.Index)
	}
	f.sent = append(f.sent, row.Index)
	f.bodies[row.Index] = append(f.bodies[row.Index], string(body))
	res := f.answer(row.Index, body)
	res.Row, res.Org, res.Tier, res.Attempts = row.Index, "high", "sync", 1
	res.Model, res.Latency, res.At = row.Facts.Model, 812*time.Millisecond, time.Unix(1_800_000_000+int64(f.results), 0)
	res.BodyHash = wire.BodyHash(canonical)
	rec := flotilla.Record{
		Kind: flotilla.OutcomeRecord, Job: opt.Job, Row: row.Index, Attempt: int64(len(f.sent)), At: res.At, Org: res.Org, Pool: row.Facts.Pool,
		Tier: res.Tier, Model: res.Model, Type: "succeeded", Cost: res.Cost, Charged: res.Cost, Hash: row.Facts.Hash, Nth: row.Nth, Answer: res.Message,
		Attempts: 1, Latency: res.Latency, StopReason: res.StopReason, Emulated: res.Emulated, Out: outputTokens(res.Message),
	}
	if res.Err != nil {
		rec.Type, rec.Answer = "errored", flotilla.Envelope(res.Err)
		var api *flotilla.APIError
		if errors.As(res.Err, &api) {
			rec.Status = api.Status
		}
	}
	if err := f.book().Append([]flotilla.Record{rec}); err != nil {
		return err
	}
	f.results++
	if f.stop > 0 && f.results == f.stop {
		return errKilled // durable, and no line written
	}
	return src.Settled(ctx, res)
}

// echo answers with the text of the last message, so that every line can be
// held to its row.
func echo(call int, body []byte) flotilla.Result {
	text := gjson.GetBytes(body, "messages.@reverse.0.content").String()
	return answered(text, "end_turn")
}

func answered(text, stop string) flotilla.Result {
	msg := fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[{"type":"text","text":%s}],"stop_reason":%q,"usage":{"input_tokens":10,"output_tokens":5}}`,
		appendString(nil, text), stop)
	return flotilla.Result{Message: json.RawMessage(msg), StopReason: stop, Cost: 1_230_000}
}

func refusal(status int, kind, message string) flotilla.Result {
	env := fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
	return flotilla.Result{Err: &flotilla.APIError{Status: status, Type: kind, Message: message, Envelope: json.RawMessage(env)}}
}

// bench is a place to run jobs in.
type bench struct {
	t    testing.TB
	dir  string
	j    *journal.Journal
	cfg  Config
	said []string
	seed uint64
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, dir: t.TempDir(), seed: 1}
	b.j = journal.Memory()
	t.Cleanup(func() { _ = b.j.Close() })
	b.cfg = Config{
		Shape: Shape{
			Model: "claude-haiku-4-5", MaxTokens: ptr(300), Prompt: "{{.q}}",
			Provider: "https://api.anthropic.com", Version: flotilla.DefaultVersion,
		},
		Output: Output{Path: filepath.Join(b.dir, "out.jsonl")},
		Dir:    b.dir,
		Now:    func() time.Time { return time.Unix(1_800_000_000, 0) },
	}
	b.cfg.Say = func(s string) { b.said = append(b.said, s) }
	return b
}

// input writes n rows {"id":"r0","q":"text 0"} … as an input.
func (b *bench) input(name string, n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "{\"id\":\"r/%d\",\"q\":\"text <%d> é\"}\n", i, i)
	}
	return b.file(name, s.String())
}

func (b *bench) file(name, content string) string {
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) fleet() *fakeFleet {
	b.seed++
	return &fakeFleet{
		scales: newScales(), t: b.t, book: func() *journal.Journal { return b.j }, answer: echo,
		rng: rand.New(rand.NewPCG(b.seed, 0)), bodies: map[int][]string{},
	}
}

type ended struct {
	Summary
	plan   Plan
	report flotilla.Report
	code   int
	err    error
}

// run runs the job as the program would. A killed one leaves no word behind.
func (b *bench) run(f *fakeFleet) (e ended) {
	ctx := context.Background()
	run, err := Open(ctx, f, b.cfg)
	if err != nil {
		return ended{err: err, code: ExitError}
	}
	defer run.Close()
	if err := run.Begin(ctx, books{b.j}); err != nil {
		return ended{err: err, code: ExitError}
	}
	e.plan = run.Plan()
	if f.stop > 0 {
		_, err := f.Carry(ctx, run.src, flotilla.Options{Job: run.book.ID()})
		if !errors.Is(err, errKilled) {
			b.t.Fatalf("the kill did not come: %v", err)
		}
		if err := run.book.End(ctx, false, nil); err != nil { // the journal would notice the dead process
			b.t.Fatal(err)
		}
		return e
	}
	e.Summary, e.report, e.err = run.Carry(ctx)
	e.code = ExitCode(e.report.Cause, e.err, &e.Summary)
	return e
}

// lines reads OUT and holds every line to its row.
func (b *bench) lines() map[string]gjson.Result {
	b.t.Helper()
	text, err := os.ReadFile(b.cfg.Output.Path)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.linesOf(text)
}

func (b *bench) linesOf(text []byte) map[string]gjson.Result {
	b.t.Helper()
	out := map[string]gjson.Result{}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		b.t.Errorf("the last line is torn")
	}
	for _, line := range bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'}) {
		if len(line) == 0 {
			continue
		}
		if !gjson.ValidBytes(line) {
			b.t.Fatalf("not JSON: %s", line)
		}
		v := gjson.ParseBytes(line)
		id := v.Get("custom_id").Str
		if _, twice := out[id]; twice {
			b.t.Errorf("%s stands twice", id)
		}
		out[id] = v
	}
	return out
}

// whole checks that OUT has every one of n rows of input once, with its own answer.
func (b *bench) whole(n int) {
	b.t.Helper()
	lines := b.lines()
	if len(lines) != n {
		b.t.Errorf("%d lines, want %d", len(lines), n)
	}
	for i := range n {
		v, ok := lines[fmt.Sprintf("r/%d", i)]
		if got := v.Get("result.message.content.0.text").Str; ok && got != fmt.Sprintf("text <%d> é", i) {
			b.t.Errorf("row %d has the answer %q", i, got)
		}
	}
}
