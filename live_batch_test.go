package flotilla_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/plan"
)

// slowDesk lets calls to the batch endpoints take as long as they do in a
// rehearsal: the server sees each at once, the answer comes later.
type slowDesk struct{ http.RoundTripper }

func (s slowDesk) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.Contains(req.URL.Path, "batches") {
		return s.RoundTripper.RoundTrip(req)
	}
	took := 300 * time.Millisecond
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "batches") {
		took = time.Second + time.Duration(float64(req.ContentLength)/20e6*float64(time.Second))
	}
	resp, err := s.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(req.URL.Path, "/results") && resp.StatusCode == 200 {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		took = time.Second + time.Duration(strings.Count(string(body), "\n"))*time.Second/20e3
		resp.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	time.Sleep(took)
	return resp, nil
}

// mixed is a job in a world with batches.
type mixed struct {
	seed   uint64
	route  flotilla.Route
	conc   int
	bodies [][]byte
}

func (m *mixed) live(t *testing.T) (time.Duration, int, flotilla.Report) {
	w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: m.seed, InOrder: true})
	cfg := w.config()
	cfg.Conc = map[string]int{"haiku": m.conc}
	cfg.Stream = flotilla.StreamOff
	cfg.Transport = func(flotilla.Org) http.RoundTripper { return slowDesk{w.net.Transport()} }
	fleet := newFleet(t, cfg)
	src := newPile(fleet, m.bodies)
	report := carry(t, fleet, src, flotilla.Options{Route: &m.route, Name: "j"})
	batched, _ := src.byTier("batch")
	return report.Ended.Sub(report.Started), batched, report
}

func (m *mixed) rehearsed(t *testing.T, start time.Time) (time.Duration, int) {
	model := emulator.NewModel(scenario(t, "default"), m.seed, start)
	fleet, err := flotilla.New(flotilla.Config{
		BaseURL: "http://memnet", Orgs: orgs("high"),
		Transport: func(flotilla.Org) http.RoundTripper { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := make([]plan.Call, len(m.bodies))
	for i, body := range m.bodies {
		facts, err := fleet.Weigh(body)
		if err != nil {
			t.Fatal(err)
		}
		a, err := model.Weigh(0, flotilla.DefaultVersion, body)
		if err != nil {
			t.Fatal(err)
		}
		calls[i] = plan.Call{
			Sched:   sched.Call{In: int32(facts.In), MaxOut: int32(facts.MaxTokens), Worst: int64(facts.Worst)},
			Arrival: a, Size: int64(len(body)) + 80,
		}
	}
	var lanes []sched.LaneConfig
	for _, tier := range []sched.Tier{sched.Sync, sched.Batch} {
		for i, o := range []string{"high", "batch", "low"} {
			lanes = append(lanes, sched.LaneConfig{Org: o, Pool: "haiku-4.5", Tier: tier, Group: int32(i), Cap: m.conc})
		}
	}
	route := sched.Route{Batch: true, NoSync: m.route.NoSync}
	if m.route.Patient {
		route.Target = sched.Never
	}
	out := plan.Rehearse(model, 48*time.Hour, plan.Setting{
		Lanes: lanes, Stream: sched.StreamConfig{N: int64(len(calls)), Route: route}, N: len(calls),
		Calls: func(i int) plan.Call { return calls[i] },
	})[0]
	if out.Stalled {
		t.Fatalf("the rehearsal stalled: %d of %d settled", out.Settled, out.N)
	}
	return out.Makespan(), out.BatchRows
}

// A live run with batches goes as a rehearsal of it does: the same scheduler
// meets the same model. They are not equal to the nanosecond: a live run keeps
// the sizes of unproven batches apart, and creates of one instant arrive in any
// order, so that another one has the bad luck; the last batch's may be minutes.
func TestLiveBatchesGoAsRehearsed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for i := range 8 {
		m := mixed{seed: r.Uint64(), conc: 2 + r.IntN(6), bodies: bodies(2000 + r.IntN(6000))}
		m.route = flotilla.Route{Batch: true}
		if i%2 == 0 {
			m.route.NoSync, m.route.Patient = true, true
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want, wantRows := m.rehearsed(t, time.Now())
				got, gotRows, _ := m.live(t)
				t.Logf("n %d conc %d route %+v: live %v, %d by batch; rehearsed %v, %d", len(m.bodies), m.conc, m.route, got, gotRows, want, wantRows)
				if ratio := got.Seconds() / want.Seconds(); ratio < 0.5 || ratio > 2 {
					t.Errorf("live took %v, the rehearsal %v", got, want)
				}
				if d := float64(gotRows-wantRows) / float64(len(m.bodies)); d < -0.2 || d > 0.2 {
					t.Errorf("%d rows by batch, %d in the rehearsal", gotRows, wantRows)
				}
			})
		})
	}
}
