package emulator

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

func (d *desk) fault(spec string) {
	d.t.Helper()
	if a := d.do("POST", "/emulator/faults", spec); a.status != 200 {
		d.t.Fatalf("%d %s", a.status, a.body)
	}
}

// A create whose answer is lost may have made the batch or not, as the fault
// says; who lists sees which.
func TestBatchFaultsOfCreate(t *testing.T) {
	for _, c := range []struct {
		spec   string
		made   int
		status int // 0: the connection broke
	}{
		{`"kind":"drop_before"`, 0, 0},
		{`"kind":"drop_after"`, 1, 0},
		{`"kind":"truncate"`, 1, 0},
		{`"kind":"status","status":500`, 0, 500},
		{`"kind":"status","status":504,"performed":true`, 1, 504},
		{`"kind":"status","status":429,"headers":{"retry-after":"7"}`, 0, 429},
		{`"kind":"delay","delay_ms":30000`, 1, 200},
	} {
		t.Run(c.spec, func(t *testing.T) {
			office(t, steady(), func(t *testing.T, d *desk, s *Server) {
				d.fault(`{"method":"POST","path":"/v1/messages/batches","count":1,` + c.spec + `}`)
				began := time.Now()
				a := d.create(0, 3)
				if got := a.status; a.err == nil && got != c.status || a.err != nil && c.status != 0 {
					t.Errorf("%d %s %v", got, a.body, a.err)
				}
				if took := time.Since(began); strings.Contains(c.spec, "delay") != (took == 30*time.Second) {
					t.Errorf("answered after %v", took)
				}
				if n := s.Stats().Orgs[0].Batches.Created; n != int64(c.made) {
					t.Errorf("%d batches", n)
				}
				if c.status == 429 && a.header.Get("Retry-After") != "7" {
					t.Errorf("headers %v", a.header)
				}
				d.made(d.create(5, 1)) // the fault is over
			})
		})
	}
}

// Polls, cancels and results are struck by pattern, before their ids are known.
func TestBatchFaultsOfPolls(t *testing.T) {
	office(t, steady(), func(t *testing.T, d *desk, _ *Server) {
		b := d.made(d.create(0, 101))
		poll, results := batchPath+"/"+b.ID, batchPath+"/"+b.ID+"/results"
		d.fault(`{"method":"GET","path":"/v1/messages/batches/{id}/{$}","count":2,"kind":"status","status":404}`)
		if a := d.do("GET", results, ""); a.status != 404 || !strings.Contains(string(a.body), "no available results") {
			t.Errorf("results: %s", a.body)
		}
		for range 2 {
			if a := d.do("GET", poll, ""); a.status != 404 {
				t.Errorf("poll: %d", a.status)
			}
		}
		d.get(b.ID)
		d.fault(`{"path":"/v1/messages/batches/{id}/cancel","count":1,"kind":"drop_before"}`)
		if a := d.do("POST", poll+"/cancel", ""); a.err == nil {
			t.Errorf("cancel: %d", a.status)
		}
		if got := d.get(b.ID); got.Status != "in_progress" {
			t.Errorf("canceled: %+v", got)
		}
		time.Sleep(10 * time.Minute)

		d.fault(`{"path":"/v1/messages/batches/{id}/results","count":1,"kind":"truncate"}`)
		a := d.do("GET", results, "")
		if n := len(linesOf(t, a.body)); a.err != nil || n != 50 {
			t.Errorf("cut at a line's end: %d lines, %v", n, a.err)
		}
		d.fault(`{"path":"/v1/messages/batches/{id}/results","count":1,"kind":"drop_after"}`)
		a = d.do("GET", results, "")
		if a.err == nil || strings.HasSuffix(string(a.body), "\n") {
			t.Errorf("reset in a line: %v after %q", a.err, a.body[max(0, len(a.body)-20):])
		}
		d.fault(`{"path":"/v1/messages/batches","for_s":60,"kind":"drop_before"}`)
		if a, b := d.do("GET", batchPath, ""), d.do("GET", results, ""); a.err == nil || b.err == nil {
			t.Errorf("list %v, results %v", a.err, b.err)
		}
		time.Sleep(time.Minute)
		if n := len(d.results(b.ID)); n != 101 {
			t.Errorf("%d results", n)
		}
	})
}

func TestFaultPaths(t *testing.T) {
	for _, c := range []struct {
		fault, method, path string
		want                bool
	}{
		{"/v1/messages", "POST", "/v1/messages", true},
		{"/v1/messages", "POST", "/v1/messages/batches", false},
		{"/v1/messages/batches", "POST", "/v1/messages/batches", true},
		{"/v1/messages/batches", "GET", "/v1/messages/batches/x/results", true},
		{"/v1/messages/batches/{$}", "POST", "/v1/messages/batches", true},
		{"/v1/messages/batches/{$}", "GET", "/v1/messages/batches/x", false},
		{"/v1/messages/batches/{id}", "GET", "/v1/messages/batches", false},
		{"/v1/messages/batches/{id}", "GET", "/v1/messages/batches/x", true},
		{"/v1/messages/batches/{id}", "GET", "/v1/messages/batches/x/results", true},
		{"/v1/messages/batches/{id}/{$}", "GET", "/v1/messages/batches/x/results", false},
		{"/v1/messages/batches/{id}/results", "GET", "/v1/messages/batches/x/results", true},
		{"/v1/messages/batches/y", "GET", "/v1/messages/batches/x", false},
		{"", "GET", "/anything", true},
		{"/v1/models", "GET", "/v1/models/claude-x", true},
	} {
		f := faultSpec{Path: c.fault}
		if got := f.covers(c.method, c.path); got != c.want {
			t.Errorf("%q covers %q: %v", c.fault, c.path, got)
		}
		f.Method = "delete"
		if f.covers(c.method, c.path) || f.covers("DELETE", c.path) != c.want {
			t.Errorf("%q ignores its method on %q", c.fault, c.path)
		}
	}
}

// On a bad network some creates are lost before the API has heard of them, and
// some after.
func TestBatchFlaky(t *testing.T) {
	sc := steady()
	sc.Flaky = Flaky{Before: 0.5, Cut: 0.2}
	office(t, sc, func(t *testing.T, d *desk, s *Server) {
		heard, broken := 0, 0
		for i := range 100 {
			if a := d.create(i, 1); a.err == nil && a.status == 200 {
				heard++
			} else {
				broken++
			}
		}
		made := int(s.Stats().Orgs[0].Batches.Created)
		if heard < 30 || broken < 45 || made < heard+15 || made > 100-15 {
			t.Errorf("%d heard, %d broken, %d made", heard, broken, made)
		}
	})
}

// The refusals of batch endpoints are what a client of the API takes them for.
func TestBatchLimitTexts(t *testing.T) {
	sc := steady()
	sc.Orgs[0].BatchQueue, sc.Orgs[0].BatchRPM = 10, 3
	office(t, sc, func(t *testing.T, d *desk, _ *Server) {
		d.made(d.create(0, 8))
		full := d.create(10, 3)
		full.refusedAs(t, 429, "rate_limit_error", "This request would exceed your organization's limit of 10 batch requests in the processing queue (org: "+OrgID("high")+"). Please try again later.")
		if r := wire.Classify(full.status, full.header, full.body); r.Class != wire.QueueFull || r.RetryAfter < 10*time.Second {
			t.Errorf("%+v", r)
		}
		if n := full.header.Get("Anthropic-Ratelimit-Requests-Remaining"); n != "1" {
			t.Errorf("%s calls remain", n)
		}
		d.do("GET", batchPath, "")
		often := d.do("GET", batchPath, "")
		often.refusedAs(t, 429, "rate_limit_error", "This request would exceed your organization's rate limit of 3 requests per minute (org: "+OrgID("high")+", endpoint: Message Batches).")
		if r := wire.Classify(often.status, often.header, often.body); r.Class == wire.QueueFull || r.Dim != wire.Requests || r.RetryAfter != 20*time.Second {
			t.Errorf("%+v", r)
		}
		time.Sleep(20 * time.Second)
		if a := d.do("GET", batchPath, ""); a.status != 200 {
			t.Errorf("after the wait: %d", a.status)
		}
	})
	sc = steady()
	sc.Orgs[0].SpendUSD = 0.0001
	office(t, sc, func(t *testing.T, d *desk, _ *Server) {
		d.made(d.create(0, 8))
		time.Sleep(time.Hour)
		a := d.create(0, 8)
		if r := wire.Classify(a.status, a.header, a.body); r.Class != wire.Spend || a.header.Get("Retry-After") != "" {
			t.Errorf("%d %s: %+v", a.status, a.body, r)
		}
	})
}

// 256 MB may come, and one byte more may not; 100,000 rows, and not 100,001.
func TestBatchSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("moves half a gigabyte")
	}
	_, url := serve(t, Options{})
	filled := func(n int) string {
		var b strings.Builder
		b.Grow(n)
		b.WriteString(`{"requests":[`)
		const tail = `"}}]}`
		for i := 0; b.Len()+(20<<20) < n; i++ { // rows of 20 MiB
			fmt.Fprintf(&b, `{"custom_id":"r%d","params":{"model":"%s"}},`, i, strings.Repeat("a", 20<<20-50))
		}
		b.WriteString(`{"custom_id":"last","params":{"model":"`)
		b.WriteString(strings.Repeat("a", n-b.Len()-len(tail)))
		b.WriteString(tail)
		return b.String()
	}
	for n, want := range map[int]int{256 << 20: http.StatusOK, 256<<20 + 1: http.StatusRequestEntityTooLarge} {
		if res, b := (ask{path: batchPath, body: filled(n)}).do(t, url); res.StatusCode != want {
			t.Errorf("%d bytes: %d %s", n, res.StatusCode, b)
		}
	}
	for n, want := range map[int]int{100_000: http.StatusOK, 100_001: http.StatusBadRequest} {
		res, body := ask{path: batchPath, body: `{"requests":[` + manyRows(n) + `]}`}.do(t, url)
		if res.StatusCode != want {
			t.Errorf("%d rows: %d %s", n, res.StatusCode, body)
		}
		if n > 100_000 {
			answered{status: res.StatusCode, body: body}.refusedAs(t, 400, "invalid_request_error", "requests: List should have at most 100000 items after validation, not 100001")
		}
	}
}

// The results of 100,000 rows come whole.
func TestBatchManyResults(t *testing.T) {
	sc := steady()
	sc.Batches.RowsPerSecond = 1e6
	office(t, sc, func(t *testing.T, d *desk, _ *Server) {
		b := d.made(d.do("POST", batchPath, `{"requests":[`+manyRows(100_000)+`]}`))
		time.Sleep(2 * time.Minute)
		a := d.do("GET", batchPath+"/"+b.ID+"/results", "")
		if n := strings.Count(string(a.body), "\n"); n != 100_000 || a.err != nil {
			t.Errorf("%d lines, %v", n, a.err)
		}
	})
}

func manyRows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"custom_id":"r%d","params":{}}`, i)
	}
	return b.String()[1:]
}

// FuzzBatchCreate: no create makes the reader fall over, and what it lets pass
// has rows whose ids are as they have to be, each once.
func FuzzBatchCreate(f *testing.F) {
	for _, s := range []string{
		createOf(0, 3), `{"requests":[]}`, `{"requests":[{"custom_id":"a","params":{}}]}`, `{`, `[]`, ``, `{"requests":{}}`,
		`{"requests":[{"custom_id":"a","params":{"stream":true}},{"custom_id":"a","params":{}}]}`, `{"requests":[null]}`,
		`{"requests":[{"custom_id":"é","params":{}}]}`, `{"requests":[{"custom_id":"a","custom_id":"b","params":1,"params":{}}]}`,
	} {
		f.Add(s)
	}
	w, err := newWorld(unlimited(), 1, 0, epoch)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		entries, e := splitUpload(body)
		if e != nil {
			if e.status != 400 || e.message == "" {
				t.Errorf("%+v", e)
			}
			return
		}
		up := w.weigh(entries, epoch, versionOld, nil)
		seen := map[string]bool{}
		for _, r := range up.rows {
			if seen[r.id] || r.id == "" || len(r.id) > 64 || (r.fault != nil) != r.arrival.Invalid {
				t.Errorf("row %+v", r)
			}
			seen[r.id] = true
		}
		if len(up.rows) == 0 {
			t.Error("no rows")
		}
	})
}
