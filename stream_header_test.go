package flotilla_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/flotilla-llm/flotilla"
)

// A stream's own version and betas go with its calls, and with no other's.
func TestStreamVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[string]int{}
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[req.Header.Get("Anthropic-Version")+" "+req.Header.Get("Anthropic-Beta")]++
			return after(0, req, http.StatusOK, answerOf("msg_1", 5))
		})
		cfg.Betas = []string{"mine"}
		fleet := newFleet(t, cfg)
		for _, opt := range []flotilla.Options{
			{}, {Version: "2024-10-22"}, {Betas: []string{"x", "y"}}, {Version: "2024-10-22", Betas: []string{}},
		} {
			for res := range fleet.Dispatch(t.Context(), slices.Values(requests(2)), opt) {
				if res.Err != nil {
					t.Error(res.Err)
				}
			}
		}
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(1)), flotilla.Options{Version: "a\nb"}) {
			if res.Err == nil {
				t.Error("a version of two lines was sent")
			}
		}
		for _, want := range []string{"2023-06-01 mine", "2024-10-22 mine", "2023-06-01 x,y", "2024-10-22 "} {
			if seen[want] != 2 {
				t.Errorf("%q was sent %d times: %v", want, seen[want], seen)
			}
		}
	})
}
