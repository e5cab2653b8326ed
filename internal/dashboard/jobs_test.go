package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// read asks for JSON.
func read[T any](s *shop, path string) (v T) {
	s.t.Helper()
	w := s.ask("GET", "localhost", "/api/"+path, "")
	if w.Code != 200 {
		s.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		s.t.Fatalf("%s: %v in %s", path, err, w.Body)
	}
	return v
}

// A job that runs is counted as it settles; one that has ended by what it left.
func TestJobsAsTheySettle(t *testing.T) {
	s := newShop(t, nil)
	j := s.begin(5, func(spec *journal.JobSpec) { spec.Client, spec.Kind = "ada", journal.KindBatch })
	s.settle(j, 0, "yes", "end_turn")
	s.settle(j, 3, "cut", "max_tokens")
	one := func() jobJSON {
		all := read[state](s, "state").Jobs
		s.dash.states = stateCache{}
		if len(all) != 1 {
			t.Fatalf("%d jobs", len(all))
		}
		return all[0]
	}
	want := jobJSON{
		Key: j.Key, Kind: "batch", Client: some("ada"), Command: "flotilla run rows.jsonl", N: 5, Succeeded: 2, Pending: 3, State: "running",
		Spent: 2_000_000, Settled: 2_000_000, Controllable: true,
	}
	got := one()
	want.Created = got.Created
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("running (-want +got):", diff)
	}
	bad := s.outcome(j, 1, "", "")
	bad.Type, bad.Status, bad.Answer = "errored", 400, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"too <long>"}}`)
	s.append(bad)
	s.settle(j, 3, "whole", "end_turn") // --retry truncated
	if got := one(); got.Succeeded != 2 || got.Errored != 1 || got.Pending != 2 || got.Spent != 4_000_000 {
		t.Errorf("later: %+v", got)
	}
	if d := read[jobDetail](s, "jobs/"+j.Key); d.StopReasons["end_turn"] != 2 || len(d.StopReasons) != 1 || d.Runs != 1 || *d.PID == 0 || string(d.Totals) != "null" || d.Inputs[0] != "rows.jsonl" {
		t.Errorf("its details: %+v", d)
	}
	if err := j.End(t.Context(), journal.Stopped, map[string]any{"n": 5, "succeeded": 2, "errored": 1, "expired": 0, "canceled": 0, "pending": 2, "cap_usd": 7}); err != nil {
		t.Fatal(err)
	}
	if got := one(); got.State != "stopped" || got.Pending != 2 || got.Ended == nil || *got.Cap != flotilla.USD(7) || got.Controllable {
		t.Errorf("ended: %+v", got)
	}
}

// What is set aside for rows under way is told apart from what rows have cost.
func TestMoneySetAside(t *testing.T) {
	s := newShop(t, nil)
	j := s.begin(5, nil)
	s.settle(j, 0, "yes", "end_turn")
	s.append(flotilla.Record{
		Kind: flotilla.IntentRecord, Job: j.ID, Row: 1, Attempt: 99, At: epoch, Org: "high", Pool: "haiku-4.5", Tier: "sync", Model: "claude-haiku-4-5", Worst: 5_000_000,
	})
	if got := read[state](s, "state").Jobs[0]; got.Settled != 1_000_000 || got.Reserved != 5_000_000 || got.Spent != 6_000_000 {
		t.Errorf("%v settled, %v set aside, %v in all", got.Settled, got.Reserved, got.Spent)
	}
}

// A job that a cap holds says so; one that the gateway takes up again by itself
// waits, though no process has it.
func TestWhatHoldsAJob(t *testing.T) {
	var id int64
	s := newShop(t, func(c *Config) {
		c.Held = func(job int64) string {
			if job == id {
				return "budget"
			}
			return ""
		}
	})
	j := s.begin(5, nil)
	info := journal.JobInfo{ID: j.ID, State: journal.Running}
	for want, streams := range map[string][]flotilla.StreamState{
		"":       {{Job: j.ID}, {Job: j.ID + 1, HeldBy: "cap"}},
		"cap":    {{Job: j.ID, HeldBy: "cap"}},
		"budget": {{Job: j.ID + 1}, {Job: j.ID, HeldBy: "budget"}},
	} {
		if got := s.dash.jobs.heldBy(&info, &flotilla.Snapshot{Streams: streams}); got != want {
			t.Errorf("held by %q, want %q", got, want)
		}
	}
	s.settle(j, 0, "yes", "end_turn")
	if err := j.End(t.Context(), journal.Stopped, nil); err != nil {
		t.Fatal(err)
	}
	if got := read[state](s, "state").Jobs[0]; got.State != "stopped" || got.Held != nil {
		t.Errorf("it is %s, held by %v", got.State, got.Held)
	}
	s.dash.states = stateCache{}
	id = j.ID
	if got := read[state](s, "state").Jobs[0]; got.State != "waiting" || *got.Held != "budget" || got.Ended != nil {
		t.Errorf("then it is %s, held by %v, ended %v", got.State, got.Held, got.Ended)
	}
}

// A client whose money of the day is not known has none to show, not nothing.
func TestSpentTodayNotKnown(t *testing.T) {
	two := flotilla.USD(2)
	s := newShop(t, func(c *Config) {
		c.Clients = func(context.Context) []ClientState {
			return []ClientState{{Name: "ada", SpentToday: &two}, {Name: "bob"}}
		}
	})
	got := read[state](s, "state").Clients
	if len(got) != 2 || *got[0].SpentToday != two || got[1].SpentToday != nil {
		t.Errorf("clients %+v", got)
	}
}

// What a run left is believed only where it speaks of all rows.
func TestCountsOfAnEndedJob(t *testing.T) {
	for name, c := range map[string]struct {
		info journal.JobInfo
		want bool
	}{
		"whole":       {journal.JobInfo{N: 2, State: journal.Finished, Totals: json.RawMessage(`{"n":2,"succeeded":2,"errored":0,"expired":0,"canceled":0,"pending":0}`)}, true},
		"--limit":     {journal.JobInfo{N: 9, State: journal.Finished, Totals: json.RawMessage(`{"n":2,"succeeded":2,"errored":0,"expired":0,"canceled":0,"pending":0}`)}, false},
		"interrupted": {journal.JobInfo{N: 2, State: journal.Interrupted, Totals: json.RawMessage(`{"n":2,"succeeded":2,"errored":0,"expired":0,"canceled":0,"pending":0}`)}, false},
		"others":      {journal.JobInfo{N: 2, State: journal.Finished, Totals: json.RawMessage(`{"calls":2}`)}, false},
		"none":        {journal.JobInfo{N: 2, State: journal.Finished}, false},
	} {
		if _, ok := summed(&c.info); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}

// rowsShop is a shop with a job whose prompts can be read while it runs.
func rowsShop(t *testing.T, prompts texts) (*shop, *journal.Job) {
	var key string
	s := newShop(t, func(c *Config) {
		c.Live = func(k string) (job.RowReader, bool) { return prompts, k == key }
	})
	j := s.begin(len(prompts), nil)
	key = j.Key
	return s, j
}

func ids(r rowsJSON) (out []string) {
	for _, one := range r.Rows {
		out = append(out, fmt.Sprintf("%s %s", *one.ID, one.Status))
	}
	return out
}

func TestRows(t *testing.T) {
	s, j := rowsShop(t, texts{"Is the STRASSE wide?", "Is the Straße wide?", "What\n of it", "cat </script><b>bold</b>", "last"})
	s.settle(j, 1, "The answer is Yes", "end_turn")
	s.settle(j, 2, "no", "refusal")
	s.settle(j, 3, "an old answer", "max_tokens")
	query := func(q string) rowsJSON { return read[rowsJSON](s, "jobs/"+j.Key+"/rows?"+q) }
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"", []string{"set/0 pending", "set/1 succeeded", "set/2 succeeded", "set/3 succeeded", "set/4 pending"}},
		{"offset=1&limit=2", []string{"set/1 succeeded", "set/2 succeeded"}},
		{"q=stra%C3%9Fe", []string{"set/1 succeeded"}},
		{"q=STRASSE", []string{"set/0 pending"}},
		{"q=%22what+of%22", []string{"set/2 succeeded"}},
		{"q=of+what", []string{"set/2 succeeded"}},
		{"q=wide+yes", []string{"set/1 succeeded"}}, // one word of the prompt, one of the answer
		{"q=wide+no", nil},
		{"q=set/3", []string{"set/3 succeeded"}},
		{"q=%3C/script%3E", []string{"set/3 succeeded"}},
		{"q=haiku", nil}, // the name of the model is in every body
		{"status=pending", []string{"set/0 pending", "set/4 pending"}},
		{"status=refused", []string{"set/2 succeeded"}},
		{"status=truncated,pending", []string{"set/0 pending", "set/3 succeeded", "set/4 pending"}},
		{"status=succeeded&q=wide", []string{"set/1 succeeded"}},
		{"status=errored", nil},
	} {
		got := query(c.query)
		if diff := cmp.Diff(c.want, ids(got)); diff != "" || got.Total != 5 || got.Indexed != 1 {
			t.Errorf("%q, of %d, %v searchable (-want +got): %s", c.query, got.Total, got.Indexed, diff)
		}
		if asked := strings.Contains(c.query, "q="); asked != (got.Searched != nil) || asked && *got.Searched != "ids, prompts, answers" {
			t.Errorf("%q: searched %v", c.query, got.Searched)
		}
	}
	s.settle(j, 3, "a new answer", "end_turn") // takes its place
	if got := query("q=%22an+old%22"); got.Matched != 0 {
		t.Errorf("an answer that no longer stands is found: %v", ids(got))
	}
	if got := query("q=new&status=succeeded"); got.Matched != 1 || got.Rows[0].Snippet != "a new answer" || *got.Rows[0].LatencyMS != 800 || *got.Rows[0].Org != "high" {
		t.Errorf("the answer that stands: %+v", got.Rows)
	}
	for _, bad := range []string{"status=done", "offset=-1", "limit=501", "limit=x", "q=" + strings.Repeat("a+", 17)} {
		if w := s.ask("GET", "localhost", "/api/jobs/"+j.Key+"/rows?"+bad, ""); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
}

func TestOneRow(t *testing.T) {
	s, j := rowsShop(t, texts{"first", "second </script>", "third"})
	s.settle(j, 0, `<img src=x onerror=alert(1)> & "quotes"`, "end_turn")
	bad := s.outcome(j, 1, "", "")
	bad.Type, bad.Status, bad.Answer = "errored", 400, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"too <long>"}}`)
	s.append(bad)
	path := "jobs/" + j.Key + "/rows/"
	if w := s.ask("GET", "localhost", "/api/"+path+"0", ""); strings.ContainsAny(w.Body.String(), "<>&") {
		t.Error("signs of HTML are not escaped in", w.Body)
	}
	d := read[rowDetail](s, path+"0")
	var got, want any
	if json.Unmarshal(d.Message, &got) != nil || json.Unmarshal(message(`<img src=x onerror=alert(1)> & "quotes"`, "end_turn"), &want) != nil || cmp.Diff(want, got) != "" || d.Error != nil && string(d.Error) != "null" {
		t.Errorf("the message is %s", d.Message)
	}
	if !strings.Contains(string(d.Body), `"first"`) || d.BodyMissing != nil || *d.ID != "set/0" {
		t.Errorf("the body is %s", d.Body)
	}
	d = read[rowDetail](s, path+"1")
	if d.Status != "errored" || *d.HTTPStatus != 400 || !strings.Contains(string(d.Error), "invalid_request_error") || string(d.Message) != "null" {
		t.Errorf("an error: %+v", d)
	}
	if d = read[rowDetail](s, path+"2"); d.Status != "pending" || d.Org != nil || d.CostUSD != nil || d.At != nil {
		t.Errorf("a pending row: %+v", d)
	}
	for _, row := range []string{"3", "-1", "x", "99999999999999999999"} {
		if w := s.ask("GET", "localhost", "/api/"+path+row, ""); w.Code != 404 {
			t.Errorf("row %s: %d", row, w.Code)
		}
	}
}

// Where the inputs are gone the answers are searched alone, and it is said why.
func TestRowsWithoutInputs(t *testing.T) {
	s := newShop(t, nil)
	j := s.begin(2, nil)
	s.settle(j, 0, "yes it is", "end_turn")
	r := read[rowsJSON](s, "jobs/"+j.Key+"/rows?q=yes")
	if r.Matched != 1 || *r.Searched != "answers" || r.Rows[0].ID != nil || r.Indexed != 1 {
		t.Errorf("%+v", r)
	}
	if d := read[rowDetail](s, "jobs/"+j.Key+"/rows/0"); d.BodyMissing == nil || string(d.Body) != "null" {
		t.Errorf("the body is %s, missing for %v", d.Body, d.BodyMissing)
	}
}

// An emulator's answer is no answer of a job at the provider.
func TestAnswersOfAnotherProvenance(t *testing.T) {
	s := newShop(t, nil)
	j := s.begin(2, nil)
	foreign := s.outcome(j, 0, "emulated", "end_turn")
	foreign.Emulated = "default/1"
	s.append(foreign)
	if r := read[rowsJSON](s, "jobs/"+j.Key+"/rows?q=emulated"); r.Matched != 0 {
		t.Errorf("%+v", r)
	}
	if r := read[rowsJSON](s, "jobs/"+j.Key+"/rows?status=pending"); r.Matched != 2 {
		t.Errorf("%+v", r)
	}
}

// What other jobs settle is gone through once, not at every look at a job that
// waits behind them.
func TestAJobThatWaitsIsReadOnFromTheNewest(t *testing.T) {
	s := newShop(t, nil)
	idle, busy := s.begin(1, nil), s.begin(3, nil)
	for row := range 3 {
		s.settle(busy, row, "yes", "end_turn")
		_ = read[jobDetail](s, "jobs/"+idle.Key)
		newest, err := s.journal.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if after := s.dash.jobs.view(idle.ID, time.Now()).tally.after; after != newest {
			t.Errorf("the idle job is read on from %d, the newest is %d", after, newest)
		}
	}
	s.settle(idle, 0, "at last", "end_turn")
	if d := read[jobDetail](s, "jobs/"+idle.Key); d.Succeeded != 1 || d.StopReasons["end_turn"] != 1 {
		t.Errorf("then it settles: %+v", d)
	}
}
