package flotilla_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Stop ends what waits; what is at the provider is waited for, and not repeated.
func TestLineStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, refuse := range []bool{false, true} {
			cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
				if refuse {
					return after(time.Minute, req, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
				}
				return after(time.Minute, req, http.StatusOK, answerOf("m", 5))
			})
			cfg.Conc = map[string]int{"haiku": 1}
			fleet := newFleet(t, cfg)
			line := newLine(t, fleet, flotilla.LineOptions{})
			stop := make(chan struct{})
			type end struct {
				a    *flotilla.Answer
				err  error
				took time.Duration
			}
			ends := make(chan end, 2)
			begin := time.Now()
			for range 2 {
				go func() {
					a, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body, Stop: stop})
					ends <- end{a, err, time.Since(begin)}
				}()
			}
			time.Sleep(10 * time.Second)
			close(stop)
			if e := <-ends; !errors.Is(e.err, flotilla.ErrStopped) || e.took != 10*time.Second {
				t.Errorf("the call that waited: %+v, %v after %s", e.a, e.err, e.took)
			}
			e := <-ends
			if refused := errors.Is(e.err, flotilla.ErrStopped); refused != refuse || !refuse && e.a.Status != http.StatusOK || e.took != time.Minute {
				t.Errorf("the call that was sent: %+v, %v after %s", e.a, e.err, e.took)
			}
			if _, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body, Stop: stop}); !errors.Is(err, flotilla.ErrStopped) {
				t.Errorf("a call that comes later: %v", err)
			}
		}
	})
}

// A call that is refused after its MaxWait is over is not sent again, however free
// the lane is.
func TestLineIsNotRepeatedPastItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			sent.Add(1)
			return after(time.Minute, req, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
		}))
		line := newLine(t, fleet, flotilla.LineOptions{})
		for i := range int64(5) {
			_, err := line.Do(t.Context(), flotilla.Call{Body: request(1).Body, MaxWait: 30 * time.Second})
			var waited *flotilla.WaitError
			if !errors.As(err, &waited) || sent.Load() > i+1 {
				t.Errorf("call %d: %v, %d sent", i+1, err, sent.Load())
			}
		}
	})
}
