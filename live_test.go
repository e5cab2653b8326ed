package flotilla_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/plan"
)

// sent is one send: which row, on which lane, as which attempt.
type sent struct {
	Row     int
	Org     string
	Attempt int64
}

// setting is one random world and the job run in it.
type setting struct {
	scenario emulator.Scenario
	seed     uint64
	orgs     []string
	bodies   [][]byte
	cfg      flotilla.Config
}

// draw makes a setting: limits that bind and limits that do not, few orgs and
// more, short answers and long ones, streamed or not, storms now and then.
func draw(r *rand.Rand) setting {
	latency := emulator.Latency{
		TTFT: time.Duration(100+r.IntN(1500)) * time.Millisecond, TTFTSD: 0.1 + r.Float64()/2,
		PerSecond: 20 + 200*r.Float64(), PerSecondSD: 0.1 + r.Float64()/3, Prefill: 40_000,
	}
	sc := emulator.Scenario{Name: "drawn", Latency: latency, Answer: emulator.Answer{Median: 10 + 80*r.Float64(), SD: 0.3}, InputNoise: 0.08}
	var s setting
	for i := range 1 + r.IntN(3) {
		o := emulator.Org{Name: fmt.Sprint("org", i), Limits: emulator.Limits{
			Requests: 30 + r.Int64N(3000), Input: 3_000 + r.Int64N(300_000), Output: 3_000 + r.Int64N(100_000),
		}}
		if r.IntN(3) == 0 {
			o.Capacity = 0.1 + 0.9*r.Float64()
		}
		if r.IntN(6) == 0 {
			o.Hidden = time.Second
		}
		if r.IntN(6) == 0 {
			o.Headers.Missing = true
		}
		sc.Orgs = append(sc.Orgs, o)
		s.orgs = append(s.orgs, o.Name)
	}
	if r.IntN(4) == 0 {
		sc.Storm = emulator.Storm{Start: 5 * time.Second, Every: time.Minute, Phases: []emulator.StormPhase{{For: 10 * time.Second, Share: 0.8}}}
	}
	s.scenario, s.seed = sc, r.Uint64()
	for i := range 20 + r.IntN(200) {
		body, err := json.Marshal(map[string]any{
			"model": "claude-sonnet-4-6", "max_tokens": 20 + r.IntN(200),
			"messages": []any{map[string]any{"role": "user", "content": fmt.Sprint("row ", i, " ", string(make([]byte, r.IntN(400))))}},
		})
		if err != nil {
			panic(err)
		}
		s.bodies = append(s.bodies, body)
	}
	s.cfg = flotilla.Config{
		BaseURL: "http://memnet", Orgs: orgs(s.orgs...), Conc: map[string]int{"sonnet": 5 + r.IntN(100)},
		Share: flotilla.Share(r.IntN(3)), Ramp: flotilla.Ramp(r.IntN(2)), Hedge: r.IntN(2) == 0, Stream: flotilla.StreamOff,
	}
	if r.IntN(2) == 0 {
		s.cfg.Stream = flotilla.StreamOn
	}
	return s
}

// rows is a Source over bodies.
type rows struct {
	mu     sync.Mutex
	fleet  *flotilla.Fleet
	bodies [][]byte
	next   int
	got    []flotilla.Result
	last   time.Time
}

func (s *rows) Pull(limit int) ([]flotilla.Row, error) {
	var out []flotilla.Row
	for len(out) < limit && s.next < len(s.bodies) {
		facts, err := s.fleet.Weigh(s.bodies[s.next])
		if err != nil {
			return nil, err
		}
		out = append(out, flotilla.Row{Index: s.next, Facts: facts})
		s.next++
	}
	if s.next == len(s.bodies) {
		return out, io.EOF
	}
	return out, nil
}

func (s *rows) Body(row int) ([]byte, error) { return s.bodies[row], nil }

func (s *rows) Settled(_ context.Context, res flotilla.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, res)
	s.last = time.Now()
	return nil
}

// turnstile lets answers that come at the same instant through in the order of
// their attempts, one at a time: on a real network that order is chance, in a
// comparison it must be the rehearsal's.
type turnstile struct {
	arrive chan waiter
	done   chan struct{}
}

type waiter struct {
	attempt int64
	pass    chan struct{}
}

func newTurnstile(t *testing.T) *turnstile {
	g := &turnstile{arrive: make(chan waiter), done: make(chan struct{})}
	go g.run()
	t.Cleanup(func() { close(g.done) })
	return g
}

func (g *turnstile) run() {
	var queue []waiter
	for {
		select {
		case w := <-g.arrive:
			queue = append(queue, w)
		case <-g.done:
			return
		}
		for len(queue) > 0 {
			synctest.Wait() // until all that comes at this instant is here
			for more := true; more; {
				select {
				case w := <-g.arrive:
					queue = append(queue, w)
				default:
					more = false
				}
			}
			slices.SortFunc(queue, func(a, b waiter) int { return int(a.attempt - b.attempt) })
			close(queue[0].pass)
			queue = queue[1:]
		}
	}
}

func (g *turnstile) enter(attempt int64) {
	w := waiter{attempt, make(chan struct{})}
	g.arrive <- w
	<-w.pass
}

// lastPiece holds a stream at its end.
type lastPiece struct {
	io.ReadCloser
	enter func()
}

func (b lastPiece) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if bytes.Contains(p[:n], []byte("message_stop")) {
		b.enter()
	}
	return n, err
}

// numbered makes a server that admits in order see the scheduler's order, and
// records it.
type numbered struct {
	http.RoundTripper
	gate *turnstile
	org  string
	log  *sentLog
}

type sentLog struct {
	mu   sync.Mutex
	rows map[string]int // by body
	got  []sent
}

func (t numbered) RoundTrip(req *http.Request) (*http.Response, error) {
	n := flotilla.AttemptOf(req.Context())
	if n == 0 {
		return t.RoundTripper.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.Header.Set(emulator.SequenceHeader, strconv.FormatInt(n, 10))
	t.log.add(sent{Row: t.log.row(body), Org: t.org, Attempt: n})
	resp, err := t.RoundTripper.RoundTrip(req)
	t.gate.enter(n)
	if err == nil && resp.Header.Get("Content-Type") != "application/json" {
		resp.Body = lastPiece{resp.Body, func() { t.gate.enter(n) }}
	}
	return resp, err
}

func newSentLog(bodies [][]byte) *sentLog {
	l := &sentLog{rows: map[string]int{}}
	for i, b := range bodies {
		l.rows[string(b)] = i
	}
	return l
}

// row finds the row of a body, which may have been asked for as a stream.
func (l *sentLog) row(body []byte) int {
	if i, ok := l.rows[string(body)]; ok {
		return i
	}
	return l.rows["{"+string(bytes.TrimPrefix(body, []byte(`{"stream":true,`)))]
}

func (l *sentLog) add(s sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, s)
}

// sorted is the log in the order of the scheduler's decisions.
func (l *sentLog) sorted() []sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.got, func(a, b sent) int { return int(a.Attempt - b.Attempt) })
	return l.got
}

// runLive carries the setting's bodies over HTTP and returns makespan and sends.
func (s *setting) runLive(t *testing.T, store flotilla.Store) (time.Duration, []sent, flotilla.Report) {
	t.Helper()
	w := newWorld(t, emulator.Options{Scenario: s.scenario, Seed: s.seed, InOrder: true})
	log := newSentLog(s.bodies)
	gate := newTurnstile(t)
	cfg := s.cfg
	cfg.Store = store
	cfg.Transport = func(o flotilla.Org) http.RoundTripper {
		return numbered{w.net.Transport(), gate, o.Name, log}
	}
	fleet := newFleet(t, cfg)
	src := &rows{fleet: fleet, bodies: s.bodies}
	begin := time.Now()
	report, err := fleet.Carry(t.Context(), src, flotilla.Options{N: len(s.bodies)})
	if err != nil {
		t.Fatal(err)
	}
	if report.Cause != flotilla.Finished || len(src.got) != len(s.bodies) {
		t.Fatalf("cause %v, %d of %d results", report.Cause, len(src.got), len(s.bodies))
	}
	return src.last.Sub(begin), log.sorted(), report
}

// rehearse carries the same bodies on virtual time by a heap.
func (s *setting) rehearse(t *testing.T, start time.Time) (time.Duration, []sent) {
	t.Helper()
	m := emulator.NewModel(s.scenario, s.seed, start)
	arrivals := make([]plan.Call, len(s.bodies))
	cfg := s.cfg
	cfg.Transport = func(flotilla.Org) http.RoundTripper { return nil } // it weighs, and sends nothing
	fleet, err := flotilla.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range s.bodies {
		facts, err := fleet.Weigh(body)
		if err != nil {
			t.Fatal(err)
		}
		a, err := m.Weigh(0, flotilla.DefaultVersion, body)
		if err != nil {
			t.Fatal(err)
		}
		arrivals[i] = plan.Call{
			Sched:   sched.Call{In: int32(facts.In), MaxOut: int32(facts.MaxTokens), Worst: int64(facts.Worst)},
			Arrival: a,
		}
	}
	var lanes []sched.LaneConfig
	for i, o := range s.orgs {
		lanes = append(lanes, sched.LaneConfig{Org: o, Pool: "sonnet-4.x", Group: int32(i), Cap: s.cfg.Conc["sonnet"]})
	}
	out := plan.Rehearse(m, 48*time.Hour, plan.Setting{
		Core:  sched.Config{Share: sched.ShareMode(s.cfg.Share), Ramp: sched.RampMode(s.cfg.Ramp), Hedge: s.cfg.Hedge},
		Lanes: lanes, Stream: sched.StreamConfig{N: int64(len(s.bodies))}, N: len(s.bodies),
		Calls: func(i int) plan.Call { return arrivals[i] }, Streamed: s.cfg.Stream == flotilla.StreamOn, KeepSends: true,
	})[0]
	if out.Stalled {
		t.Fatalf("the rehearsal stalled: %d of %d settled", out.Settled, out.N)
	}
	var got []sent
	for _, x := range out.Sends {
		got = append(got, sent{Row: int(x.Call) - 1, Org: s.orgs[x.Lane], Attempt: int64(x.Attempt)})
	}
	return out.Makespan(), got
}

// The promise of design.md's table: live over HTTP and a rehearsal differ in
// the transport alone, so they decide the same at the same nanosecond.
func TestLiveEqualsRehearsed(t *testing.T) {
	const settings = 200
	for i := range settings {
		s := draw(rand.New(rand.NewPCG(uint64(i), 7)))
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			want, wantSends := s.rehearse(t, start)
			store := journal.Memory()
			t.Cleanup(func() { _ = store.Close() })
			got, gotSends, _ := s.runLive(t, store)
			if got != want {
				t.Errorf("setting %d: live took %v, the rehearsal %v", i, got, want)
			}
			if diff := cmp.Diff(wantSends, gotSends); diff != "" {
				t.Errorf("setting %d: sends differ (-rehearsed +live):\n%.2000s", i, diff)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// With a journal on disk the commits take real time but no virtual one.
func TestLiveOnDiskEqualsRehearsed(t *testing.T) {
	for i := range 10 {
		s := draw(rand.New(rand.NewPCG(uint64(i), 8)))
		path := filepath.Join(t.TempDir(), "journal.db")
		synctest.Test(t, func(t *testing.T) {
			want, wantSends := s.rehearse(t, time.Now())
			store, err := journal.Open(t.Context(), path, journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			got, gotSends, _ := s.runLive(t, store)
			if ratio := got.Seconds() / want.Seconds(); ratio < 0.99 || ratio > 1.01 {
				t.Errorf("setting %d: live took %v, the rehearsal %v", i, got, want)
			}
			if diff := cmp.Diff(multiset(wantSends), multiset(gotSends)); diff != "" {
				t.Errorf("setting %d: sends differ (-rehearsed +live):\n%.2000s", i, diff)
			}
		})
	}
}

// multiset counts sends by row and org.
func multiset(sends []sent) map[sent]int {
	m := map[sent]int{}
	for _, s := range sends {
		m[sent{Row: s.Row, Org: s.Org}]++
	}
	return m
}

// The trace of a live run, its events fed to a fresh core, gives the actions
// that the trace has.
func TestTraceReplays(t *testing.T) {
	for i := range 20 {
		s := draw(rand.New(rand.NewPCG(uint64(i), 9)))
		var trace bytes.Buffer
		s.cfg.Trace = &trace
		synctest.Test(t, func(t *testing.T) {
			store := journal.Memory()
			t.Cleanup(func() { _ = store.Close() })
			s.runLive(t, store)
		})
		cfg, events, want := splitTrace(t, trace.Bytes())
		var got bytes.Buffer
		_, err := sched.Replay(cfg, bytes.NewReader(events), func(now time.Duration, _ sched.Event, acts []sched.Action) error {
			b, err := sched.AppendActions(nil, now, acts)
			got.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 || !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("setting %d: the replay's actions differ: %d bytes for %d", i, got.Len(), len(want))
		}
	}
}

// splitTrace takes a trace apart: configuration, event lines, action lines.
func splitTrace(t *testing.T, trace []byte) (cfg sched.Config, events, actions []byte) {
	t.Helper()
	for line := range bytes.Lines(trace) {
		var l struct {
			C *sched.Config
			E json.RawMessage
			A json.RawMessage
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		switch {
		case l.C != nil:
			cfg = *l.C
		case l.A != nil:
			actions = append(actions, line...)
		default:
			events = append(events, line...)
		}
	}
	return cfg, events, actions
}
