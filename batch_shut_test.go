package flotilla_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// refusing answers what it is asked to in the place of the desk.
type refusing struct {
	http.RoundTripper
	refuse func(req *http.Request) (status int, body string)
}

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if status, body := r.refuse(req); status != 0 {
		if req.Body != nil {
			sendBody(req)
		}
		return reply(req, status, body), nil
	}
	return r.RoundTripper.RoundTrip(req)
}

// A key that is revoked while its batches run ends the run when its lanes have
// been closed for too long; the batches are named.
func TestARevokedKeyLeavesItsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 10 * time.Minute}
		start := time.Now()
		cfg := d.config()
		inner := cfg.Transport
		cfg.Transport = func(o flotilla.Org) http.RoundTripper {
			return refusing{inner(o), func(req *http.Request) (int, string) {
				if time.Since(start) > 2*time.Minute && strings.Contains(req.URL.Path, "batches") {
					return 401, string(deskError("authentication_error", "API key is invalid."))
				}
				return 0, ""
			}}
		}
		fleet := newFleet(t, cfg)
		report, err := fleet.Carry(t.Context(), newPile(fleet, bodies(200)), flotilla.Options{Route: onlyBatches(), N: 200})
		if err != nil || report.Cause != flotilla.LanesClosed || len(report.Running) == 0 {
			t.Errorf("%v, %v, %+v", report.Cause, err, report.Running)
		}
		if took := time.Since(start); took > 2*time.Hour {
			t.Errorf("it took %v", took)
		}
		if len(report.Closed) == 0 || report.Closed[0].Class != "auth" {
			t.Errorf("closed: %+v", report.Closed)
		}
	})
}

// A source that takes results slowly holds their download up, not the memory.
func TestASlowSourceHoldsDownloadsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("y", 1<<20)
		d := &desk{after: 3 * time.Minute, answer: func(string) (string, string) { return "", text }}
		fleet := newFleet(t, d.config())
		src := newPile(fleet, bodies(150))
		src.gate = make(chan struct{})
		go func() {
			time.Sleep(30 * time.Minute)
			close(src.gate)
		}()
		report := carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		if d.billed != 150 || report.InDoubt != 0 {
			t.Errorf("%d bought, %d in doubt", d.billed, report.InDoubt)
		}
	})
}

// A batch that the provider's queue has no room for is gathered anew later, and
// people are told.
func TestAFullQueueIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{after: 3 * time.Minute}
		full := 0
		start := time.Now()
		told := 0
		cfg := d.config()
		inner := cfg.Transport
		cfg.Notify = func(n flotilla.Notice) {
			if n.Kind == flotilla.QueueFull {
				told++
			}
		}
		cfg.Transport = func(o flotilla.Org) http.RoundTripper {
			return refusing{inner(o), func(req *http.Request) (int, string) {
				if time.Since(start) < 10*time.Minute && req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "batches") {
					d.script(func() int { full++; return 0 }, true)
					return 429, string(deskError("rate_limit_error", "Your organization has reached the maximum number of batch requests in the processing queue."))
				}
				return 0, ""
			}}
		}
		fleet := newFleet(t, cfg)
		src := newPile(fleet, bodies(200))
		report := carry(t, fleet, src, flotilla.Options{Route: onlyBatches(), Deadline: start.Add(12 * time.Hour)})
		if full == 0 || full > 60 || told != full {
			t.Errorf("%d creates were refused, %d told", full, told)
		}
		n := 0
		for _, l := range report.Lanes {
			n += l.QueueFull
		}
		if n != full {
			t.Errorf("%d refusals by a full queue reported, %d were", n, full)
		}
	})
}
