package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// scrape reads all metrics as Prometheus does.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// everything is a fleet of which everything is known.
var everything = flotilla.Snapshot{
	At: time.Unix(10_000, 0),
	Lanes: []flotilla.LaneState{
		{
			Org: "high", Pool: "sonnet-4.x", Tier: "sync", InFlight: 7, Window: 40.5, Cap: 100, Paused: true,
			Limits: flotilla.Limits{Requests: 100, Input: 200, Output: 300}, Others: flotilla.Limits{Requests: 10},
			Capacity: flotilla.Limits{Requests: 100, Input: 200}, Level: flotilla.Limits{Requests: 50}, SoftFloor: flotilla.Limits{Requests: 10}, HardFloor: flotilla.Limits{Requests: 2},
			Refused: map[string]int64{"steady": 3},
		},
		{Org: "high", Pool: "sonnet-4.x", Tier: "batch", Closed: true, Queued: 5, QueuedByOthers: 6, Queue: 1000},
	},
	Streams: []flotilla.StreamState{
		{Client: "alice", Priority: flotilla.Interactive, Queued: 2, InFlight: 3, OldestWait: 1500 * time.Millisecond},
		{Client: "bob", Priority: flotilla.Interactive, Queued: 4, OldestWait: time.Second},
	},
	Batches: []flotilla.BatchState{{Org: "high", Pool: "sonnet-4.x", Rows: 500, Made: time.Unix(9_000, 0)}, {Org: "high", Pool: "sonnet-4.x", Rows: 300, Made: time.Unix(9_900, 0)}},
}

// busyMetrics have every metric there is.
func busyMetrics() *Metrics {
	m := NewMetrics("1.2.3")
	pot := &pursed{limit: 40 * price.Dollar, spent: 2 * price.Dollar}
	m.Watch(Watched{
		Snapshot: func(context.Context) (flotilla.Snapshot, error) { return everything, nil },
		Spent: func(context.Context) map[string]flotilla.Money {
			return map[string]flotilla.Money{"alice": price.Dollar / 2}
		},
		Pot: pot,
	})
	o := flotilla.Observation{
		Client: "alice", Org: "high", Pool: "sonnet-4.x", Tier: "sync", Model: "claude-sonnet-4-6", Priority: flotilla.Interactive,
		Class: "steady", Status: 429, FirstByte: 30 * time.Millisecond, Latency: 30 * time.Millisecond, Attempt: 1,
	}
	m.Observe(o)
	o.Class, o.Status, o.Attempt, o.Final, o.Latency, o.Cost = "succeeded", 200, 2, true, 3*time.Second, 3*price.Dollar/1000
	o.Usage = price.Usage{Input: 100, Output: 20, CacheRead: 30, CacheWrite5m: 4, CacheWrite1h: 5}
	m.Observe(o)
	o.Class, o.InDoubt, o.Usage, o.Cost = "transport", true, price.Usage{}, price.Dollar/1000
	m.Observe(o)
	o.Estimated, o.Kept, o.Cost = true, price.Dollar/4, price.Dollar/500
	m.Observe(o) // broke off
	m.Told(&Record{Client: "alice", Route: "messages", Status: 200, Took: 3 * time.Second})
	m.Told(&Record{Client: "alice", Route: "messages", Status: 200, Took: time.Millisecond, Cached: true})
	return m
}

func TestMetricsTellWhatHappened(t *testing.T) {
	got := scrape(t, busyMetrics())
	lane := `org="high",pool="sonnet-4.x",tier="sync"`
	model := `model="claude-sonnet-4-6",` + lane
	for _, want := range []string{
		`flotilla_attempts_total{class="steady",` + model + `} 1`,
		`flotilla_attempts_total{class="succeeded",` + model + `} 1`,
		`flotilla_spent_usd_total{` + model + `} 0.006`,
		`flotilla_in_doubt_usd_total{` + model + `} 0.003`,
		`flotilla_kept_in_doubt_usd_total{` + model + `} 0.25`,
		`flotilla_client_spent_usd_total{client="alice"} 0.006`,
		`flotilla_tokens_total{kind="cache_write",` + model + `} 9`,
		`flotilla_attempt_seconds_bucket{` + lane + `,le="0.05"} 1`,
		`flotilla_queue_wait_seconds_count{priority="interactive"} 1`, // of first attempts alone
		`flotilla_requests_total{client="alice",route="messages",status="200"} 2`,
		`flotilla_cached_answers_total{client="alice"} 1`,
		`flotilla_lane_window{` + lane + `} 40.5`,
		`flotilla_lane_open{org="high",pool="sonnet-4.x",tier="batch"} 0`,
		`flotilla_lane_paused{` + lane + `} 1`,
		`flotilla_lane_refusals_total{class="steady",` + lane + `} 3`,
		`flotilla_lane_bucket_level{limit="requests",` + lane + `} 50`,
		`flotilla_lane_bucket_level{limit="input_tokens",` + lane + `} 0`,
		`flotilla_lane_limit_per_minute{limit="output_tokens",` + lane + `} 300`,
		`flotilla_queue_calls{priority="interactive"} 6`,
		`flotilla_queue_calls{priority="bulk"} 0`,
		`flotilla_queue_oldest_wait_seconds{priority="interactive"} 1.5`,
		`flotilla_client_queue_calls{client="bob"} 4`,
		`flotilla_batches_open{org="high",pool="sonnet-4.x"} 2`,
		`flotilla_batch_rows_open{org="high",pool="sonnet-4.x"} 800`,
		`flotilla_batch_oldest_age_seconds{org="high",pool="sonnet-4.x"} 1000`,
		`flotilla_batch_queue_rows{org="high",whose="others"} 6`,
		`flotilla_cap_usd 40`,
		`flotilla_cap_spent_usd 2`,
		`flotilla_client_spent_today_usd{client="alice"} 0.5`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
	// Where nothing is known, or there is none, no number is better than 0.
	for _, none := range []string{
		`flotilla_lane_bucket_level{limit="output_tokens"`, `flotilla_lane_cap{org="high",pool="sonnet-4.x",tier="batch"`, `flotilla_lane_window{org="high",pool="sonnet-4.x",tier="batch"`,
	} {
		if strings.Contains(got, none) {
			t.Errorf("there is %s", none)
		}
	}
}

// A fleet that is closing has no numbers, and that is no fault of the metrics.
func TestMetricsWithoutAFleet(t *testing.T) {
	m := NewMetrics("1.2.3")
	m.Watch(Watched{
		Snapshot: func(context.Context) (flotilla.Snapshot, error) { return flotilla.Snapshot{}, errors.New("closed") },
		Spent:    func(context.Context) map[string]flotilla.Money { return nil },
	})
	got := scrape(t, m)
	if strings.Contains(got, "flotilla_lane_") || strings.Contains(got, "flotilla_cap_") || !strings.Contains(got, "flotilla_build_info{") {
		t.Errorf("%s", got)
	}
}

// docs/serve.md lists every metric of ours, and none that is not there.
func TestMetricsAreInTheDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, there []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(flotilla_[a-z_]+)` ").FindAllSubmatch(doc, -1) {
		listed = append(listed, string(m[1]))
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (flotilla_\S+) `).FindAllStringSubmatch(scrape(t, busyMetrics()), -1) {
		there = append(there, m[1])
	}
	for _, name := range there {
		if !slices.Contains(listed, name) {
			t.Errorf("docs/serve.md does not list %s", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(there, name) {
			t.Errorf("docs/serve.md lists %s, which does not exist", name)
		}
	}
	if len(there) < 30 {
		t.Errorf("%d metrics", len(there))
	}
}

// Counting an attempt must not be what a gateway does all day.
func BenchmarkObserve(b *testing.B) {
	m := NewMetrics("1.2.3")
	o := flotilla.Observation{
		Client: "alice", Org: "high", Pool: "sonnet-4.x", Tier: "sync", Model: "claude-sonnet-4-6", Priority: flotilla.Normal, Class: "succeeded",
		FirstByte: time.Second, Latency: 2 * time.Second, Attempt: 1, Final: true, Cost: price.Dollar / 1000, Usage: price.Usage{Input: 100, Output: 100},
	}
	for b.Loop() {
		m.Observe(o)
	}
}
