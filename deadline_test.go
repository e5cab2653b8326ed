package flotilla_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// A reader that is slow beyond the deadline costs no processor time, and the
// job is finished all the same.
func TestSlowReaderBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		n := 0
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(3)), flotilla.Options{Deadline: time.Now().Add(time.Minute)}) {
			if res.Err != nil {
				t.Error(res.Err)
			}
			time.Sleep(10 * time.Minute)
			n++
		}
		if n != 3 {
			t.Errorf("%d of 3 results", n)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A deadline that passes while the last calls are in flight leaves no row.
func TestDeadlineWithTheLastCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(30*time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		src := &rows{fleet: fleet, bodies: bodies(10)}
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{Deadline: time.Now().Add(10 * time.Second)})
		if err != nil || report.Cause != flotilla.Finished || len(src.got) != 10 {
			t.Errorf("cause %v, error %v, %d results", report.Cause, err, len(src.got))
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// After a deadline calls may drain for a minute; an interrupt shortens that to
// what an interrupt leaves them, and is the cause then.
func TestInterruptWhileADeadlineDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Hour, req, http.StatusOK, answerOf("m", 5))
		}))
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		time.AfterFunc(15*time.Second, cancel)
		report, err := fleet.Carry(ctx, &rows{fleet: fleet, bodies: bodies(500)}, flotilla.Options{Deadline: begin.Add(10 * time.Second)})
		if took := time.Since(begin); err != nil || report.Cause != flotilla.Interrupted || took != 35*time.Second {
			t.Errorf("cause %v, error %v after %v", report.Cause, err, took)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}
