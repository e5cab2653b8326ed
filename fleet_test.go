package flotilla_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/memnet"
)

// world is an emulator on an in-memory network; inside a synctest bubble its
// minutes pass in no time.
type world struct {
	server *emulator.Server
	net    *memnet.Listener
}

func newWorld(t *testing.T, o emulator.Options) *world {
	t.Helper()
	server, err := emulator.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{server: server, net: memnet.Listen()}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(w.net)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return w
}

func (w *world) config() flotilla.Config {
	return flotilla.Config{
		BaseURL:   "http://memnet",
		Orgs:      orgs("high", "batch", "low"),
		Transport: func(flotilla.Org) http.RoundTripper { return w.net.Transport() },
	}
}

func orgs(names ...string) []flotilla.Org {
	var out []flotilla.Org
	for _, n := range names {
		out = append(out, flotilla.Org{Name: n, Key: flotilla.Key("sk-ant-emulated-" + n)})
	}
	return out
}

func scenario(t *testing.T, name string) emulator.Scenario {
	t.Helper()
	sc, err := emulator.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func request(i int) flotilla.Request {
	body, err := json.Marshal(map[string]any{
		"model": "claude-haiku-4-5", "max_tokens": 100,
		"messages": []any{map[string]any{"role": "user", "content": fmt.Sprintf("What is %d and %d?", i, i+1)}},
	})
	if err != nil {
		panic(err)
	}
	return flotilla.Request{ID: fmt.Sprint("q", i), Body: body}
}

func requests(n int) []flotilla.Request {
	out := make([]flotilla.Request, n)
	for i := range out {
		out[i] = request(i)
	}
	return out
}

func newFleet(t *testing.T, cfg flotilla.Config) *flotilla.Fleet {
	t.Helper()
	fleet, err := flotilla.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return fleet
}

func TestDispatchAnswersEveryRequestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: 1})
		fleet := newFleet(t, w.config())
		seen := map[string]int{}
		begin := time.Now()
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(2000)), flotilla.Options{N: 2000}) {
			if res.Err != nil {
				t.Fatalf("%s: %v", res.ID, res.Err)
			}
			if res.Cost <= 0 || res.Latency <= 0 || !json.Valid(res.Message) {
				t.Fatalf("%s: cost %v, latency %v, message %s", res.ID, res.Cost, res.Latency, res.Message)
			}
			seen[res.ID]++
		}
		if len(seen) != 2000 {
			t.Fatalf("%d of 2000 ids answered", len(seen))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s answered %d times", id, n)
			}
		}
		t.Logf("%v of virtual time", time.Since(begin))
	})
}

func TestLeavingTheLoopCancelsWhatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		fleet := newFleet(t, w.config())
		n := 0
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(5000)), flotilla.Options{}) {
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			if n++; n == 10 {
				break
			}
		}
		if err := fleet.Close(); err != nil {
			t.Fatal(err)
		}
		st := w.server.Stats()
		if st.Requests >= 1000 || st.Requests != st.Succeeded {
			t.Errorf("%d requests, %d succeeded: want few, and all drained", st.Requests, st.Succeeded)
		}
	})
}

func TestCapEndsADispatchWithABudgetError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: 1})
		fleet := newFleet(t, w.config())
		var cost flotilla.Money
		var last flotilla.Result
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(2000)), flotilla.Options{MaxSpend: flotilla.USD(0.05)}) {
			cost += res.Cost
			last = res
		}
		if _, ok := last.Err.(*flotilla.BudgetExceededError); !ok {
			t.Fatalf("the last result is %+v", last)
		}
		if cost == 0 || cost > flotilla.USD(0.05) {
			t.Errorf("spent %v of $0.05", cost)
		}
		if billed := w.server.Stats().Billed; billed != int64(cost) {
			t.Errorf("we say %d, the server %d", cost, billed)
		}
	})
}

func TestACancelledContextDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: 1})
		fleet := newFleet(t, w.config())
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		for res := range fleet.Dispatch(ctx, slices.Values(requests(5000)), flotilla.Options{}) {
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			if n++; n == 100 {
				cancel()
			}
		}
		cancel()
		if st := w.server.Stats(); st.Succeeded != int64(n) {
			t.Errorf("%d results for %d answers", n, st.Succeeded)
		}
	})
}

// A model that no org has: every call says so in the provider's words, those
// too that were never sent because the answer was known by then.
func TestModelThatNoOrgHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: 1})
		fleet := newFleet(t, w.config())
		var reqs []flotilla.Request
		for i := range 50 {
			body := fmt.Sprintf(`{"model":"claude-opus-4-20250514","max_tokens":10,"messages":[{"role":"user","content":"%d"}]}`, i)
			reqs = append(reqs, flotilla.Request{ID: fmt.Sprint(i), Body: []byte(body)})
		}
		n := 0
		for res := range fleet.Dispatch(t.Context(), slices.Values(reqs), flotilla.Options{}) {
			var api *flotilla.APIError
			if !errors.As(res.Err, &api) || api.Status != http.StatusNotFound || api.Type != "not_found_error" {
				t.Fatalf("%s: %v", res.ID, res.Err)
			}
			n++
		}
		if n != 50 {
			t.Errorf("%d of 50 results", n)
		}
		if st := w.server.Stats(); st.Requests > 20 {
			t.Errorf("%d requests for a model that nobody has", st.Requests)
		}
	})
}

// A source that takes its results slowly holds the fleet, not the memory.
func TestSlowReaderHoldsTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		fleet := newFleet(t, w.config())
		n := 0
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(400)), flotilla.Options{N: 400}) {
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			time.Sleep(time.Second)
			n++
		}
		if n != 400 {
			t.Errorf("%d of 400 results", n)
		}
	})
}
