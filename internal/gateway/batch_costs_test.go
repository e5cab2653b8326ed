package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// Who asks is told what each row of a batch has cost, to the last digit, beside
// results that are as the API has them. Rows that were not sent cost nothing.
func TestCostsOfBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.open()
		defer s.close()
		body := strings.Replace(prompts("q", 20), `"max_tokens":100`, `"max_tokens":0`, 1) // no batch carries that one
		id := s.made("ann", body)
		costs := batchesPath + "/" + id + "/results?flotilla=costs"
		if r := s.ask("ann", "GET", costs, nil); r.status != http.StatusNotFound {
			t.Errorf("before the end: %d %s", r.status, r.body)
		}
		s.ended("ann", id)

		want, spent := map[string]flotilla.Money{}, flotilla.Money(0)
		haiku, _ := price.Published().Lookup("claude-haiku-4-5")
		for name, res := range s.results("ann", id) {
			if u := res.Get("message.usage"); u.Exists() {
				want[name] = haiku.Cost(price.Usage{Input: u.Get("input_tokens").Int(), Output: u.Get("output_tokens").Int()}).ByBatch()
				spent += want[name]
			}
		}
		got := map[string]flotilla.Money{}
		for line := range bytes.Lines(s.ask("ann", "GET", costs, nil).body) {
			var row struct {
				ID   string         `json:"custom_id"`
				Cost flotilla.Money `json:"cost_usd"`
			}
			if err := json.Unmarshal(line, &row); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			got[row.ID] = row.Cost
		}
		if d := cmp.Diff(want, got); d != "" || len(want) != 19 {
			t.Errorf("%d rows (-want +got):\n%s", len(want), d)
		}
		if booked, err := s.journal.SpentBy(t.Context(), "ann", time.Now()); err != nil || booked != spent {
			t.Errorf("the journal has %s, the rows %s (%v)", booked, spent, err)
		}
		if r := s.ask("bob", "GET", costs, nil); r.status != http.StatusNotFound {
			t.Errorf("to another client: %d %s", r.status, r.body)
		}
	})
}
