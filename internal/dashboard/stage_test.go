package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/journal"
)

// stage is a dashboard over a real fleet, journal and job, with the emulator as
// the provider.
type stage struct {
	t       testing.TB
	dir     string
	journal *journal.Journal
	fleet   *flotilla.Fleet
	dash    *Dashboard
	url     string // of the dashboard
	at      string // of the emulator

	mu   sync.Mutex
	live map[string]*job.Run
}

// setting says what is played.
type setting struct {
	scenario string // of the emulator; empty: "steady"
	speed    float64
	conc     int // calls at once of each org; 0: as ever
	dash     func(*Config)
	rules    []emulator.AnswerRule
	listen   string // of the dashboard; empty: a port of its own
}

func newStage(t testing.TB, set setting) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), live: map[string]*job.Run{}}
	if set.scenario == "" {
		set.scenario = "steady"
	}
	if set.speed == 0 {
		set.speed = 1
	}
	scenario, err := emulator.Named(set.scenario)
	s.must(err)
	scenario.Answers = append(set.rules, scenario.Answers...)
	server, err := emulator.New(emulator.Options{Scenario: scenario, Seed: 1, Speed: set.speed})
	s.must(err)
	t.Cleanup(func() { _ = server.Close() })
	s.at, err = server.Listen("127.0.0.1:0")
	s.must(err)
	s.journal, err = journal.Open(t.Context(), filepath.Join(s.dir, ".flotilla", "journal.db"), journal.Options{})
	s.must(err)
	t.Cleanup(func() { _ = s.journal.Close() })

	var conc map[string]int
	if set.conc > 0 {
		conc = map[string]int{"haiku": set.conc}
	}
	var dash atomic.Pointer[Dashboard]
	s.fleet, err = flotilla.New(flotilla.Config{
		Orgs: []flotilla.Org{
			{Name: "high", Key: flotilla.Key(emulator.Key("high"))},
			{Name: "batch", Key: flotilla.Key(emulator.Key("batch"))},
			{Name: "low", Key: flotilla.Key(emulator.Key("low"))},
		},
		BaseURL: s.at, Speed: set.speed, Store: s.journal, Ramp: flotilla.RampFast, Conc: conc,
		Observe: func(o flotilla.Observation) {
			if d := dash.Load(); d != nil {
				d.Observe(o)
			}
		},
	})
	s.must(err)
	t.Cleanup(func() { _ = s.fleet.Close() })
	infos, err := s.fleet.Connect(t.Context())
	s.must(err)
	provider, err := flotilla.Provider(s.at)
	s.must(err)
	cfg := Config{
		Snapshot: s.fleet.Snapshot, Journal: s.journal, Version: "test", Emulated: infos[0].Emulated, Provider: provider, Mode: "serve", Speed: set.speed,
		Pause: s.fleet.PauseLane,
		Live: func(key string) (job.RowReader, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if run := s.live[key]; run != nil {
				return run.Rows(), true
			}
			return nil, false
		},
	}
	if set.dash != nil {
		set.dash(&cfg)
	}
	s.dash, err = New(t.Context(), cfg)
	s.must(err)
	t.Cleanup(s.dash.Close)
	dash.Store(s.dash)
	s.serve(set.listen)
	return s
}

func (s *stage) serve(listen string) {
	web := httptest.NewUnstartedServer(s.dash)
	if listen != "" {
		_ = web.Listener.Close()
		l, err := netListener{}.listen(listen)
		s.must(err)
		web.Listener = l
	}
	web.Start()
	s.t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	s.url = web.URL
}

func (s *stage) must(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(err)
	}
}

// play begins a job over rows and carries it in the background; end waits for it.
func (s *stage) play(ctx context.Context, name string, rows string, shape func(*job.Config)) (key string, end func()) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	s.must(os.WriteFile(path, []byte(rows), 0o600))
	provider, err := flotilla.Provider(s.at)
	s.must(err)
	maxTokens := 64
	cfg := job.Config{
		Inputs: []string{path}, Kind: journal.KindRun, Command: "flotilla run " + name, Dir: s.dir, Emulated: s.dash.cfg.Emulated,
		Shape:  job.Shape{Model: "claude-haiku-4-5", MaxTokens: &maxTokens, Prompt: "{{.q}}", Provider: provider, Version: flotilla.DefaultVersion},
		Output: job.Output{Path: filepath.Join(s.dir, name+".out.jsonl")}, Now: s.fleet.Now,
	}
	if shape != nil {
		shape(&cfg)
	}
	run, err := job.Open(ctx, s.fleet, cfg)
	s.must(err)
	s.must(run.Begin(ctx, jobbook.Books{Journal: s.journal}))
	key = run.Plan().Job
	s.mu.Lock()
	s.live[key] = run
	s.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, report, err := run.Carry(ctx)
		if err != nil {
			s.t.Errorf("job %s: cause %v: %v", key, report.Cause, err)
		}
		s.mu.Lock()
		delete(s.live, key)
		s.mu.Unlock()
		_ = run.Close()
	}()
	end = sync.OnceFunc(func() { <-over })
	s.t.Cleanup(end)
	return key, end
}

// get reads JSON of the API.
func (s *stage) get(path string, into any) int {
	s.t.Helper()
	resp, err := http.Get(s.url + "/api/" + path)
	s.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	s.must(err)
	if into != nil && resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatalf("%s: %v in %s", path, err, text)
		}
	}
	return resp.StatusCode
}

// post asks for a change, as a page of ours does.
func (s *stage) post(path, body string) int {
	s.t.Helper()
	resp, err := http.Post(s.url+"/api/"+path, "application/json", bytes.NewReader([]byte(body)))
	s.must(err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// until asks again and again, for half a minute at most.
func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		if ok() {
			return
		}
		<-tick.C
	}
	s.t.Fatal("this did not come: " + what)
}

// promptRows are rows of an input file.
func promptRows(n int) string {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"r/%d\",\"q\":\"Question %d: is the Straße of Zürich wide?\"}\n", i, i)
	}
	return b.String()
}
