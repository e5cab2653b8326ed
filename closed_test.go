package flotilla_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// A key that is refused for good after it had worked is asked again now and
// then, and given up after MaxWait: the probes are no reopening.
func TestAClosedOrgIsGivenUpAfterMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int64
		start := time.Now()
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			if time.Since(start) < 30*time.Second {
				return after(time.Second, req, http.StatusOK, answerOf("m", 5))
			}
			probes.Add(1)
			return after(time.Second, req, http.StatusUnauthorized, `{"type":"error","error":{"type":"authentication_error","message":"API key is invalid."}}`)
		}))
		src := &rows{fleet: fleet, bodies: bodies(20_000)}
		within(t, 100*time.Hour, "Carry", func() {
			report, err := fleet.Carry(t.Context(), src, flotilla.Options{})
			if err != nil || report.Cause != flotilla.LanesClosed {
				t.Errorf("cause %v, %v", report.Cause, err)
			}
		})
		if took := time.Since(start); took < 55*time.Minute || took > 70*time.Minute {
			t.Errorf("given up after %v, want MaxWait, 1 h", took)
		}
		t.Logf("%v, %d refused", time.Since(start), probes.Load())
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}
