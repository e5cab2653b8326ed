package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/journal"
)

// ask answers a request as the server would, without a network.
func (s *shop) ask(method, host, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.dash.ServeHTTP(w, r)
	return w
}

const asJSON = "application/json"

func TestOnlyWeMayAsk(t *testing.T) {
	s := newShop(t, func(c *Config) { c.Hosts = []string{"box.lan"} })
	job := s.begin(3, nil)
	pause := "/api/jobs/" + job.Key + "/pause"
	for _, c := range []struct {
		name, method, host, path, body string
		header                         []string
		want                           int
	}{
		{"by address", "GET", "127.0.0.1:8787", "/api/state", "", nil, 200},
		{"by an address of version 6", "GET", "[::1]:8787", "/api/state", "", nil, 200},
		{"by name", "GET", "LocalHost:8787", "/api/state", "", nil, 200},
		{"by a name of the owner's", "GET", "box.lan", "/api/state", "", nil, 200},
		{"a name that points here", "GET", "evil.example:8787", "/api/state", "", nil, 403},
		{"a name that looks like an address", "GET", "127.0.0.1.evil.example", "/api/state", "", nil, 403},
		{"no name", "GET", "", "/api/state", "", nil, 403},
		{"its pages too", "GET", "evil.example", "/", "", nil, 403},
		{"a change by a program", "POST", "localhost", pause, "", []string{"Content-Type", asJSON}, 204},
		{"a change by our page", "POST", "localhost", pause, "", []string{"Content-Type", asJSON, "Sec-Fetch-Site", "same-origin", "Origin", "http://localhost"}, 204},
		{"by a foreign page", "POST", "localhost", pause, "", []string{"Content-Type", asJSON, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"by an old browser's foreign page", "POST", "localhost", pause, "", []string{"Content-Type", asJSON, "Origin", "https://evil.example"}, 403},
		{"by another port's page", "POST", "localhost:8787", pause, "", []string{"Content-Type", asJSON, "Sec-Fetch-Site", "same-site", "Origin", "http://localhost:3000"}, 403},
		{"a form", "POST", "localhost", pause, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"text that is JSON", "POST", "localhost", pause, "{}", []string{"Content-Type", "text/plain"}, 415},
		{"no type", "POST", "localhost", pause, "", nil, 415},
		{"a cap in a body of a megabyte", "POST", "localhost", "/api/jobs/" + job.Key + "/cap", `{"usd":` + strings.Repeat(" ", 1<<20) + `1}`, []string{"Content-Type", asJSON}, 400},
		{"a pause by a link", "GET", "localhost", pause, "", nil, 404},
		{"nothing there", "GET", "localhost", "/api/keys", "", nil, 404},
		{"a lane without a fleet", "POST", "localhost", "/api/lanes/high/p/sync/pause", "", []string{"Content-Type", asJSON}, 404},
	} {
		w := s.ask(c.method, c.host, c.path, c.body, c.header...)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, w.Code, c.want, w.Body)
		}
		h := w.Header()
		if p := h.Get("Content-Security-Policy"); !strings.Contains(p, "script-src 'self'") || strings.Contains(p, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: the headers that hold hostile text off are missing: %v", c.name, h)
		}
		if w.Code >= 400 && !strings.Contains(w.Body.String(), `{"error":{"message":"`) {
			t.Errorf("%s: the error is %s", c.name, w.Body)
		}
	}
}

// Under a path of its own everything is where the page's relative links lead.
func TestBase(t *testing.T) {
	s := newShop(t, func(c *Config) { c.Base = "/dash/" })
	for path, want := range map[string]int{"/dash/": 200, "/dash/api/state": 200, "/api/state": 404, "/": 404, "/dash/api/none": 404} {
		if w := s.ask("GET", "localhost", path, ""); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

// On an address that others reach, keys decide, not names.
func TestAnotherAddressIsAskedByAnyName(t *testing.T) {
	s := newShop(t, nil)
	r := httptest.NewRequest("GET", "/api/state", nil)
	r.Host = "flotilla.example"
	ctx := httptest.NewRequest("GET", "/", nil).Context()
	r = r.WithContext(withLocal(ctx, "192.0.2.7:8787"))
	w := httptest.NewRecorder()
	s.dash.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("asked at 192.0.2.7: %d %s", w.Code, w.Body)
	}
}

func TestChangesOfJobs(t *testing.T) {
	s := newShop(t, nil)
	job := s.begin(3, nil)
	post := func(path, body string) int {
		return s.ask("POST", "localhost", "/api/jobs/"+path, body, "Content-Type", asJSON).Code
	}
	signal := func() journal.Signal {
		sig, err := s.journal.Signals(t.Context(), job.ID)
		if err != nil {
			t.Fatal(err)
		}
		return sig
	}
	if code := post(job.Key+"/pause", ""); code != 204 || signal() != journal.Pause {
		t.Errorf("pause: %d, %v", code, signal())
	}
	if code := post(job.Key+"/resume", ""); code != 204 || signal() != journal.Go {
		t.Errorf("resume: %d, %v", code, signal())
	}
	for body, want := range map[string]int{
		`{"usd":12.5}`: 204, `{"usd":0}`: 400, `{"usd":-1}`: 400, `{"usd":"1"}`: 400, `{"usd":1e300}`: 400, `{"usd":null}`: 400, `{"usd":1e-12}`: 400, `{}`: 400, ``: 400,
		`{"usd":1}{"usd":2}`: 400, `{"usd":1,"also":2}`: 400, `[1]`: 400,
	} {
		if code := post(job.Key+"/cap", body); code != want {
			t.Errorf("a cap of %s: %d, want %d", body, code, want)
		}
	}
	if limit, ok, err := s.journal.CapOf(t.Context(), job.ID); err != nil || !ok || limit.Float() != 12.5 {
		t.Errorf("the cap is %v, %v, %v", limit, ok, err)
	}
	if code := post(job.Key+"/explode", ""); code != 404 {
		t.Errorf("an unknown change: %d", code)
	}
	if code := post("ffffffff/pause", ""); code != 404 {
		t.Errorf("an unknown job: %d", code)
	}
	if code := post(job.Key+"/cancel", ""); code != 204 || signal() != journal.Cancel {
		t.Errorf("cancel: %d, %v", code, signal())
	}
	if code := post(job.Key+"/resume", ""); code != 409 {
		t.Errorf("a job that is canceled resumes: %d", code)
	}
	if err := job.End(t.Context(), journal.Stopped, nil); err != nil {
		t.Fatal(err)
	}
	if code := post(job.Key+"/pause", ""); code != 409 {
		t.Errorf("a job that has ended pauses: %d", code)
	}
	serve := s.begin(0, func(spec *journal.JobSpec) { spec.Kind = journal.KindServe })
	if code := post(serve.Key+"/pause", ""); code != 409 {
		t.Errorf("a gateway's job pauses: %d", code)
	}
}

// Whoever is asked by a name that is not known is told how it becomes known: on a
// wildcard address the API answers to any.
func TestUnknownHostIsToldTheWay(t *testing.T) {
	s := newShop(t, nil)
	if w := s.ask("GET", "box.lan", "/", ""); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "--allow-host") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}
