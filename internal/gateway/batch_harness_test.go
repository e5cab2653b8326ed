package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/memnet"
	"github.com/flotilla-llm/flotilla/journal"
)

// shop is a gateway with a journal on disk in front of an emulator, in a bubble of
// virtual time. It may be closed and opened again.
type shop struct {
	t       testing.TB
	net     *memnet.Listener
	server  *emulator.Server
	dir     string
	fit     func(*Config)          // what is particular to its gateway; nil: nothing
	fleets  func(*flotilla.Config) // … and to its fleet
	journal *journal.Journal
	fleet   *flotilla.Fleet
	gateway *Gateway
}

func newShop(t testing.TB, opt emulator.Options) *shop {
	t.Helper()
	s := &shop{t: t, net: memnet.Listen(), dir: t.TempDir()}
	opt.Start = time.Now()
	server, err := emulator.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
	go func() { _ = server.Serve(s.net) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

// open opens journal, fleet and gateway.
func (s *shop) open() {
	s.t.Helper()
	var err error
	if s.journal, err = journal.Open(s.t.Context(), filepath.Join(s.dir, "journal.db"), journal.Options{Now: time.Now}); err != nil {
		s.t.Fatal(err)
	}
	cfg := flotilla.Config{
		BaseURL: "http://memnet", Ramp: flotilla.RampFast, Store: s.journal,
		Transport: func(flotilla.Org) http.RoundTripper { return s.net.Transport() },
	}
	for _, name := range []string{"high", "batch", "low"} {
		cfg.Orgs = append(cfg.Orgs, flotilla.Org{Name: name, Key: flotilla.Key("sk-ant-emulated-" + name)})
	}
	if s.fleets != nil {
		s.fleets(&cfg)
	}
	if s.fleet, err = flotilla.New(cfg); err != nil {
		s.t.Fatal(err)
	}
	s.begin()
}

func (s *shop) begin() {
	s.t.Helper()
	orgs, err := s.fleet.Connect(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	cfg := Config{
		Fleet: s.fleet, Journal: s.journal, Provider: "http://memnet:80", Emulated: orgs[0].Emulated,
		Spool: filepath.Join(s.dir, "batches"), Now: time.Now,
	}
	if s.fit != nil {
		s.fit(&cfg)
	}
	if s.gateway, err = New(s.t.Context(), cfg); err != nil {
		s.t.Fatal(err)
	}
}

// close ends all of it as a stop of the program does.
func (s *shop) close() {
	s.t.Helper()
	if err := s.gateway.Close(s.t.Context()); err != nil {
		s.t.Errorf("close the gateway: %v", err)
	}
	s.end()
}

func (s *shop) end() {
	s.t.Helper()
	if err := s.fleet.Close(); err != nil {
		s.t.Errorf("close the fleet: %v", err)
	}
	if err := s.journal.Close(); err != nil {
		s.t.Errorf("close the journal: %v", err)
	}
}

// heard is an answer of the gateway.
type heard struct {
	status int
	header http.Header
	body   []byte
}

func (r heard) get(path string) gjson.Result { return gjson.GetBytes(r.body, path) }

// ask sends a request as a client.
func (s *shop) ask(client, method, path string, body io.Reader, header ...string) heard {
	s.t.Helper()
	r := httptest.NewRequestWithContext(as(s.t.Context(), client), method, "http://gateway.test:8787"+path, body)
	r.Header.Set("anthropic-version", flotilla.DefaultVersion)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.gateway.ServeHTTP(w, r)
	return heard{w.Code, w.Header(), w.Body.Bytes()}
}

// as is a context of a request that a client sent.
func as(ctx context.Context, client string) context.Context {
	caller := Caller{Name: client, Priority: flotilla.Normal}
	return context.WithValue(ctx, visitKey{}, &visit{caller: caller})
}

// made creates a batch and gives its id.
func (s *shop) made(client, body string, header ...string) string {
	s.t.Helper()
	r := s.ask(client, "POST", batchesPath, strings.NewReader(body), header...)
	id := r.get("id").Str
	if r.status != http.StatusOK || !strings.HasPrefix(id, batchMark) {
		s.t.Fatalf("create: %d %s", r.status, r.body)
	}
	return id
}

// ended polls until a batch has ended, and gives the batch.
func (s *shop) ended(client, id string) heard {
	s.t.Helper()
	for range 48 * 360 {
		r := s.ask(client, "GET", batchesPath+"/"+id, nil)
		if r.status != http.StatusOK {
			s.t.Fatalf("poll: %d %s", r.status, r.body)
		}
		if r.get("processing_status").Str == "ended" {
			return r
		}
		time.Sleep(10 * time.Second)
	}
	s.t.Fatalf("batch %s does not end", id)
	return heard{}
}

// results reads a batch's results by id, each held to be there once.
func (s *shop) results(client, id string) map[string]gjson.Result {
	s.t.Helper()
	r := s.ask(client, "GET", batchesPath+"/"+id+"/results", nil)
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/x-jsonl" {
		s.t.Fatalf("results: %d %s", r.status, r.body)
	}
	out := map[string]gjson.Result{}
	for line := range bytes.Lines(r.body) {
		if !json.Valid(line) || line[len(line)-1] != '\n' {
			s.t.Fatalf("no whole line: %s", line)
		}
		v := gjson.ParseBytes(line)
		if n := len(v.Map()); n != 2 {
			s.t.Fatalf("a line with %d members: %s", n, line)
		}
		name := v.Get("custom_id").Str
		if _, twice := out[name]; twice {
			s.t.Errorf("%s has two results", name)
		}
		out[name] = v.Get("result")
	}
	return out
}

// prompts is the body of a create: n requests under ids of a prefix.
func prompts(prefix string, n int) string {
	var b strings.Builder
	b.WriteString(`{"requests":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"custom_id":"%s-%d","params":%s}`, prefix, i, prompt(prefix, i))
	}
	b.WriteString(`]}`)
	return b.String()
}

func prompt(prefix string, i int) string {
	return fmt.Sprintf(`{"model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":"%s %d"}]}`, prefix, i)
}
