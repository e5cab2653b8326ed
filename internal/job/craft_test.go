package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
)

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
