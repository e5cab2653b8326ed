package flotilla_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
)

func worst(t *testing.T, fleet *flotilla.Fleet, body []byte) flotilla.Money {
	t.Helper()
	facts, err := fleet.Weigh(body)
	if err != nil {
		t.Fatal(err)
	}
	return facts.Worst
}

func newPot(t *testing.T, fleet *flotilla.Fleet, limit flotilla.Money) *flotilla.Pot {
	t.Helper()
	pot, err := fleet.Pot(t.Context(), "a pot", limit, 0)
	if err != nil {
		t.Fatal(err)
	}
	return pot
}

// What a pot can never pay fails at once, and its limit moves while it is used.
func TestPotLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		}))
		body := request(1).Body
		one := worst(t, fleet, body)
		pot := newPot(t, fleet, one-1)
		line := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{pot}})
		begin := time.Now()
		_, err := line.Do(t.Context(), flotilla.Call{Body: body})
		var over *flotilla.BudgetExceededError
		if !errors.As(err, &over) || over.Cap != one-1 || over.Needs != one || time.Since(begin) > 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		pot.SetLimit(one)
		if a, _ := ask(t, line, body); a.Status != http.StatusOK {
			t.Errorf("answer %+v", a)
		}
		if _, err = line.Do(t.Context(), flotilla.Call{Body: body}); !errors.As(err, &over) {
			t.Error(err)
		}
		pot.SetLimit(-1)
		ask(t, line, body)
		limit, spent, reserved, err := pot.State(t.Context())
		if err != nil || limit >= 0 || spent <= 0 || spent >= one || reserved != 0 {
			t.Errorf("limit %v, spent %v, reserved %v, %v", limit, spent, reserved, err)
		}
	})
}

// A call that only reservations hold waits for them; in the end it is told what
// the cap is.
func TestPotWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(n int64, req *http.Request) (*http.Response, error) {
			if n == 3 {
				return after(time.Hour, req, http.StatusOK, answerOf("msg_1", 5))
			}
			return after(10*time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		}))
		body := request(1).Body
		pot := newPot(t, fleet, worst(t, fleet, body)*3/2)
		line := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{pot}})
		other := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{pot}, Priority: flotilla.Interactive})
		var wg sync.WaitGroup
		wg.Go(func() { ask(t, line, body) })
		synctest.Wait()
		if a, _ := ask(t, other, body); a.Queued != 10*time.Second {
			t.Errorf("it waited %v", a.Queued)
		}
		wg.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() { _, _ = line.Do(ctx, flotilla.Call{Body: body}) })
		synctest.Wait()
		begin := time.Now()
		_, err := other.Do(t.Context(), flotilla.Call{Body: body, MaxWait: time.Minute})
		var over *flotilla.BudgetExceededError
		if !errors.As(err, &over) || time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		cancel()
		wg.Wait()
		// What was cancelled stays in doubt: its worst case is spent, and nothing fits.
		begin = time.Now()
		if _, err = other.Do(t.Context(), flotilla.Call{Body: body}); !errors.As(err, &over) || time.Since(begin) > 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// Pots of two clients are apart.
func TestPotsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		}))
		body := request(1).Body
		all := newPot(t, fleet, flotilla.USD(1))
		poor, rich := newPot(t, fleet, 0), newPot(t, fleet, flotilla.USD(1))
		a := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{all, poor}})
		b := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{all, rich}})
		var over *flotilla.BudgetExceededError
		if _, err := a.Do(t.Context(), flotilla.Call{Body: body}); !errors.As(err, &over) {
			t.Error(err)
		}
		got, _ := ask(t, b, body)
		res, _ := got.Settled()
		for pot, want := range map[*flotilla.Pot]flotilla.Money{all: res.Cost, poor: 0, rich: res.Cost} {
			if _, spent, _, err := pot.State(t.Context()); err != nil || spent != want {
				t.Errorf("spent %v, want %v: %v", spent, want, err)
			}
		}
	})
}

// Whatever lines and jobs do, and whatever fails, what is spent and reserved of
// a pot never exceeds its limit, and ends as what the answers cost.
func TestPotNeverExceedsItsLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := flotilla.Money(rapid.Int64Range(0, 3_000_000).Draw(rt, "limit"))
		faults := rapid.SliceOfN(rapid.IntRange(0, 5), 30, 30).Draw(rt, "faults")
		raise := flotilla.Money(rapid.Int64Range(0, 2_000_000).Draw(rt, "raise"))
		synctest.Test(t, func(t *testing.T) {
			fleet := newFleet(t, scripted(func(n int64, req *http.Request) (*http.Response, error) {
				switch faults[int(n)%len(faults)] {
				case 0:
					sendBody(req)
					return nil, errReset
				case 1:
					return after(50*time.Millisecond, req, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
				case 2:
					return streaming(req, strings.NewReader(events[:600])), nil
				}
				return after(time.Duration(n%7)*100*time.Millisecond, req, http.StatusOK, answerOf("msg_1", 5))
			}))
			pot := newPot(t, fleet, limit)
			var most atomic.Int64
			most.Store(int64(limit))
			check := func() {
				l, spent, reserved, err := pot.State(t.Context())
				if err != nil || spent+reserved > flotilla.Money(most.Load()) || reserved < 0 {
					rt.Errorf("limit %v, spent %v, reserved %v, %v", l, spent, reserved, err)
				}
			}
			var wg sync.WaitGroup
			for range 3 {
				line := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{pot}})
				for i := range 4 {
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i)*300*time.Millisecond)
						defer cancel()
						for {
							a, err := line.Do(ctx, flotilla.Call{Body: request(i).Body, MaxWait: 2 * time.Second})
							if err != nil {
								return
							}
							_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, int64(200*i)))
							_ = a.Body.Close()
							check()
						}
					})
				}
			}
			wg.Go(func() {
				for range fleet.Dispatch(t.Context(), func(yield func(flotilla.Request) bool) {
					for i := range 10 {
						if !yield(request(100 + i)) {
							return
						}
					}
				}, flotilla.Options{Pots: []*flotilla.Pot{pot}}) {
					check()
				}
			})
			time.Sleep(500 * time.Millisecond)
			most.Store(int64(limit + raise))
			pot.SetLimit(limit + raise)
			wg.Wait()
			synctest.Wait()
			if _, _, reserved, err := pot.State(t.Context()); err != nil || reserved != 0 {
				rt.Errorf("%v is still reserved, %v", reserved, err)
			}
		})
	})
}

var one flotilla.Money

// same is bodies of one length.
func same(i int) []byte {
	return fmt.Appendf(nil, `{"model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":"%04d"}]}`, i)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// The cap of a stream moves while it runs.
func TestCapsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		}))
		caps := make(chan flotilla.Money, 1)
		n := 0
		var last error
		for res := range fleet.Dispatch(t.Context(), func(yield func(flotilla.Request) bool) {
			for i := range 3000 {
				if !yield(request(i)) {
					return
				}
			}
		}, flotilla.Options{Caps: caps, N: 100}) {
			if n++; n == 100 {
				caps <- -1
			}
			last = res.Err
		}
		var over *flotilla.BudgetExceededError
		if !errors.As(last, &over) || n < 100 || n > 1000 {
			t.Errorf("%d results, then %v", n, last)
		}
	})
}
