package flotilla_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// A Dispatch takes rows back that a batch did not answer, and sends them again
// by either tier; each request has one result.
func TestADispatchTakesRowsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := map[string]int{}
		d := &desk{after: 3 * time.Minute}
		d.answer = func(body string) (string, string) {
			turns[body]++
			switch {
			case turns[body] > 1:
			case strings.Contains(body, "3 and"):
				return "api_error", ""
			case strings.Contains(body, "7 and"):
				return "expired", ""
			}
			return "", question(body)
		}
		fleet := newFleet(t, d.config())
		var requests []flotilla.Request
		for i := range 900 {
			r := request(i)
			if i%50 == 0 {
				r.Body = []byte(strings.Replace(string(r.Body), "{", `{"stream":true,`, 1))
			}
			requests = append(requests, r)
		}
		seen := map[string]int{}
		tiers := map[string]int{}
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests), flotilla.Options{N: 900, Route: onlyBatches()}) {
			if res.Err != nil {
				t.Fatalf("%+v", res)
			}
			seen[res.ID]++
			tiers[res.Tier]++
		}
		if len(seen) != 900 || tiers["sync"] != 18 {
			t.Errorf("%d requests answered, %v", len(seen), tiers)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s has %d results", id, n)
			}
		}
	})
}
