package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// A stop whose time is over before calls and batches have ended is no error:
// the calls are told, and the batches go on with the next start.
func TestCloseWithCallsAndABatchUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.open()
		w := httptest.NewRecorder()
		create := `{"requests":[{"custom_id":"a","params":` + askFor("in a batch", "") + `}]}`
		s.gateway.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/messages/batches", strings.NewReader(create)))
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		got := make(chan reply)
		go func() { got <- s.message(askFor("a", "")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := s.gateway.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(began); took > lastDrain+time.Second {
			t.Errorf("took %s", took)
		}
		if p := <-got; p.status != 529 && p.status != 504 {
			t.Errorf("%+v", p)
		}
		s.end()
	})
}

func TestOutlast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late, done := outlast(ctx, 2*time.Second)
		time.Sleep(2 * time.Second)
		if late.Err() != nil {
			t.Error("ends with the other")
		}
		time.Sleep(1100 * time.Millisecond)
		if late.Err() == nil {
			t.Error("never ends")
		}
		done()
	})
}
