package flotilla_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
)

// oddBodies have what other tools dropped on the way into a batch.
func oddBodies(n int) [][]byte {
	var out [][]byte
	for i := range n {
		out = append(out, fmt.Appendf(nil, ` {"model":"claude-haiku-4-5", "max_tokens" : 50,"system":"be  brief \u2028 %d", "temperature":0.50,
  "tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"},
  "messages":[{"role":"user","content":[{"type":"text","text":"row %d of é \\u00e9"}]}]}`, i, i))
	}
	return out
}

// The body of a row is the same, byte for byte, by sync and by batch
// (facts/peer-faults.md 30).
func TestPeerFault30BodiesAreEqualByBatchAndBySync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := func(route *flotilla.Route) []string {
			d := &desk{after: 3 * time.Minute}
			cfg := d.config()
			cfg.Stream = flotilla.StreamOff
			fleet := newFleet(t, cfg)
			carry(t, fleet, newPile(fleet, oddBodies(40)), flotilla.Options{Route: route})
			got := d.synced
			for _, b := range d.batches {
				got = append(got, b.bodies...)
			}
			slices.Sort(got)
			return got
		}
		var want []string
		for _, b := range oddBodies(40) {
			want = append(want, string(bytes.TrimSpace(b))) // white space around a value is not the value's
		}
		slices.Sort(want)
		trimmed := sent(nil)
		for i := range trimmed {
			trimmed[i] = strings.TrimSpace(trimmed[i])
		}
		if d := cmp.Diff(want, trimmed); d != "" {
			t.Error("by sync:", d)
		}
		if d := cmp.Diff(want, sent(onlyBatches())); d != "" {
			t.Error("by batch:", d)
		}
	})
}

// Rows that ask for what batches do not have go by sync whatever the route.
func TestStreamedRowsGoBySync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute}
		fleet := newFleet(t, d.config())
		all := bodies(40)
		for i := range all {
			if i%4 == 0 {
				all[i] = bytes.Replace(all[i], []byte(`{`), []byte(`{"stream":true,`), 1)
			}
		}
		src := newPile(fleet, all)
		carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		for _, r := range src.got {
			if want := map[bool]string{true: "sync", false: "batch"}[r.Row%4 == 0]; r.Tier != want {
				t.Errorf("row %d went by %s", r.Row, r.Tier)
			}
		}
	})
}

// Answers are tied to rows by id only: several batches, each with its results
// shuffled, give each row its own (facts/peer-faults.md 29).
func TestPeerFault29ShuffledResultsOfSeveralBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute, answer: func(body string) (string, string) { return "", question(body) }}
		fleet := newFleet(t, d.config())
		src := newPile(fleet, bodies(1500))
		carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		if len(d.batches) < 3 {
			t.Errorf("only %d batches", len(d.batches))
		}
		src.checkAnswers(t)
	})
}

// question is the text of the one message of a body.
func question(body string) string {
	var b struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		panic(err)
	}
	return b.Messages[0].Content
}

// checkAnswers checks that each answer repeats its row's question.
func (p *pile) checkAnswers(t *testing.T) {
	t.Helper()
	for _, r := range p.got {
		var m struct{ Content []struct{ Text string } }
		if r.Err != nil || json.Unmarshal(r.Message, &m) != nil || m.Content[0].Text != question(string(p.bodies[r.Row])) {
			t.Fatalf("row %d was answered %s (%v)", r.Row, r.Message, r.Err)
		}
	}
}

// Rows and answers of 20 MiB pass (facts/peer-faults.md 15 and 22).
func TestPeerFault15LongRowsAndAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of megabytes")
	}
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute, answer: func(body string) (string, string) { return "", question(body) }}
		fleet := newFleet(t, d.config())
		var all [][]byte
		for i, n := range []int{70 << 10, 5 << 20, 20 << 20, 100} {
			text := fmt.Sprint(i, strings.Repeat("x", n))
			all = append(all, fmt.Appendf(nil, `{"model":"claude-haiku-4-5","max_tokens":50,"messages":[{"role":"user","content":%q}]}`, text))
		}
		src := newPile(fleet, all)
		carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		src.checkAnswers(t)
	})
}

// A create is cut by the bytes of its rows, with their ids, and not by count
// alone (facts/peer-faults.md 13).
func TestPeerFault13BatchesAreCutByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute, longest: 6000}
		fleet := newFleet(t, d.config())
		carry(t, fleet, newPile(fleet, bodies(600)), flotilla.Options{Route: onlyBatches()})
		if d.refused == 0 || d.refused > 40 {
			t.Errorf("%d creates were too long", d.refused)
		}
	})
}

// A row that cannot be read any more stops the run, and what had left of its
// batch is no batch.
func TestARowThatChangedStopsItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute}
		fleet := newFleet(t, d.config())
		src := newPile(fleet, bodies(100))
		src.bodies[60] = append(slices.Clone(src.bodies[60]), ' ')
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{Route: onlyBatches()})
		if err == nil || !strings.Contains(err.Error(), "row 61") || report.Cause != flotilla.Stopped {
			t.Errorf("%v, %v", report.Cause, err)
		}
		if len(report.Running) != len(d.batches) {
			t.Errorf("%d batches were made, and left: %+v", len(d.batches), report.Running)
		}
	})
}

// Errored rows that are the request's fault settle; others go again, and so do
// expired ones, as often as a row may fail.
func TestPeerFault11RowsThatABatchDidNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := map[string]int{}
		d := &desk{after: 3 * time.Minute}
		d.answer = func(body string) (string, string) {
			turns[body]++
			switch n := turns[body]; {
			case strings.Contains(body, "What is 1 and"):
				return "invalid_request_error", ""
			case strings.Contains(body, "What is 2 and") && n < 3:
				return "api_error", ""
			case strings.Contains(body, "What is 3 and"):
				return "api_error", ""
			case strings.Contains(body, "What is 4 and") && n < 6:
				return "overloaded_error", ""
			case strings.Contains(body, "What is 5 and") && n < 2:
				return "expired", ""
			case strings.Contains(body, "What is 6 and"):
				return "expired", ""
			case strings.Contains(body, "What is 7 and") && n < 5:
				return "canceled", ""
			}
			return "", "ok"
		}
		cfg := d.config()
		store := &records{}
		cfg.Store = store
		fleet := newFleet(t, cfg)
		src := newPile(fleet, bodies(20))
		carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		attempts := map[int]int{1: 1, 2: 3, 3: 3, 4: 6, 5: 2, 6: 3, 7: 5}
		for _, r := range src.got {
			var api *flotilla.APIError
			var expired *flotilla.ExpiredError
			want := attempts[r.Row]
			if want == 0 {
				want = 1
			}
			failed := r.Row == 1 || r.Row == 3
			if r.Attempts != want || errors.As(r.Err, &api) != failed || errors.As(r.Err, &expired) != (r.Row == 6) {
				t.Errorf("row %d: %d attempts, %v", r.Row, r.Attempts, r.Err)
			}
			if api != nil && (len(api.Envelope) == 0 || r.Cost != 0) {
				t.Errorf("row %d: %s, %v", r.Row, api.Envelope, r.Cost)
			}
		}
		for _, r := range store.all() {
			if want := map[int]string{1: "errored", 3: "errored", 6: "expired"}[r.Row]; r.Kind == flotilla.OutcomeRecord && want != "" && r.Type != want {
				t.Errorf("row %d is recorded as %s", r.Row, r.Type)
			}
		}
		checkBatchRecords(t, store.all())
	})
}
