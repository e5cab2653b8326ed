package emulator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// desk is a client of the batch endpoints inside a bubble, whose clock stands
// still while anybody works.
type desk struct {
	t   *testing.T
	tr  *http.Transport
	org string
}

// reply is an answer read whole.
type answered struct {
	status int
	header http.Header
	body   []byte
	err    error // the connection's
}

func (d *desk) do(method, path, body string) (a answered) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, "http://emulator"+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", Key(d.org))
	r.Header.Set("Anthropic-Version", versionOld)
	res, err := d.tr.RoundTrip(r)
	if err != nil {
		return answered{err: err}
	}
	defer res.Body.Close()
	a.status, a.header = res.StatusCode, res.Header
	a.body, a.err = io.ReadAll(res.Body)
	return a
}

const batchPath = "/v1/messages/batches"

// create makes a batch of bodies that ask for numbers from..from+n-1.
func (d *desk) create(from, n int) answered {
	d.t.Helper()
	return d.do("POST", batchPath, createOf(from, n))
}

func createOf(from, n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"custom_id":"row-%d","params":%s}`, from+i, strings.Replace(hello, "Hello", fmt.Sprint("number ", from+i), 1))
	}
	return `{"requests":[` + strings.Join(rows, ",") + `]}`
}

func (d *desk) made(a answered) batchJSON {
	d.t.Helper()
	var b batchJSON
	if a.err != nil || a.status != 200 {
		d.t.Fatalf("%d %s %v", a.status, a.body, a.err)
	}
	if err := json.Unmarshal(a.body, &b); err != nil {
		d.t.Fatal(err)
	}
	return b
}

func (d *desk) get(id string) batchJSON {
	d.t.Helper()
	return d.made(d.do("GET", batchPath+"/"+id, ""))
}

// line is one result.
type line struct {
	ID     string `json:"custom_id"`
	Result struct {
		Type    string          `json:"type"`
		Message json.RawMessage `json:"message"`
		Error   *rowFault       `json:"error"`
	} `json:"result"`
}

func (d *desk) results(id string) []line {
	d.t.Helper()
	a := d.do("GET", batchPath+"/"+id+"/results", "")
	if a.err != nil || a.status != 200 || a.header.Get("Content-Type") != "application/x-jsonl" {
		d.t.Fatalf("%d %s %v", a.status, a.body, a.err)
	}
	return linesOf(d.t, a.body)
}

func linesOf(t *testing.T, body []byte) (out []line) {
	t.Helper()
	for s := range strings.Lines(string(body)) {
		var l line
		if err := json.Unmarshal([]byte(s), &l); err != nil {
			t.Fatalf("%v in %q", err, s)
		}
		out = append(out, l)
	}
	return out
}

// refusedAs wants an error of the API's shape.
func (a answered) refusedAs(t *testing.T, status int, kind, message string) {
	t.Helper()
	var e errorBody
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Fatalf("%d %s %v", a.status, a.body, a.err)
	}
	if a.status != status || e.Error.Type != kind || e.Error.Message != message {
		t.Errorf("%d %s\nwant %d %s %q", a.status, a.body, status, kind, message)
	}
}

// office runs a test against a server at speed 1 in a bubble.
func office(t *testing.T, sc Scenario, f func(t *testing.T, d *desk, s *Server)) {
	t.Helper()
	sc.Name = "test"
	bubble(t, Options{Scenario: sc, Seed: 3}, func(t *testing.T, s *Server, tr *http.Transport) {
		f(t, &desk{t, tr, "high"}, s)
	})
}

// One batch from its create to its deletion.
func TestBatchLife(t *testing.T) {
	office(t, steady(), func(t *testing.T, d *desk, s *Server) {
		b := d.made(d.create(0, 120))
		want := batchJSON{
			ID: b.ID, Type: "message_batch", Status: "in_progress", Counts: countsJSON{Processing: 120},
			CreatedAt: "2026-11-30T09:00:00.000000Z", ExpiresAt: "2026-12-01T09:00:00.000000Z",
		}
		if diff := cmp.Diff(want, b); diff != "" || !strings.HasPrefix(b.ID, "msgbatch_01") {
			t.Errorf("%s: %s", b.ID, diff)
		}
		time.Sleep(time.Minute)
		a := d.do("GET", batchPath+"/"+b.ID, "")
		if a.header.Get("Retry-After") != "10" || a.header.Get("Anthropic-Ratelimit-Requests-Limit") != "4000" || a.header.Get("Anthropic-Ratelimit-Input-Tokens-Limit") != "" {
			t.Errorf("headers %v", a.header)
		}
		if diff := cmp.Diff(want, d.made(a)); diff != "" {
			t.Errorf("in progress: %s", diff)
		}
		d.do("GET", batchPath+"/"+b.ID+"/results", "").refusedAs(t, 404, "not_found_error", "Message Batch "+b.ID+" has no available results.")
		d.do("DELETE", batchPath+"/"+b.ID, "").refusedAs(t, 400, "invalid_request_error", "In progress batches cannot be deleted. Consider canceling the batch instead.")
		other := &desk{t, d.tr, "low"}
		for _, path := range []string{"", "/results", "/cancel"} {
			method := map[string]string{"/cancel": "POST"}[path]
			other.do(method, batchPath+"/"+b.ID+path, "").refusedAs(t, 404, "not_found_error", "Message Batch "+b.ID+" not found.")
		}
		time.Sleep(2 * time.Minute)
		a = d.do("GET", batchPath+"/"+b.ID, "")
		ended, url := "2026-11-30T09:02:00.000000Z", "http://emulator"+batchPath+"/"+b.ID+"/results"
		want.Status, want.Counts, want.EndedAt, want.ResultsURL = "ended", countsJSON{Succeeded: 120}, &ended, &url
		if diff := cmp.Diff(want, d.made(a)); diff != "" || a.header.Get("Retry-After") != "" {
			t.Errorf("ended: %s %v", diff, a.header)
		}
		var ids []string
		for _, l := range d.results(b.ID) {
			ids = append(ids, l.ID)
			if l.Result.Type != "succeeded" || !strings.Contains(string(l.Result.Message), `"service_tier":"batch"`) {
				t.Fatalf("%+v", l)
			}
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != 120 {
			t.Errorf("%d ids", len(ids))
		}
		if first, again := d.results(b.ID), d.results(b.ID); !cmp.Equal(first, again) {
			t.Error("read again, the results differ")
		}
		if a := d.do("DELETE", batchPath+"/"+b.ID, ""); string(a.body) != `{"id":"`+b.ID+`","type":"message_batch_deleted"}` {
			t.Errorf("%d %s", a.status, a.body)
		}
		d.do("GET", batchPath+"/"+b.ID, "").refusedAs(t, 404, "not_found_error", "Message Batch "+b.ID+" not found.")
		st := s.Stats().Orgs[0].Batches
		if st.Created != 1 || st.Succeeded != 120 || st.HTTPRequests != 10 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestBatchList(t *testing.T) {
	office(t, steady(), func(t *testing.T, d *desk, _ *Server) {
		var ids []string
		for i := range 5 {
			ids = append([]string{d.made(d.create(i*10, 2)).ID}, ids...)
			time.Sleep(time.Second)
		}
		for query, want := range map[string]struct {
			ids  []string
			more bool
		}{
			"":                             {ids, false},
			"?limit=2":                     {ids[:2], true},
			"?limit=2&after_id=" + ids[1]:  {ids[2:4], true},
			"?limit=2&after_id=" + ids[2]:  {ids[3:], false},
			"?limit=2&before_id=" + ids[4]: {ids[2:4], true},
			"?limit=9&before_id=" + ids[1]: {ids[:1], false},
		} {
			var l batchList
			a := d.do("GET", batchPath+query, "")
			if err := json.Unmarshal(a.body, &l); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range l.Data {
				got = append(got, b.ID)
			}
			if !slices.Equal(got, want.ids) || l.HasMore != want.more || *l.FirstID != got[0] || *l.LastID != got[len(got)-1] {
				t.Errorf("%q: %s", query, a.body)
			}
		}
		if a := (&desk{t, d.tr, "low"}).do("GET", batchPath, ""); string(a.body) != `{"data":[],"has_more":false,"first_id":null,"last_id":null}` {
			t.Errorf("the other org's: %s", a.body)
		}
		d.do("GET", batchPath+"?limit=0", "").refusedAs(t, 400, "invalid_request_error", "limit: Input should be between 1 and 1000")
		d.do("GET", batchPath+"?after_id=x", "").refusedAs(t, 400, "invalid_request_error", "after_id: no such Message Batch: x")
	})
}

// What refuses a create as a whole (facts/claude-api.md 4.3).
func TestBatchCreateFaults(t *testing.T) {
	_, url := serve(t, Options{})
	long := strings.Repeat("a", 65)
	for body, want := range map[string]string{
		`{"requests":[]}`:                                         "requests: List should have at least 1 item after validation, not 0",
		`{"requests":[{"params":{}}]}`:                            "requests.0.custom_id: Field required",
		`{"requests":[{"custom_id":"` + long + `","params":{}}]}`: "requests.0.custom_id: String should have at most 64 characters",
		`{"requests":[{"custom_id":"a","params":{}},{"custom_id":"a b","params":{}}]}`: "requests.1.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
		`{"requests":[{"custom_id":"","params":{}}]}`:                                  "requests.0.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
		`{"requests":[{"custom_id":"x","params":{}},{"custom_id":"x","params":{}}]}`:   "requests: custom_id's must be unique within a batch. Duplicate custom_id found: x",
		`{"requests":[{"custom_id":1,"params":{}}]}`:                                   "requests.0.custom_id: Input should be a valid string",
		`{"requests":[{"custom_id":"a"}]}`:                                             "requests.0.params: Field required",
		`{"requests":[{"custom_id":"a","params":[]}]}`:                                 "requests.0.params: Input should be a valid dictionary or object",
		`{"requests":[{"custom_id":"a","params":{},"method":"POST"}]}`:                 "requests.0.method: Extra inputs are not permitted",
		`{"requests":["a"]}`: "requests.0: Input should be a valid dictionary or object",
		`{"requests":{}}`:    "requests: Input should be a valid list",
		`{}`:                 "requests: Field required",
		`{"requests":[{"custom_id":"a","params":{}}],"metadata":{}}`: "metadata: Extra inputs are not permitted",
		`[]`:             "The request body is not valid JSON: expected an object",
		`{"requests":[}`: "The request body is not valid JSON: invalid character '}' looking for beginning of value",
	} {
		res, b := ask{path: batchPath, body: body}.do(t, url)
		answered{status: res.StatusCode, body: b}.refusedAs(t, 400, "invalid_request_error", want)
	}
	res, b := ask{path: batchPath, body: createOf(0, 1), header: map[string]string{"X-Api-Key": "sk-ant-emulated-nobody"}}.do(t, url)
	answered{status: res.StatusCode, body: b}.refusedAs(t, 401, "authentication_error", "API key is invalid.")
	res, b = ask{path: batchPath, body: createOf(0, 1), header: map[string]string{"Anthropic-Version": "-"}}.do(t, url)
	answered{status: res.StatusCode, body: b}.refusedAs(t, 400, "invalid_request_error", "anthropic-version: header is required")
}

// A fault in the params of a row is found when the row is processed, and is
// that row's alone.
func TestBatchRowFaults(t *testing.T) {
	texts := map[string]string{}
	var rows []string
	add := func(params, want string) {
		id := fmt.Sprint("row-", len(rows))
		rows = append(rows, `{"custom_id":"`+id+`","params":`+params+`}`)
		texts[id] = want
	}
	add(hello, "")
	add(with(hello, `"stream":true`), `"stream=True" is not supported in the Message Batches API`)
	add(with(hello, `"stream":false`), "")
	add(`{"model":"claude-haiku-4-5","max_tokens":1}`, "messages: Field required")
	add(strings.Replace(hello, "100", "0", 1), "max_tokens: Input should be greater than or equal to 1")
	add(strings.Replace(hello, "100", "-1", 1), "max_tokens: Input should be greater than or equal to 0")
	add(strings.Replace(hello, "claude-sonnet-4-6", "claude-none", 1), "model: claude-none")
	add(with(hello, `"speed":"fast"`), `"speed" is not supported in the Message Batches API`)
	add(with(hello, `"store":true`), `"store" is not supported in the Message Batches API`)
	add(with(hello, `"research_preview_2026_02":"active"`), `"research_preview_2026_02" is not supported in the Message Batches API`)
	add(`{}`, "model: Field required")
	add(strings.Replace(hello, "100", "128001", 1), "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for claude-sonnet-4-6")
	office(t, steady(), func(t *testing.T, d *desk, s *Server) {
		b := d.made(d.do("POST", batchPath, `{"requests":[`+strings.Join(rows, ",")+`]}`))
		time.Sleep(10 * time.Minute)
		if c := d.get(b.ID).Counts; c != (countsJSON{Succeeded: 2, Errored: 10}) {
			t.Errorf("counts %+v", c)
		}
		for _, l := range d.results(b.ID) {
			got := ""
			if l.Result.Error != nil {
				got = l.Result.Error.Error.Message
				kind := "invalid_request_error"
				if strings.HasPrefix(got, "model: claude") {
					kind = "not_found_error"
				}
				if e := l.Result.Error; e.Type != "error" || e.Error.Type != kind || e.Error.Details.Visibility != "user_facing" || l.Result.Type != "errored" {
					t.Errorf("%s: %+v", l.ID, e)
				}
			}
			if got != texts[l.ID] {
				t.Errorf("%s: %q, want %q", l.ID, got, texts[l.ID])
			}
		}
		if got := s.Stats().Billed; got == 0 || got > 1_000_000 {
			t.Errorf("billed %d", got)
		}
	})
}

// Under its beta header a batch may ask for 300,000 tokens of some models.
func TestBatchLongOutput(t *testing.T) {
	office(t, steady(), func(t *testing.T, d *desk, _ *Server) {
		body := `{"requests":[{"custom_id":"a","params":` + strings.Replace(hello, "100", "300000", 1) + `}]}`
		r, _ := http.NewRequestWithContext(context.Background(), "POST", "http://emulator"+batchPath, strings.NewReader(body))
		r.Header = http.Header{"X-Api-Key": {Key("high")}, "Anthropic-Version": {versionOld}, "Anthropic-Beta": {"x, output-300k-2026-03-24"}}
		res, err := d.tr.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var b batchJSON
		if err := json.NewDecoder(res.Body).Decode(&b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if c := d.get(b.ID).Counts; c.Succeeded != 1 {
			t.Errorf("counts %+v", c)
		}
	})
}

// Cancel, and cancel of what has ended.
func TestBatchCancelOverHTTP(t *testing.T) {
	office(t, steady(), func(t *testing.T, d *desk, _ *Server) {
		b := d.made(d.create(0, 400))
		time.Sleep(2 * time.Minute)
		got := d.made(d.do("POST", batchPath+"/"+b.ID+"/cancel", ""))
		if got.Status != "canceling" || got.Counts.Processing != 400 || *got.CanceledAt != "2026-11-30T09:02:00.000000Z" {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Minute)
		got = d.get(b.ID)
		if got.Status != "ended" || got.Counts != (countsJSON{Succeeded: 130, Canceled: 270}) {
			t.Errorf("%+v", got)
		}
		kinds := map[string]int{}
		for _, l := range d.results(b.ID) {
			kinds[l.Result.Type]++
		}
		if kinds["succeeded"] != 130 || kinds["canceled"] != 270 {
			t.Errorf("results %v", kinds)
		}
		if again := d.made(d.do("POST", batchPath+"/"+b.ID+"/cancel", "")); !cmp.Equal(again, got) {
			t.Errorf("canceled again: %+v", again)
		}
	})
	sc := steady()
	sc.Batches.RefuseLateCancel = true
	office(t, sc, func(t *testing.T, d *desk, _ *Server) {
		b := d.made(d.create(0, 2))
		time.Sleep(time.Hour)
		d.do("POST", batchPath+"/"+b.ID+"/cancel", "").refusedAs(t, 400, "invalid_request_error", "Message Batch "+b.ID+" has already ended and cannot be canceled.")
	})
}

// After a day a batch ends as it is, after 29 its results are gone.
func TestBatchAges(t *testing.T) {
	sc := steady()
	sc.Batches.RowsPerSecond = 0.001
	office(t, sc, func(t *testing.T, d *desk, _ *Server) {
		b := d.made(d.create(0, 100))
		time.Sleep(24 * time.Hour)
		got := d.get(b.ID)
		if got.Status != "ended" || got.Counts != (countsJSON{Succeeded: 86, Expired: 14}) || *got.EndedAt != got.ExpiresAt {
			t.Errorf("%+v", got)
		}
		if n := len(d.results(b.ID)); n != 100 {
			t.Errorf("%d results", n)
		}
		time.Sleep(28 * 24 * time.Hour)
		if got = d.get(b.ID); got.ResultsURL != nil || *got.ArchivedAt != "2026-12-29T09:00:00.000000Z" {
			t.Errorf("%+v", got)
		}
		d.do("GET", batchPath+"/"+b.ID+"/results", "").refusedAs(t, 404, "not_found_error", "Message Batch "+b.ID+" has no available results.")
	})
}

// A new batch is hidden for a while, once more later, and so are its results
// (facts/peer-faults.md 9).
func TestBatchUnseen(t *testing.T) {
	sc := steady()
	sc.Batches.Unseen = 20 * time.Second
	office(t, sc, func(t *testing.T, d *desk, _ *Server) {
		b := d.made(d.create(0, 120))
		seen := ""
		for range 15 {
			switch a := d.do("GET", batchPath+"/"+b.ID, ""); a.status {
			case 200:
				seen += "+"
			case 404:
				seen += "-"
			}
			if r := d.do("GET", batchPath+"/"+b.ID+"/results", ""); r.status == 200 {
				seen += "r"
			}
			time.Sleep(10 * time.Second)
		}
		if want := "--++++++++--+++r"; seen != want {
			t.Errorf("seen %s, want %s", seen, want)
		}
	})
}
