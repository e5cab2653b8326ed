package gateway

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// direct asks the emulator itself.
func (s *shop) direct(method, path string, body io.Reader, header ...string) heard {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://memnet"+path, body)
	r.Header.Set("anthropic-version", flotilla.DefaultVersion)
	r.Header.Set("x-api-key", emulator.Key("high"))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	return heard{w.Code, w.Header(), w.Body.Bytes()}
}

// said is what a client branches on.
func said(h heard) string {
	return fmt.Sprintf("%d %s: %s", h.status, h.get("error.type").Str, h.get("error.message").Str)
}

// What the API refuses at once is refused with its words.
func TestCreateRefusedAsByAPI(t *testing.T) {
	ok := `"params":` + prompt("x", 0)
	bodies := map[string]string{
		"no list":            `{}`,
		"a list of none":     `{"requests":[]}`,
		"no list at all":     `{"requests":{}}`,
		"null":               `{"requests":null}`,
		"an unknown field":   `{"requests":[{"custom_id":"a",` + ok + `}],"model":"m"}`,
		"not an object":      `{"requests":["a"]}`,
		"no id":              `{"requests":[{` + ok + `}]}`,
		"a number for id":    `{"requests":[{"custom_id":1,` + ok + `}]}`,
		"an empty id":        `{"requests":[{"custom_id":"",` + ok + `}]}`,
		"a long id":          `{"requests":[{"custom_id":"` + strings.Repeat("é", 65) + `",` + ok + `}]}`,
		"a bad id":           `{"requests":[{"custom_id":"a b",` + ok + `}]}`,
		"no params":          `{"requests":[{"custom_id":"a"}]}`,
		"params of a string": `{"requests":[{"custom_id":"a","params":"x"}]}`,
		"a field too many":   `{"requests":[{"custom_id":"a","x":1,` + ok + `}]}`,
		"one id twice":       `{"requests":[{"custom_id":"a",` + ok + `},{"custom_id":"b",` + ok + `},{"custom_id":"a",` + ok + `}]}`,
		"the second is bad":  `{"requests":[{"custom_id":"a",` + ok + `},{"custom_id":"b"}]}`,
		"escapes in names":   `{"requests":[{"\u0063ustom_id":"a"}]}`,
	}
	inShop(t, func(s *shop) {
		for what, body := range bodies {
			want := said(s.direct("POST", batchesPath, strings.NewReader(body)))
			got := s.ask("ann", "POST", batchesPath, strings.NewReader(body))
			if got.status == 200 || said(got) != want {
				t.Errorf("%s:\n got %s\nwant %s", what, said(got), want)
			}
			if got.get("type").Str != "error" || !strings.HasPrefix(got.header.Get("Request-Id"), "req_") {
				t.Errorf("%s: no error of the API's shape: %s", what, got.body)
			}
		}
		leaves(s, 0)
	})
}

// inShop runs a test before a gateway that is open.
func inShop(t *testing.T, test func(s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.open()
		defer s.close()
		test(s)
	})
}

// leaves holds the directory to the files of some batches.
func leaves(s *shop, n int) {
	s.t.Helper()
	if ids, err := s.gateway.own.files.ids(); err != nil || len(ids) != n {
		s.t.Errorf("there are files of %v, %v; want %d batches", ids, err, n)
	}
}

// JSON that is none says so and where; what was written of it is gone.
func TestCreateOfBrokenJSON(t *testing.T) {
	whole := prompts("x", 2)
	inShop(t, func(s *shop) {
		for _, body := range []string{"", "{", "[]", `"x"`, "nul", whole[:len(whole)-1], whole[:len(whole)-2], whole[:100], whole + "x", whole + "{}", `{"requests":[{"custom_id":"a","params":{"a":01}}]}`, `{requests:[]}`, `{"requests" []}`, `{"requests":[1 2]}`} {
			got := s.ask("ann", "POST", batchesPath, strings.NewReader(body))
			if got.status != 400 || !strings.HasPrefix(got.get("error.message").Str, "The request body is not valid JSON: ") {
				t.Errorf("%.40q…: %s", body, said(got))
			}
			if want := s.direct("POST", batchesPath, strings.NewReader(body)); want.status != 400 {
				t.Errorf("%.40q…: the API takes it: %s", body, said(want))
			}
		}
		leaves(s, 0)
	})
}

func TestCreateTooLarge(t *testing.T) {
	inShop(t, func(s *shop) {
		row := `{"custom_id":"a","params":{"a":"` + strings.Repeat("x", 1<<20) + `"}},`
		got := s.ask("ann", "POST", batchesPath, io.MultiReader(strings.NewReader(`{"requests":[`), &again{text: row, left: 257}))
		if got.status != 413 || got.get("error.type").Str != "request_too_large" {
			t.Errorf("257 MB: %s", said(got))
		}
		got = s.ask("ann", "POST", batchesPath, io.MultiReader(strings.NewReader(`{"requests":[{"custom_id":"a","params":{"a":"`), &again{text: strings.Repeat("x", 1<<20), left: 34}))
		if got.status != 413 {
			t.Errorf("a row of 34 MB: %s", said(got))
		}
		leaves(s, 0)
	})
}

// again reads one text so many times.
type again struct {
	text string
	at   int
	left int
}

func (a *again) Read(p []byte) (int, error) {
	if a.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, a.text[a.at:])
	if a.at += n; a.at == len(a.text) {
		a.at = 0
		a.left--
	}
	return n, nil
}

func TestCreatePacked(t *testing.T) {
	inShop(t, func(s *shop) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = io.WriteString(z, prompts("x", 3))
		_ = z.Close()
		for _, of := range []struct {
			encoding string
			body     []byte
			status   int
		}{{"gzip", packed.Bytes(), 200}, {"gzip", packed.Bytes()[:packed.Len()-9], 400}, {"gzip", []byte("{}"), 400}, {"br", []byte("{}"), 400}, {"identity", []byte(prompts("y", 1)), 200}} {
			got := s.ask("ann", "POST", batchesPath, bytes.NewReader(of.body), "Content-Encoding", of.encoding)
			if got.status != of.status {
				t.Errorf("%s: %s", of.encoding, said(got))
			}
		}
	})
}

// Rows that the API errors by themselves are errored by themselves, with its
// words, and the others are answered.
func TestRowsErrAsByAPI(t *testing.T) {
	user := `"messages":[{"role":"user","content":"hello"}]`
	params := []string{
		`{"model":"claude-haiku-4-5","max_tokens":10,` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":10,"stream":true,` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":0,` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":10,"speed":"fast",` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":10,"store":true,` + user + `}`,
		`{"model":"claude-haiku-4-5",` + user + `}`,
		`{"max_tokens":10,` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":10}`,
		`{"model":"claude-none-9","max_tokens":10,` + user + `}`,
		`{"model":"claude-opus-4-8","max_tokens":10,"temperature":0.2,` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":10,"temperature":7,` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":999999,` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":10,"tempreature":1,` + user + `}`,
		`{"model":"claude-haiku-4-5","max_tokens":10,"messages":[]}`,
		`{}`,
	}
	var b strings.Builder
	for i, p := range params {
		fmt.Fprintf(&b, `,{"custom_id":"r%d","params":%s}`, i, p)
	}
	body := `{"requests":[` + b.String()[1:] + `]}`
	inShop(t, func(s *shop) {
		id := s.made("ann", body)
		end := s.ended("ann", id)
		got := s.results("ann", id)
		want := s.directResults(body)
		for i := range params {
			name := fmt.Sprintf("r%d", i)
			if diff := cmp.Diff(errorOf(want[name]), errorOf(got[name])); diff != "" {
				t.Errorf("%s (-direct +gateway)\n%s", params[i], diff)
			}
		}
		if s, e := end.get("request_counts.succeeded").Int(), end.get("request_counts.errored").Int(); s != 1 || e != int64(len(params)-1) {
			t.Errorf("counts %s", end.get("request_counts").Raw)
		}
	})
}

func errorOf(r gjson.Result) string {
	return r.Get("type").Str + " " + r.Get("error.type").Str + " " + r.Get("error.error.type").Str + ": " + r.Get("error.error.message").Str
}

// directResults is what the emulator itself makes of a batch.
func (s *shop) directResults(body string) map[string]gjson.Result {
	s.t.Helper()
	h := s.direct("POST", batchesPath, strings.NewReader(body))
	if h.status != http.StatusOK {
		s.t.Fatal(said(h))
	}
	id := h.get("id").Str
	for h.get("processing_status").Str != "ended" {
		sleepPoll()
		h = s.direct("GET", batchesPath+"/"+id, nil)
	}
	out := map[string]gjson.Result{}
	for line := range bytes.Lines(s.direct("GET", batchesPath+"/"+id+"/results", nil).body) {
		v := gjson.ParseBytes(line)
		out[v.Get("custom_id").Str] = v.Get("result")
	}
	return out
}
