package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// shapeOf is what the bench's journal keeps of its only job.
func (b *bench) shapeOf() json.RawMessage {
	b.t.Helper()
	jobs, err := b.j.Jobs(context.Background(), time.Time{})
	if err != nil || len(jobs) != 1 {
		b.t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	return jobs[0].Shape
}

func TestRowsAfterwardsAreThoseOfTheRun(t *testing.T) {
	csv := "id,q\na,one\n\"b\",\"two\nlines\"\nc,three\n"
	for name, prepare := range map[string]func(b *bench){
		"lines": func(b *bench) {
			b.cfg.Inputs = []string{b.input("in.jsonl", 9), b.file("more.jsonl", "{\"id\":\"x\",\"q\":\"é\"}\n\n")}
		},
		"a table": func(b *bench) { b.cfg.Inputs = []string{b.file("in.csv", csv)} },
		"repeats": func(b *bench) { b.cfg.Inputs, b.cfg.Shape.Repeats = []string{b.input("in.jsonl", 3)}, 3 },
		"a row set aside": func(b *bench) {
			b.cfg.Inputs, b.cfg.SkipBad = []string{b.file("in.jsonl", "{\"id\":\"a\",\"q\":\"1\"}\n{bad\n{\"id\":\"b\",\"q\":\"2\"}\n")}, true
		},
		"system and params": func(b *bench) {
			b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
			b.cfg.Shape.System, b.cfg.Shape.Params = "you are {{.id}}", `{"metadata":{"user_id":"{{.id}}"}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			prepare(b)
			run, err := Open(t.Context(), b.fleet(), b.cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if err := run.Begin(t.Context(), books{b.j}); err != nil {
				t.Fatal(err)
			}
			live := run.Rows()
			after, err := OpenRows(t.Context(), b.shapeOf(), b.dir)
			if err != nil {
				t.Fatal(err)
			}
			defer after.Close()
			if live.Len() == 0 || live.Len() != after.Len() {
				t.Fatalf("%d rows live, %d afterwards", live.Len(), after.Len())
			}
			for row := range live.Len() {
				want, err := live.Body(row)
				got, again := after.Body(row)
				if (err == nil) != (again == nil) || !bytes.Equal(want, got) || live.ID(row) != after.ID(row) {
					t.Errorf("row %d %q: %s, %v; afterwards %q: %s, %v", row, live.ID(row), want, err, after.ID(row), got, again)
				}
			}
		})
	}
}

func TestRowsAfterwardsSayWhyThereAreNone(t *testing.T) {
	b := newBench(t)
	in := b.input("in.jsonl", 3)
	b.cfg.Inputs = []string{in}
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	shape := b.shapeOf()
	refused := func(what, want string, shape json.RawMessage) {
		t.Helper()
		rows, err := OpenRows(t.Context(), shape, b.dir)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
		if rows != nil {
			_ = rows.Close()
		}
	}
	refused("nothing kept", "older version", nil)
	refused("another format", "another version", json.RawMessage(`{"format":99}`))
	b.input("in.jsonl", 4)
	refused("changed", "are not what they were", shape)
	if err := os.Remove(in); err != nil {
		t.Fatal(err)
	}
	refused("removed", "no such file", shape)

	stream := newBench(t)
	stream.cfg.Inputs, stream.cfg.Stdin = []string{"-"}, strings.NewReader("{\"id\":\"a\",\"q\":\"1\"}\n")
	if e := stream.run(stream.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	refused("standard input", "cannot be read again", stream.shapeOf())
}

func TestSecretsOfParamsAreNotKept(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 1)}
	b.cfg.Shape.Params = `{"mcp_servers":[{"type":"url","url":"https://tools.example","name":"t","authorization_token":"tell-nobody"}]}`
	if e := b.run(b.fleet()); e.err != nil {
		t.Fatal(e.err)
	}
	if text := string(b.shapeOf()); strings.Contains(text, "tell-nobody") || !strings.Contains(text, "tools.example") {
		t.Errorf("kept: %s", text)
	}
	plain := `{ "top_p" : 1.0 }`
	if got := withoutSecrets(plain); got != plain {
		t.Errorf("params without a secret became %s", got)
	}
}

// Two jobs of equal rows are one, unless a salt tells them apart.
func TestSaltTellsJobsApart(t *testing.T) {
	b := newBench(t)
	b.cfg.Inputs, b.cfg.NoCache = []string{b.input("in.jsonl", 3)}, false
	for i, salt := range []string{"", "one", "two", "two"} {
		b.cfg.Salt = []byte(salt)
		b.cfg.Client, b.cfg.Kind = "ada", journal.KindBatch
		b.cfg.Output.Path = b.dir + "/" + fmt.Sprint(i) + ".jsonl"
		if e := b.run(b.fleet()); e.err != nil {
			t.Fatal(e.err)
		}
	}
	jobs, err := b.j.Jobs(t.Context(), time.Time{})
	if err != nil || len(jobs) != 3 || jobs[0].Client != "ada" || jobs[0].Kind != journal.KindBatch || jobs[0].Runs != 2 {
		t.Errorf("%+v, %v; want three jobs, the newest of two runs", jobs, err)
	}
}

// A cap that a person sets while the job runs reaches the fleet, and holds over
// a pause.
func TestCapWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 60)}
		b.cfg.Options.MaxSpend = 5_000_000_000
		f := &capFleet{fakeFleet: b.fleet()}
		f.answer = slow
		set := func(after time.Duration, limit flotilla.Money) {
			time.AfterFunc(after, func() {
				if err := b.j.SetCap(context.Background(), 1, limit); err != nil {
					t.Error(err)
				}
			})
		}
		set(1500*time.Millisecond, 7_000_000_000)
		b.ask(2500*time.Millisecond, journal.Pause)
		set(3500*time.Millisecond, 9_000_000_000)
		b.ask(4500*time.Millisecond, journal.Go)
		run, err := Open(t.Context(), f, b.cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if err := run.Begin(t.Context(), books{b.j}); err != nil {
			t.Fatal(err)
		}
		s, _, err := run.Carry(t.Context())
		if err != nil || s.Succeeded != 60 || s.CapUSD == nil || *s.CapUSD != 9_000_000_000 {
			t.Errorf("%+v, %v", s, err)
		}
		want := "[begun with $5.00 told $7.00 begun with $9.00]"
		if got := fmt.Sprint(f.told); got != want {
			t.Errorf("caps %s, want %s", got, want)
		}
	})
}

// capFleet notes the caps that it is told.
type capFleet struct {
	*fakeFleet
	told []string
}

func (f *capFleet) Carry(ctx context.Context, src flotilla.Source, opt flotilla.Options) (flotilla.Report, error) {
	f.told = append(f.told, "begun with "+opt.MaxSpend.String())
	end := make(chan struct{})
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for {
			select {
			case limit := <-opt.Caps:
				f.told = append(f.told, "told "+limit.String())
			case <-end:
				return
			}
		}
	}()
	r, err := f.fakeFleet.Carry(ctx, src, opt)
	close(end)
	<-heard
	return r, err
}

// Rows that go as they are meet no canary and no check of ours but of what
// cannot be weighed.
func TestAsIs(t *testing.T) {
	b := newBench(t)
	b.cfg.Shape = Shape{Provider: b.cfg.Shape.Provider, Version: b.cfg.Shape.Version}
	row := func(id, params string) string { return `{"custom_id":"` + id + `","params":{` + params + "}}\n" }
	const said = `"messages":[{"role":"user","content":"hi"}]`
	b.cfg.Inputs = []string{b.file("in.jsonl",
		row("a", `"model":"claude-haiku-4-5","max_tokens":9999999,`+said)+
			row("b", `"model":"claude-haiku-4-5","max_tokens":8888888,`+said)+
			row("c", `"model":"claude-haiku-4-5",`+said)+
			row("d", `"model":"no-such-model","max_tokens":5,`+said))}
	b.cfg.AsIs, b.cfg.SkipBad = true, true
	f := b.fleet()
	f.answer = func(int, []byte) flotilla.Result {
		return refusal(400, "invalid_request_error", "max_tokens: too many")
	}
	e := b.run(f)
	if e.err != nil || len(f.sent) != 2 || e.Errored != 2 || e.Rejected != 2 {
		t.Errorf("%d sent, %+v, %v", len(f.sent), e.Summary, e.err)
	}
	again := b.fleet() // a refusal is the row's own answer, and stands
	if e := b.run(again); e.err != nil || len(again.sent) != 0 || e.Errored != 2 {
		t.Errorf("%d sent again, %+v, %v", len(again.sent), e.Summary, e.err)
	}
}
