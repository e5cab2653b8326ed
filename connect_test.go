package flotilla_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// A context that ends while the fleet connects fails that call alone.
func TestAContextThatEndedBeforeConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for res := range fleet.Dispatch(ctx, slices.Values(requests(1)), flotilla.Options{}) {
			if res.Err == nil || res.Row != -1 {
				t.Errorf("row %d, %v", res.Row, res.Err)
			}
		}
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(1)), flotilla.Options{}) {
			if res.Err != nil {
				t.Error("after it:", res.Err)
			}
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Closing a fleet that connects does not wait for the network.
func TestCloseWhileItConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(nil)
		cfg.Transport = func(flotilla.Org) http.RoundTripper { return silent{} }
		fleet := open(t, cfg)
		failed := make(chan error, 1)
		go func() {
			_, err := fleet.Connect(t.Context())
			failed <- err
		}()
		time.Sleep(time.Second)
		begin := time.Now()
		if err := fleet.Close(); err != nil || time.Since(begin) > time.Second {
			t.Errorf("close took %v: %v", time.Since(begin), err)
		}
		if err := <-failed; err == nil || errors.Is(err, flotilla.ErrNoOrg) {
			t.Error("connect:", err)
		}
		if err := fleet.Close(); err != nil {
			t.Error("a second close:", err)
		}
		if _, err := fleet.Connect(t.Context()); err == nil {
			t.Error("a closed fleet connects")
		}
	})
}

// silent is a network on which nothing comes back.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}
