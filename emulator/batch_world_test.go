package emulator

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// message is what a row's answer and a sync answer have in common.
type message struct {
	Content    json.RawMessage `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      struct {
		Input  int64  `json:"input_tokens"`
		Output int64  `json:"output_tokens"`
		Tier   string `json:"service_tier"`
	} `json:"usage"`
}

// By batch a row is answered as by sync: content, stop reason and tokens are
// the same, with answer rules and without; the price is half.
func TestBatchAnswersAsSync(t *testing.T) {
	sc := steady()
	sc.InputNoise = 0.08
	sc.Answers = []AnswerRule{{Match: `number (\d*[02468]),`, Template: `item $1: {{int 0 1000}} {{words 5}}`, Refuse: 0.2, Cut: 0.3}}
	read := func(t *testing.T, raw []byte) (m message) {
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	const n = 40
	bySync, cost := map[string]message{}, int64(0)
	office(t, sc, func(t *testing.T, d *desk, s *Server) {
		for i := range n {
			var rows struct {
				Requests []struct {
					ID     string          `json:"custom_id"`
					Params json.RawMessage `json:"params"`
				} `json:"requests"`
			}
			if err := json.Unmarshal([]byte(createOf(i, 1)), &rows); err != nil {
				t.Fatal(err)
			}
			m := read(t, d.do("POST", "/v1/messages", string(rows.Requests[0].Params)).body)
			if m.Usage.Tier != "standard" {
				t.Errorf("%+v", m)
			}
			m.Usage.Tier = "batch"
			bySync[rows.Requests[0].ID] = m
		}
		cost = s.Stats().Billed
	})
	office(t, sc, func(t *testing.T, d *desk, s *Server) {
		b := d.made(d.create(0, n))
		time.Sleep(time.Hour)
		byBatch := map[string]message{}
		for _, l := range d.results(b.ID) {
			byBatch[l.ID] = read(t, l.Result.Message)
		}
		if diff := cmp.Diff(bySync, byBatch); diff != "" {
			t.Error(diff)
		}
		stops := map[string]int{}
		for _, m := range byBatch {
			stops[m.StopReason]++
		}
		if stops["refusal"] == 0 || stops["max_tokens"] == 0 || !strings.Contains(string(byBatch["row-2"].Content), `"item 2: `) {
			t.Errorf("the rules were not followed: %v, %s", stops, byBatch["row-2"].Content)
		}
		if st := s.Stats(); st.Billed*2 != cost || st.Succeeded != n || st.Distinct != n || st.Requests != 0 {
			t.Errorf("billed %d by batch, %d by sync; %+v", st.Billed, cost, st)
		}
	})
}

// The books name batches: stats, usage report, Rate Limits API.
func TestBatchBooks(t *testing.T) {
	office(t, steady(), func(t *testing.T, d *desk, s *Server) {
		b := d.made(d.create(0, 10))
		d.do("POST", "/v1/messages", hello)
		time.Sleep(time.Hour)
		d.results(b.ID)
		var st struct {
			Requests, Succeeded int64
			Billed              string `json:"billed_usd"`
			Orgs                map[string]struct{ Batches batchesJSON }
		}
		if err := json.Unmarshal(d.do("GET", "/emulator/stats", "").body, &st); err != nil {
			t.Fatal(err)
		}
		got := st.Orgs["high"].Batches
		if got.Billed == "0.000000000" || got.Billed >= st.Billed || st.Requests != 1 || st.Succeeded != 11 {
			t.Errorf("%+v", st)
		}
		got.Billed = ""
		if diff := cmp.Diff(batchesJSON{Created: 1, Rows: 10, Succeeded: 10, PeakQueued: 10, HTTPRequests: 2}, got); diff != "" {
			t.Error(diff)
		}
		sum := s.Stats().Orgs[0].Batches

		admin := func(path string) []byte {
			r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://emulator"+path, nil)
			r.Header = http.Header{"X-Api-Key": {AdminKey("high")}, "Anthropic-Version": {versionOld}}
			res, err := d.tr.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var raw json.RawMessage
			if err := json.NewDecoder(res.Body).Decode(&raw); err != nil {
				t.Fatal(err)
			}
			return raw
		}
		tiers := func(query string) map[string]int64 {
			var p usagePage
			raw := admin("/v1/organizations/usage_report/messages?starting_at=2026-11-30T00:00:00Z" + query)
			if err := json.Unmarshal(raw, &p); err != nil {
				t.Fatal(err)
			}
			out := map[string]int64{}
			for _, e := range p.Data[0].Results {
				tier := ""
				if e.ServiceTier != nil {
					tier = *e.ServiceTier
				}
				out[tier] += e.Output
			}
			return out
		}
		by := tiers("&group_by[]=service_tier")
		if len(by) != 2 || by["batch"] == 0 || by["standard"] == 0 || tiers("")[""] != by["batch"]+by["standard"] || sum.Billed == 0 {
			t.Errorf("usage by tier %v, in all %v", by, tiers(""))
		}
		if only := tiers("&service_tiers[]=batch&group_by[]=service_tier"); len(only) != 1 || only["batch"] != by["batch"] {
			t.Errorf("usage of the batch tier %v", only)
		}
		limits := string(admin("/v1/organizations/rate_limits?group_type=batch"))
		for _, want := range []string{`{"type":"requests_per_minute","value":4000}`, `{"type":"enqueued_batch_requests","value":500000}`} {
			if !strings.Contains(limits, want) {
				t.Errorf("no %s in %s", want, limits)
			}
		}
	})
}

// A scheduler of one's own stands in YAML, as strictly as the rest.
func TestBatchScenarioFile(t *testing.T) {
	sc, err := Load(strings.NewReader(`
base: steady
orgs:
  - name: solo
    batch_queue: 5000
    batch_rpm: 50
    batch_colleagues: [{rows: 100, every: 1m, from: 30s, until: 2h}]
batches:
  rows_per_second: 4
  sd: 0.25
  correlation: 1m
  at_once: 2
  overhead: 20s
  overhead_sd: 0.1
  expiry: 1h
  cancel: 5s
  depth: {above: 1500, factor: 0.2}
  size: {above: 700, factor: 0.05}
  hours: {from: 22, to: 6, factor: 0.5}
  errored: 0.01
  cache_hits: 0.5
  unseen: 3s
  refuse_late_cancel: true
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Batching{
		RowsPerSecond: 4, SD: 0.25, Correlation: time.Minute, AtOnce: 2, Overhead: 20 * time.Second, OverheadSD: 0.1,
		Expiry: time.Hour, Cancel: 5 * time.Second, Depth: Slowdown{1500, 0.2}, Size: Slowdown{700, 0.05},
		Hours: SlowHours{22, 6, 0.5}, Errored: 0.01, CacheHits: 0.5, Unseen: 3 * time.Second, RefuseLateCancel: true,
	}
	if diff := cmp.Diff(want, sc.Batches); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]BatchColleague{{100, time.Minute, 30 * time.Second, 2 * time.Hour}}, sc.Orgs[0].BatchColleagues); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{
		"batches: {speed: 3}", "batches: {sd: -1}", "batches: {hours: {from: 25}}", "batches: {errored: 2}",
		"batches: {depth: {above: 1, factor: 1.5}}", "batches: {cancel: -5s}", "batches: {rows_per_second: .nan}",
		"orgs: [{name: a, batch_colleagues: [{rows: -1}]}]", "orgs: [{name: a, batch_colleagues: [{every: 1ms}]}]",
	} {
		if _, err := Load(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// The factors of a slow-down apply above their threshold, and in their hours,
// over midnight too.
func TestBatchSlowdowns(t *testing.T) {
	s := Slowdown{Above: 3000}
	if s.of(3000) != 1 || s.of(3001) != 0 || (Slowdown{}).of(1e6) != 1 {
		t.Error("threshold")
	}
	night := SlowHours{From: 22, To: 6, Factor: 0.5}
	for hour, want := range map[int]float64{21: 1, 22: 0.5, 23: 0.5, 0: 0.5, 5: 0.5, 6: 1, 12: 1} {
		if got := night.of(time.Date(2026, 1, 1, hour, 59, 59, 0, time.UTC)); got != want {
			t.Errorf("%d o'clock: %v", hour, got)
		}
	}
	if (SlowHours{}).of(epoch) != 1 {
		t.Error("no hours are slow hours")
	}

	// From 09:45 on, at two rows a second and at a tenth of it from 10:00 to 11:00.
	sc := steady()
	sc.Batches.Overhead = 0
	sc.Batches.Hours = SlowHours{From: 10, To: 11, Factor: 0.1}
	m := NewModel(sc, 1, epoch)
	b := submit(t, m, 45*time.Minute, 0, 2160, 0) // 1,800 by 10:00, 360 more in half an hour at a tenth
	if end := endOf(m, b, 3*time.Hour); end != 90*time.Minute {
		t.Errorf("ended at %v", end)
	}
	sc.Batches.Hours.Factor = 0 // nothing moves, and nothing else wakes the queue at 11:00
	m = NewModel(sc, 1, epoch)
	b = submit(t, m, 45*time.Minute, 0, 1920, 0)
	if end := endOf(m, b, 4*time.Hour); end != 121*time.Minute {
		t.Errorf("ended at %v", end)
	}
}

// Every order of a shuffle has each place once and is seldom the plain one.
func TestShuffle(t *testing.T) {
	plain := 0
	for n := range 300 {
		s := newShuffle(n, key{1, uint64(n)}, drawBatchOrder)
		seen := make([]bool, n)
		same := 0
		for i := range n {
			at := s.at(i)
			if at < 0 || at >= n || seen[at] {
				t.Fatalf("%d of %d comes to %d", i, n, at)
			}
			seen[at] = true
			if at == i {
				same++
			}
		}
		if n > 4 && same > n/2 {
			plain++
		}
	}
	if plain > 0 {
		t.Errorf("%d orders are plain", plain)
	}
}

// A colleague's batch can be read, and says by its ids whose it is not.
func TestBatchOfColleague(t *testing.T) {
	sc := steady()
	sc.Orgs[0].BatchColleagues = []BatchColleague{{Rows: 30, Until: time.Minute}}
	office(t, sc, func(t *testing.T, d *desk, _ *Server) {
		time.Sleep(time.Hour)
		var l batchList
		if err := json.Unmarshal(d.do("GET", batchPath, "").body, &l); err != nil || len(l.Data) != 1 {
			t.Fatalf("%v %+v", err, l)
		}
		lines := d.results(l.Data[0].ID)
		if len(lines) != 30 || lines[0].ID != "request-0" || lines[0].Result.Type != "succeeded" {
			t.Errorf("%d lines, %+v", len(lines), lines[0])
		}
	})
}
