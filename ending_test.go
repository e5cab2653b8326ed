package flotilla_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Whichever commit fails, every Carry ends with the store's error, and nothing
// that is not durable is shown.
func TestStoreFailsAtAnyCommit(t *testing.T) {
	for n := range 12 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &records{}
				commits := 0
				store.fail = func(_, _ []flotilla.Record) error {
					if commits++; commits > n {
						return errStore
					}
					return nil
				}
				cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
					return after(time.Duration(n)*100*time.Millisecond, req, http.StatusOK, answerOf("m", 5))
				})
				cfg.Store = store
				fleet := open(t, cfg)
				src := &rows{fleet: fleet, bodies: bodies(20)}
				within(t, time.Hour, "Carry", func() {
					report, err := fleet.Carry(t.Context(), src, flotilla.Options{})
					if !errors.Is(err, errStore) || report.Cause != flotilla.Stopped {
						t.Errorf("cause %v, error %v", report.Cause, err)
					}
				})
				durable := 0
				for _, r := range store.all() {
					if r.Kind == flotilla.OutcomeRecord {
						durable++
					}
				}
				if len(src.got) != durable {
					t.Errorf("%d results shown, %d durable", len(src.got), durable)
				}
				within(t, time.Hour, "a Carry after it", func() {
					_, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(3)}, flotilla.Options{})
					if !errors.Is(err, errStore) {
						t.Errorf("a Carry after it: %v", err)
					}
				})
				within(t, time.Hour, "Close", func() {
					if err := fleet.Close(); !errors.Is(err, errStore) {
						t.Errorf("close: %v", err)
					}
				})
			})
		})
	}
}

// A stream that is opened while the fleet closes ends at once: Close must not
// wait for a new job.
func TestCarryWhileTheFleetCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(10*time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		first := make(chan flotilla.Report, 1)
		go func() {
			report, _ := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(5)}, flotilla.Options{})
			first <- report
		}()
		time.Sleep(time.Second)
		closed := make(chan error, 1)
		begin := time.Now()
		go func() { closed <- fleet.Close() }()
		time.Sleep(time.Second)
		src := &rows{fleet: fleet, bodies: bodies(5000)}
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{})
		if err != nil || report.Cause != flotilla.Interrupted || len(src.got) != 0 {
			t.Errorf("the late one: cause %v, error %v, %d results", report.Cause, err, len(src.got))
		}
		if err := <-closed; err != nil || time.Since(begin) > 20*time.Second {
			t.Errorf("close took %v: %v", time.Since(begin), err)
		}
		if report := <-first; report.Cause != flotilla.Interrupted {
			t.Errorf("the first one: cause %v", report.Cause)
		}
	})
}

// The body of a loop over one Dispatch may run another on the same fleet.
func TestDispatchInsideADispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		n := 0
		within(t, time.Hour, "the outer loop", func() {
			for res := range fleet.Dispatch(t.Context(), slices.Values(requests(10)), flotilla.Options{}) {
				if res.Err != nil {
					t.Error(res.Err)
				}
				for res := range fleet.Dispatch(t.Context(), slices.Values(requests(3)), flotilla.Options{}) {
					if res.Err != nil {
						t.Error(res.Err)
					}
					n++
				}
			}
		})
		if n != 30 {
			t.Errorf("%d inner results", n)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A reader that closes the fleet takes no more results; Close must not wait
// for it for ever.
func TestCloseInsideADispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		within(t, time.Hour, "the loop", func() {
			for range fleet.Dispatch(t.Context(), slices.Values(requests(50)), flotilla.Options{}) {
				if err := fleet.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	})
}
