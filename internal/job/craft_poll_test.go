package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

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
