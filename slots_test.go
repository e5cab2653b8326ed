package flotilla_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// pot is Slots of one process; fail may stand in its way.
type pot struct {
	mu   sync.Mutex
	want int
	held int
	fail func(ctx context.Context) error
}

func (p *pot) Lease(ctx context.Context, _ string, limit, want int, _ time.Duration) (held, target int, err error) {
	if p.fail != nil {
		if err := p.fail(ctx); err != nil {
			return 0, 0, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.want, p.held = want, max(want, 1)
	return p.held, limit, nil
}

func (p *pot) Release(_ context.Context, _ string, keep int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = min(p.held, keep)
	return nil
}

func (p *pot) wants() (want, held int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.want, p.held
}

var errDown = errors.New("connection refused")

// A fleet with nothing to do asks for no slots, though calls of an interrupted
// job ended badly; a closed one holds none.
func TestAnIdleFleetWantsNoSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
			resp, err := after(2*time.Second, req, http.StatusOK, answerOf("m", 5))
			if n > 10 {
				return nil, errDown
			}
			return resp, err
		})
		slots := &pot{}
		cfg.Slots = slots
		fleet := open(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		report, err := fleet.Carry(ctx, &rows{fleet: fleet, bodies: bodies(500)}, flotilla.Options{})
		if err != nil || report.Cause != flotilla.Interrupted {
			t.Errorf("cause %v, error %v", report.Cause, err)
		}
		time.Sleep(10 * time.Second)
		if want, _ := slots.wants(); want != 0 {
			t.Errorf("an idle fleet wants %d slots", want)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
		if _, held := slots.wants(); held != 0 {
			t.Errorf("a closed fleet holds %d slots", held)
		}
	})
}

// A line that waits for calls holds a few slots ready and leaves the rest to
// others; calls that wait want them all.
func TestAnIdleLineWantsFewSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(20*time.Second, req, http.StatusOK, answerOf("m", 5))
		})
		slots := &pot{}
		cfg.Slots = slots
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{})
		ask(t, line, request(0).Body)
		time.Sleep(5 * time.Second)
		if want, _ := slots.wants(); want != 8 {
			t.Errorf("an idle line wants %d slots", want)
		}
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() { ask(t, line, request(i).Body) })
		}
		time.Sleep(1500 * time.Millisecond)
		if want, _ := slots.wants(); want != flotilla.DefaultConc("haiku") {
			t.Errorf("with calls waiting %d slots are wanted", want)
		}
		wg.Wait()
	})
}

// Slots that cannot be had end the run with the reason, at the start as later;
// a journal that does not answer counts as one that cannot.
func TestSlotsFail(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"error":  func(context.Context) error { return errStore },
		"silent": func(ctx context.Context) error { <-ctx.Done(); return errStore },
	} {
		for _, from := range []int{0, 3} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
						return after(time.Second, req, http.StatusOK, answerOf("m", 5))
					})
					n := 0
					cfg.Slots = &pot{fail: func(ctx context.Context) error {
						if n++; n > from {
							return fail(ctx)
						}
						return nil
					}}
					fleet := open(t, cfg)
					within(t, time.Hour, "Carry", func() {
						report, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(100_000)}, flotilla.Options{})
						if !errors.Is(err, errStore) || report.Cause != flotilla.Stopped {
							t.Errorf("cause %v, error %v", report.Cause, err)
						}
					})
					within(t, time.Hour, "Close", func() {
						if err := fleet.Close(); !errors.Is(err, errStore) {
							t.Error(err)
						}
					})
				})
			})
		}
	}
}
