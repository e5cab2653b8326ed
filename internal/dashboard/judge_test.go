package dashboard

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
)

// twoJudges are one rubric by two models, each twice.
func twoJudges(t testing.TB, n int) *court {
	return newCourt(t, courtRows(t, n), judge.Settings{
		Rubrics: []*judge.Rubric{parsed(t, echoRubric)}, Models: []string{"claude-haiku-4-5", "claude-sonnet-4-6"}, By: "topic", Label: "right",
	}, job.Shape{Repeats: 2})
}

// A job of two judges with two repeats, with every way in which a verdict can
// end: what the page tells is what the journal's answers say by the rubric.
func TestJudgePage(t *testing.T) {
	c := twoJudges(t, 6)
	if c.calls != 24 {
		t.Fatalf("%d calls, want 6 rows × 2 judges × 2 repeats", c.calls)
	}
	if j := read[judgeJSON](c.shop, "jobs/"+c.key+"/judge"); j.Summary != nil || j.Calls != 24 || len(j.Judges) != 2 || *j.By != "topic" || j.Repeats != 2 {
		t.Errorf("before anything is said: %+v", j)
	}
	for call := range 20 { // the last row is pending
		row, ask, repeat := call/4, call/2%2, call%2
		switch {
		case call == 0:
			c.says(call, `{"score": 12`, "max_tokens")
		case call == 4:
			c.says(call, "I am not able to judge this.", "refusal")
		case call == 6:
			c.says(call, "Either 5 or 50.", "end_turn")
		case call == 8:
			bad := c.record(call, "", "")
			bad.Type, bad.Status, bad.Answer, bad.StopReason = "errored", 400, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"too <long>"}}`), ""
			c.append(bad)
		default:
			c.says(call, fmt.Sprintf(`{"score": %d}`, 10*row+20*ask+repeat), "end_turn")
		}
	}
	j := c.ready()
	if j.Settled != 20 || j.Read != 20 || j.Of != 20 || *j.Source != "journal" || j.Named != 6 {
		t.Errorf("read: %+v", j)
	}
	a, b := j.Summary.Judges[0], j.Summary.Judges[1]
	if a.Total.Counts != (judge.Counts{Scored: 7, Truncated: 1, Refused: 1, Failed: 1}) || b.Total.Counts != (judge.Counts{Scored: 9, Unparsable: 1}) {
		t.Errorf("counts %+v and %+v", a.Total.Counts, b.Total.Counts)
	}
	// rows 0 to 4: 1, 11, 21, 30.5, 40.5
	if a.Total.Mean.Value != 20.8 || a.Total.Mean.N != 5 {
		t.Errorf("mean %+v", a.Total.Mean)
	}
	if len(a.Groups) != 3 || a.Groups[0].Group != "topic 0" || a.Groups[0].Rows != 2 || a.Repeats.Rows != 2 || a.Agreement == nil || a.Agreement.AUC == nil {
		t.Errorf("groups %+v, repeats %+v, agreement %+v", a.Groups, a.Repeats, a.Agreement)
	}
	if len(j.Summary.Comparisons) != 1 || j.Summary.Comparisons[0].N != 5 || j.Summary.Comparisons[0].Largest[0].ID == "" {
		t.Errorf("comparisons %+v", j.Summary.Comparisons)
	}
	c.says(0, `{"score": 4}`, "end_turn") // asked anew with more room
	c.until("the summary of the later answer", func() bool {
		j := c.ready()
		got := j.Summary.Judges[0].Total
		return j.Read == 20 && got.Counts.Truncated == 0 && got.Mean.Value == 21.1
	})
}

// until asks again and again, a hundred times.
func (c *court) until(what string, ok func() bool) {
	c.t.Helper()
	for range 100 {
		if ok() {
			return
		}
	}
	c.t.Fatal("this did not come: " + what)
}

// list is the calls that a query finds.
func (c *court) list(query string) (calls []int, page verdictsJSON) {
	c.t.Helper()
	page = read[verdictsJSON](c.shop, "jobs/"+c.key+"/verdicts?"+query)
	for _, v := range page.Rows {
		calls = append(calls, v.Row)
	}
	return calls, page
}

// Verdicts are found by judge, status, range of scores, group, label and words.
func TestVerdictsAreFound(t *testing.T) {
	c := twoJudges(t, 30)
	for call := range 100 {
		if call%10 == 9 {
			c.says(call, "No verdict, dear Straße.", "end_turn")
			continue
		}
		c.says(call, fmt.Sprintf(`{"score": %d}`, call), "end_turn")
	}
	c.ready()
	all := func(of func(call int) bool) (out []int) {
		for call := range c.calls {
			if of(call) {
				out = append(out, call)
			}
		}
		return out
	}
	scored := func(call int) bool { return call < 100 && call%10 != 9 }
	for query, of := range map[string]func(int) bool{
		"":                         func(int) bool { return true },
		"judge=1":                  func(call int) bool { return call/2%2 == 1 },
		"status=unparsable":        func(call int) bool { return call < 100 && !scored(call) },
		"status=pending,scored":    func(call int) bool { return call >= 100 || scored(call) },
		"low=20&high=40":           func(call int) bool { return scored(call) && call >= 20 && call <= 40 },
		"low=20&below=40":          func(call int) bool { return scored(call) && call >= 20 && call < 40 },
		"high=3":                   func(call int) bool { return scored(call) && call <= 3 },
		"group=topic+2&judge=0":    func(call int) bool { return call/4%3 == 2 && call/2%2 == 0 },
		"group=nothing":            func(int) bool { return false },
		"truth=true&status=scored": func(call int) bool { return call/4%2 == 0 && scored(call) },
		"q=strasse":                func(int) bool { return false },
		"label=none":               func(int) bool { return false },
	} {
		calls, page := c.list(query + "&limit=500")
		if want := all(of); !slices.Equal(calls, want) || page.Matched != len(want) || page.Total != c.calls {
			t.Errorf("%q: %v, %d of %d; want %v", query, calls, page.Matched, page.Total, want)
		}
	}
	c.until("searchable answers", func() bool { calls, _ := c.list("q=dear+Straße&limit=500"); return len(calls) == 10 })
	calls, page := c.list("order=-score&status=scored,unparsable&limit=3")
	if !slices.Equal(calls, []int{98, 97, 96}) || *page.Rows[0].Score != 98 || *page.Rows[0].ID != "r/24" || page.Rows[0].Judge != 1 || page.Rows[0].Repeat != 1 || *page.Rows[0].Group != "topic 0" {
		t.Errorf("largest first: %v, %+v", calls, page.Rows[0])
	}
	if calls, _ = c.list("order=score&limit=3&offset=89"); !slices.Equal(calls, []int{98, 9, 19}) {
		t.Errorf("those without a score come last: %v", calls)
	}
	for _, query := range []string{"status=splendid", "low=much", "judge=-2", "order=up", "high=NaN"} {
		if w := c.ask("GET", "localhost", "/api/jobs/"+c.key+"/verdicts?"+query, ""); w.Code != 400 {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// Keys sort as scores do, whatever their signs, and back.
func TestScoreBits(t *testing.T) {
	up := []float64{-1e9, -2.5, -0.5, 0, 1e-3, 0.5, 7, 99.5, 100, math.NaN()}
	for i := 1; i < len(up); i++ {
		if scoreBits(up[i-1], true) >= scoreBits(up[i], true) {
			t.Errorf("%v is not before %v", up[i-1], up[i])
		}
		if down := scoreBits(up[i], false) < scoreBits(up[i-1], false); down == math.IsNaN(up[i]) {
			t.Errorf("falling, %v and %v stand the wrong way", up[i-1], up[i])
		}
	}
}

// One verdict is told with its row, what the judge was asked and said, and all
// other verdicts on the row.
func TestOneVerdict(t *testing.T) {
	c := twoJudges(t, 3)
	c.says(6, "It is <b>80</b>, or 20.", "end_turn")
	c.says(4, `{"score": 7}`, "end_turn")
	c.ready()
	d := read[verdictDetail](c.shop, "jobs/"+c.key+"/verdicts/6")
	if *d.ID != "r/1" || d.Record != 1 || d.Judge != 1 || d.Repeat != 1 || d.Status != "unparsable" || d.Why == nil || d.Score != nil || *d.Truth != "false" {
		t.Errorf("%+v", d.verdictJSON)
	}
	roles := map[string]string{}
	for _, f := range d.Fields {
		roles[f.Name] = f.Role + " " + string(f.Value)
	}
	want := map[string]string{
		"id": ` "r/1"`, "topic": ` "topic 1"`, "question": `shown "Question 1?"`, "completion": `judged "Answer 1, of course."`, "right": " false", "note": ` {"n":1}`,
	}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error("fields (-want +got):", diff)
	}
	if diff := cmp.Diff([]string{"4 0 1 scored", "5 0 2 pending", "6 1 1 unparsable", "7 1 2 pending"}, spaced(d.Others)); diff != "" {
		t.Error("others (-want +got):", diff)
	}
	if !json.Valid(d.Body) || !json.Valid(d.Message) {
		t.Errorf("body %s, message %s", d.Body, d.Message)
	}
	for path, code := range map[string]int{"verdicts/12": 404, "verdicts/x": 404} {
		if w := c.ask("GET", "localhost", "/api/jobs/"+c.key+"/"+path, ""); w.Code != code {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func spaced(list []verdictJSON) (out []string) {
	for _, v := range list {
		out = append(out, fmt.Sprintf("%d %d %d %s", v.Row, v.Judge, v.Repeat, v.Status))
	}
	return out
}

// Jobs of other kinds have no such page, and one whose inputs are gone keeps what
// its run left.
func TestJudgePageOfAnEndedJob(t *testing.T) {
	s := newShop(t, nil)
	j := s.begin(3, nil)
	for _, path := range []string{"judge", "verdicts", "verdicts/0"} {
		if w := s.ask("GET", "localhost", "/api/jobs/"+j.Key+"/"+path, ""); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	left := judge.Summary{Rows: 2, By: "topic", Judges: []judge.JudgeSummary{{Rubric: "echo", Model: "m", Form: "score", Total: judge.Cell{Rows: 2, Counts: judge.Counts{Scored: 2}}}}}
	old := s.begin(2, func(spec *journal.JobSpec) { spec.Kind = journal.KindJudge })
	if err := old.End(t.Context(), journal.Finished, map[string]any{"n": 2, "judge": left}); err != nil {
		t.Fatal(err)
	}
	got := read[judgeJSON](s, "jobs/"+old.Key+"/judge")
	if got.Fault == nil || got.Summary == nil || got.Of != 2 || *got.Source != "run" || !got.Ready {
		t.Errorf("%+v", got)
	}
}

// After its run the rows of a job are read from its inputs again, and the
// intervals are the run's own.
func TestJudgePageAfterwards(t *testing.T) {
	c := newCourt(t, courtRows(t, 40), judge.Settings{Rubrics: []*judge.Rubric{parsed(t, echoRubric)}, By: "topic"}, job.Shape{})
	for call := range 40 {
		c.says(call, fmt.Sprintf(`{"score": %d}`, call*37%101), "end_turn")
	}
	c.held = false
	j := c.ready()
	if j.Named != 40 || j.Missing != nil || len(j.Summary.Judges[0].Groups) != 3 {
		t.Errorf("%+v", j)
	}
	group := url.QueryEscape("topic 1")
	if _, page := c.list("group=" + group); page.Matched != 13 || *page.Rows[0].ID != "r/1" || page.Rows[0].Repeat != 0 {
		t.Errorf("%d rows of a group: %+v", page.Matched, page.Rows)
	}
	if d := read[verdictDetail](c.shop, "jobs/"+c.key+"/verdicts/3"); len(d.Fields) != 6 || d.Body == nil {
		t.Errorf("%+v", d)
	}
}
