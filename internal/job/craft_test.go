package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/flotilla-llm/flotilla"
)

// poll asks two questions about each row, and asks anew about answers that are
// cut or odd. Rows with a member "gone" bring that with them.
type poll struct {
	odd int // of ten answers, so many are odd the first time, and so many cut
	sum int // answers that were summed up last
}

func (p *poll) Asks() int             { return 2 }
func (p *poll) Identity() []byte      { return []byte("poll") }
func (p *poll) Kept() json.RawMessage { return json.RawMessage(`{"odd":` + strconv.Itoa(p.odd) + `}`) }

func (p *poll) Body(dst []byte, r Row, ask int) ([]byte, error) {
	q, ok := r.Get("q")
	if !ok {
		return nil, &FieldError{Template: "the poll", Place: "q", Missing: "q", Fields: r.Fields()}
	}
	return fmt.Appendf(dst, `{"model":"claude-haiku-4-5","max_tokens":300,"messages":[{"role":"user","content":%s}]}`,
		appendString(nil, strconv.Itoa(ask)+" "+q.Str)), nil
}

func (p *poll) Told(r Row, _ int) *Told {
	switch v, ok := r.Get("gone"); {
	case !ok:
		return nil
	case v.Str == "failed":
		return &Told{Model: "claude-haiku-4-5", Body: []byte(`{"type":"error","error":{"type":"row_error","message":"failed before"}}`)}
	}
	return &Told{Model: "claude-haiku-4-5", StopReason: "refusal", Body: []byte(answeredBody("told"))}
}

// luck is what befalls the first answer about a text.
func (p *poll) luck(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	switch n := int(h.Sum32() % 10); {
	case n < p.odd:
		return "odd"
	case n < 2*p.odd:
		return "cut"
	case n < 2*p.odd+1 && p.odd > 0:
		return "cut and odd"
	}
	return ""
}

// answer answers as a model might: the text of the first turn, or trouble.
func (p *poll) answer(_ int, body []byte) flotilla.Result {
	v := gjson.ParseBytes(body)
	text := v.Get("messages.0.content").Str
	luck := p.luck(text)
	switch {
	case v.Get("max_tokens").Int() == 300 && strings.HasPrefix(luck, "cut"):
		return answered(text[:1], "max_tokens")
	case v.Get("messages.#").Int() == 1 && strings.HasSuffix(luck, "odd"):
		return answered("??", "end_turn")
	}
	return answered(text, "end_turn")
}

func (p *poll) Again(_ int, body, message []byte, tried []string) (next []byte, why string, err error) {
	switch {
	case gjson.GetBytes(message, "stop_reason").Str == "max_tokens" && !slices.Contains(tried, "truncated"):
		next, err = sjson.SetRawBytes(body, "max_tokens", []byte("600"))
		return next, "truncated", err
	case textOf(message) == "??" && !slices.Contains(tried, "odd"):
		next, err = sjson.SetRawBytes(body, "messages.-1", []byte(`{"role":"user","content":"again"}`))
		return next, "odd", err
	}
	return nil, "", nil
}

func (p *poll) Kind(_ int, a *Answer) string {
	if kind := retryOf(a); kind != "" || textOf(a.Body) != "??" {
		return kind
	}
	return "odd"
}

func (p *poll) AppendMember(dst []byte, d *Done) ([]byte, error) {
	tried, err := json.Marshal(d.Tried)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(dst, `"poll":{"ask":%d,"repeat":%d,"said":%s,"tried":%s,"told":%t,"failed":%t}`,
		d.Ask, d.Repeat, appendString(nil, textOf(d.Answer.Body)), tried, d.Told, d.Answer.Outcome != Succeeded), nil
}

func (p *poll) Whose(line []byte) (Whose, bool) {
	v := gjson.GetBytes(line, "poll")
	return Whose{int(v.Get("ask").Int()), int(v.Get("repeat").Int()), v.Get("failed").Bool()}, v.IsObject()
}

func (p *poll) Columns() []Column {
	return []Column{{Name: "custom_id"}, {Name: "ask", Whole: true}, {Name: "repeat", Whole: true}, {Name: "said", Telling: true}, {Name: "cost_usd", Number: true}}
}

func (p *poll) Cells(d *Done) ([]gjson.Result, error) {
	return []gjson.Result{text(d.ID), whole(int64(d.Ask)), whole(int64(d.Repeat)), text(textOf(d.Answer.Body)), {Type: gjson.Number, Raw: d.Cost.Exact(), Num: d.Cost.Float()}}, nil
}

func (p *poll) WhoseRow(row []byte) (Whose, bool) {
	v := gjson.ParseBytes(row)
	return Whose{Ask: int(v.Get("ask").Int()), Repeat: int(v.Get("repeat").Int())}, v.Get("ask").Exists()
}

func (p *poll) Summarize(all iter.Seq2[*Done, error]) (json.RawMessage, error) {
	p.sum = 0
	for d, err := range all {
		if err != nil {
			return nil, err
		}
		if d.Row.Text() == "" || d.ID == "" {
			return nil, errors.New("a call without its row")
		}
		p.sum++
	}
	return json.RawMessage(strconv.Itoa(p.sum)), nil
}

func answeredBody(text string) string { return string(answered(text, "refusal").Message) }

// pollBench is a bench for polls about n rows, one in ten of which need no call.
func pollBench(t testing.TB, n, repeats, odd int) (*bench, *poll) {
	b, p := newBench(t), &poll{odd: odd}
	var s strings.Builder
	for i := range n {
		gone := ""
		switch {
		case i%10 == 3:
			gone = `,"gone":"refused"`
		case i%10 == 7 && i%20 == 7:
			gone = `,"gone":"failed"`
		}
		fmt.Fprintf(&s, "{\"id\":\"r/%d\",\"q\":\"text <%d> é\"%s}\n", i, i, gone)
	}
	b.cfg.Inputs = []string{b.file("in.jsonl", s.String())}
	b.cfg.Shape = Shape{Repeats: repeats, Provider: b.cfg.Shape.Provider, Version: b.cfg.Shape.Version}
	b.cfg.Craft = p
	return b, p
}

func (b *bench) pollFleet(p *poll) *fakeFleet {
	f := b.fleet()
	f.answer = p.answer
	return f
}

// pollLines are the lines of OUT without what differs between two runs, by row,
// ask and repeat.
func (b *bench) pollLines() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(string(readOut(b))) {
		v := gjson.Parse(line)
		key := fmt.Sprintf("%s %d %d", v.Get("custom_id").Str, v.Get("poll.ask").Int(), v.Get("poll.repeat").Int())
		if out[key] != "" {
			b.t.Errorf("%s stands twice", key)
		}
		out[key] = v.Get("poll").Raw + " " + v.Get("flotilla.retried").Str + " " + v.Get("flotilla.body").Str + " " + v.Get("flotilla.cost_usd").Raw
	}
	return out
}

func readOut(b *bench) []byte {
	b.t.Helper()
	text, err := os.ReadFile(b.cfg.Output.Path)
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

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

// A craft's job has a line for every row, ask and repeat, and asks anew once for
// each reason.
func TestCraft(t *testing.T) {
	b, p := pollBench(t, 40, 0, 3)
	e := b.run(b.pollFleet(p))
	if e.code != ExitRows || e.err != nil || e.N != 80 || e.Errored != 4 || e.Pending != 0 || string(e.Judge) != "80" {
		t.Fatalf("%v: %+v", e.err, e)
	}
	lines := b.pollLines()
	if len(lines) != 80 {
		t.Errorf("%d lines, want 80", len(lines))
	}
	for i := range 40 {
		for ask := range 2 {
			line := lines[fmt.Sprintf("r/%d %d 0", i, ask)]
			said := fmt.Sprintf("%d text <%d> é", ask, i)
			v := gjson.Parse(line[:strings.LastIndexByte(line, '}')+1])
			tried, told, cost := "null", false, 1
			switch p.luck(said) {
			case "odd":
				tried, cost = `["odd"]`, 2
			case "cut":
				tried, cost = `["truncated"]`, 2
			case "cut and odd":
				tried, cost = `["truncated","odd"]`, 3
			}
			switch {
			case i%10 == 3:
				said, tried, told, cost = "told", "null", true, 0
			case i%20 == 7:
				said, tried, told, cost = "", "null", true, 0
			}
			if v.Get("said").Str != said || v.Get("tried").Raw != tried || v.Get("told").Bool() != told || !strings.HasSuffix(line, " "+flotilla.Money(1_230_000*cost).Exact()) {
				t.Errorf("row %d ask %d: %s, want %q tried %s told %t cost %d", i, ask, line, said, tried, told, cost)
			}
		}
	}
}

// Whenever it is killed, the next run goes on: nothing is asked twice, and the
// lines are those of a run that nobody killed.
func TestCraftKilled(t *testing.T) {
	for _, out := range []string{"out.jsonl", "out.jsonl.gz", "out.csv"} {
		clean, p := pollBench(t, 30, 2, 3)
		clean.cfg.Output.Path = strings.TrimSuffix(clean.cfg.Output.Path, "out.jsonl") + out
		f := clean.pollFleet(p)
		if e := clean.run(f); e.err != nil {
			t.Fatal(e.err)
		}
		asked := len(f.sent)
		for at := 1; at <= asked; at += 7 {
			b, p := pollBench(t, 30, 2, 3)
			b.cfg.Output.Path = strings.TrimSuffix(b.cfg.Output.Path, "out.jsonl") + out
			first := b.killed(p, at)
			second := b.pollFleet(p)
			e := b.run(second)
			if e.err != nil || e.Pending != 0 || string(e.Judge) != "120" {
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
			if e := b.run(third); e.err != nil || len(third.sent) > 0 || string(readFile(t, b.cfg.Output.Path)) != string(before) || string(e.Judge) != "120" {
				t.Fatalf("%s: a finished job sent %d calls, or wrote: %v", out, len(third.sent), e.err)
			}
		}
	}
}

// A poll over batches, and over both tiers, is killed at every write to the journal
// and goes on: every body answered once, and the lines whole.
func TestCraftBatchesKilled(t *testing.T) {
	const n = 14
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

// An OUT that was lost is written again from the journal, chains and all.
func TestCraftOutLost(t *testing.T) {
	b, p := pollBench(t, 30, 0, 3)
	b.run(b.pollFleet(p))
	want := b.pollLines()
	if err := os.Remove(b.cfg.Output.Path); err != nil {
		t.Fatal(err)
	}
	f := b.pollFleet(p)
	if e := b.run(f); e.err != nil || len(f.sent) > 0 {
		t.Fatalf("%d calls, %v", len(f.sent), e.err)
	}
	if diff := cmp.Diff(want, b.pollLines()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// With --dedupe rows of one text share the last answer of its chain, and a
// resumed job knows their lines.
func TestCraftDedupe(t *testing.T) {
	b, p := pollBench(t, 10, 0, 4)
	text := strings.ReplaceAll(string(readFile(t, b.cfg.Inputs[0])), "r/", "s/")
	b.cfg.Inputs = append(b.cfg.Inputs, b.file("more.jsonl", text))
	b.cfg.Shape.Dedupe = true
	f := b.pollFleet(p)
	if e := b.run(f); e.err != nil || e.Pending != 0 {
		t.Fatalf("%v: %+v", e.err, e)
	}
	lines := b.pollLines()
	sent := len(f.sent)
	for key, line := range lines {
		if strings.Contains(line, `"told":true`) {
			continue // these have no body
		}
		if twin := lines[strings.Replace(key, "r/", "s/", 1)]; !strings.HasPrefix(twin, line[:strings.LastIndexByte(line, ' ')]) {
			t.Errorf("%s: %s, its twin %s", key, line, twin)
		}
	}
	want := 0
	for i := range 10 {
		for ask := range 2 {
			if i != 3 && i != 7 {
				want += 1 + strings.Count(p.luck(fmt.Sprintf("%d text <%d> é", ask, i)), "odd") + strings.Count(p.luck(fmt.Sprintf("%d text <%d> é", ask, i)), "cut")
			}
		}
	}
	if sent != want {
		t.Errorf("%d calls, want %d", sent, want)
	}
	f = b.pollFleet(p)
	if e := b.run(f); e.err != nil || len(f.sent) > 0 {
		t.Errorf("again: %d calls, %v", len(f.sent), e.err)
	}
	if diff := cmp.Diff(lines, b.pollLines()); diff != "" {
		t.Errorf("again (-want +got)\n%s", diff)
	}
}

// A job that grew by rows has the answers of the one before from the journal, also
// those to bodies that it would ask anew with.
func TestCraftGrows(t *testing.T) {
	b, p := pollBench(t, 20, 2, 3)
	f := b.pollFleet(p)
	b.run(f)
	small := b.pollLines()
	text := readFile(t, b.cfg.Inputs[0])
	b.cfg.Inputs = []string{b.file("grown.jsonl", text+`{"id":"new","q":"one more"}`+"\n")}
	g := b.pollFleet(p)
	e := b.run(g)
	if e.err != nil || e.Pending != 0 || string(e.Judge) != "84" {
		t.Fatalf("%v: %+v", e.err, e)
	}
	if len(g.sent) < 4 || len(g.sent) > 12 {
		t.Errorf("%d calls for one more row", len(g.sent))
	}
	for _, call := range g.sent {
		if call < 80 {
			t.Errorf("call %d was sent again", call)
		}
	}
	lines := b.pollLines()
	for key, line := range small {
		if said := line[:strings.LastIndexByte(line, ' ')]; !strings.HasPrefix(lines[key], said) {
			t.Errorf("%s: %s, want %s", key, lines[key], said)
		}
	}
}

// What --retry sends again begins anew, or has yet more room, or goes as it was;
// what rows bring with them stays.
func TestCraftRetry(t *testing.T) {
	b, p := pollBench(t, 20, 0, 4)
	stubborn := b.pollFleet(p)
	stubborn.answer = func(call int, body []byte) flotilla.Result {
		text := gjson.GetBytes(body, "messages.0.content").Str
		switch p.luck(text) {
		case "cut":
			return answered("c", "max_tokens")
		case "odd":
			return refusal(500, "api_error", "broken")
		}
		return p.answer(call, body)
	}
	e := b.run(stubborn)
	if e.err != nil || e.Truncated == 0 || e.Errored < 3 {
		t.Fatalf("%v: %+v", e.err, e)
	}
	before := b.pollLines()
	cut, failed := e.Truncated, e.Errored-2 // two of them by their rows
	b.cfg.Retry = []string{"truncated", "errored", "refused"}
	f := b.pollFleet(p)
	e = b.run(f)
	if e.err != nil || e.Truncated != 0 || e.Errored != 2 {
		t.Fatalf("%v: %+v", e.err, e)
	}
	if want := cut + 2*failed; len(f.sent) != want { // those that failed are odd now, and asked anew
		t.Errorf("%d calls, want %d", len(f.sent), want)
	}
	for call, bodies := range f.bodies {
		room := gjson.Get(bodies[0], "max_tokens").Int()
		if luck := p.luck(gjson.Get(bodies[0], "messages.0.content").Str); luck == "cut" && room != 1200 || luck == "odd" && room != 300 {
			t.Errorf("call %d went with room for %d after an answer that was %s", call, room, luck)
		}
	}
	after := b.pollLines()
	for key, line := range after {
		if strings.Contains(before[key], `"told":true`) && line != before[key] {
			t.Errorf("%s is %s, was %s", key, line, before[key])
		}
		if strings.Contains(line, `"said":"c"`) {
			t.Errorf("%s is still cut", key)
		}
	}
	f = b.pollFleet(p)
	b.cfg.Retry = nil
	if e = b.run(f); e.err != nil || len(f.sent) > 0 {
		t.Errorf("%d calls, %v", len(f.sent), e.err)
	}
	if diff := cmp.Diff(after, b.pollLines()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// --limit counts rows, whatever they are asked.
func TestCraftLimit(t *testing.T) {
	b, p := pollBench(t, 20, 3, 0)
	b.cfg.Limit = 5
	e := b.run(b.pollFleet(p))
	if e.N != 30 || e.Pending != 0 {
		t.Fatalf("%v: %+v", e.err, e)
	}
	rows := map[string]bool{}
	for key := range b.pollLines() {
		rows[strings.Fields(key)[0]] = true
	}
	if got := slices.Sorted(maps.Keys(rows)); !slices.Equal(got, []string{"r/0", "r/1", "r/2", "r/3", "r/4"}) {
		t.Errorf("rows %v", got)
	}
}

// The rows of a job with a craft are made again from what its journal has of it.
func TestCraftRowsAfterwards(t *testing.T) {
	b, p := pollBench(t, 12, 2, 3)
	run, err := Open(t.Context(), b.pollFleet(p), b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Begin(t.Context(), books{b.j}); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRows(t.Context(), b.shapeOf(), b.dir); err == nil {
		t.Error("rows without their craft")
	}
	after, err := OpenCraftRows(t.Context(), b.shapeOf(), b.dir, func(kept json.RawMessage) (Craft, error) {
		return &poll{odd: int(gjson.GetBytes(kept, "odd").Int())}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	live := run.Rows()
	if live.Len() != 48 || after.Len() != 48 {
		t.Fatalf("%d and %d calls, want 48", live.Len(), after.Len())
	}
	for call := range 48 {
		body, err := live.Body(call)
		again, err2 := after.Body(call)
		one, err3 := live.Call(call)
		two, err4 := after.Call(call)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		want := Call{Record: call / 4, Ask: call / 2 % 2, Repeat: call%2 + 1, Told: call/4 == 3 || call/4 == 7}
		if id := fmt.Sprintf("r/%d", call/4); live.ID(call) != id || after.ID(call) != id || string(body) != string(again) {
			t.Errorf("call %d: %s %s, %s %s", call, live.ID(call), body, after.ID(call), again)
		}
		if one.Row.Text() != two.Row.Text() {
			t.Errorf("call %d: %s and %s", call, one.Row.Text(), two.Row.Text())
		}
		one.Row, two.Row = Row{}, Row{}
		if one != want || two != want {
			t.Errorf("call %d: %+v and %+v, want %+v", call, one, two, want)
		}
	}
}
