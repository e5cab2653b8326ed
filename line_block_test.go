package flotilla_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// After a crash at any moment what is in doubt is in open blocks, and they hold
// the worst case of whatever was in flight.
func TestBlocksCoverWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: 3})
		cfg := w.config()
		var mu sync.Mutex
		flying := flotilla.Money(0) // worst cases at the server
		left := map[int64]flotilla.Money{}
		store := &records{fail: func(_, batch []flotilla.Record) error {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range batch {
				switch {
				case r.Kind == flotilla.BlockRecord && r.Step == flotilla.BlockOpen:
					left[r.Block] += r.Worst
				case r.Kind == flotilla.BlockRecord:
					if left[r.Block] < 0 {
						t.Errorf("block %d is overdrawn by %v", r.Block, left[r.Block])
					}
					delete(left, r.Block)
				case r.Kind == flotilla.IntentRecord:
					t.Error("a line's call has an intent of its own")
				case r.Block != 0:
					left[r.Block] -= r.Worst
				}
			}
			return nil
		}}
		cfg.Store = store
		var fleet *flotilla.Fleet
		inner := cfg.Transport
		cfg.Transport = func(o flotilla.Org) http.RoundTripper {
			next := inner(o)
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodGet {
					return next.RoundTrip(req)
				}
				mu.Lock()
				flying += one
				sum := flotilla.Money(0)
				for _, m := range left {
					sum += m
				}
				if sum < flying {
					t.Errorf("%v is reserved, %v in flight", sum, flying)
				}
				mu.Unlock()
				resp, err := next.RoundTrip(req)
				mu.Lock()
				flying -= one
				mu.Unlock()
				return resp, err
			})
		}
		fleet = newFleet(t, cfg)
		pot := newPot(t, fleet, flotilla.USD(1))
		line := newLine(t, fleet, flotilla.LineOptions{Job: 1, Pots: []*flotilla.Pot{pot}})
		one = worst(t, fleet, same(0))
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				for range 10 {
					ask(t, line, same(i))
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Minute) // an idle line gives its money back
		mu.Lock()
		defer mu.Unlock()
		if len(left) != 0 {
			t.Errorf("%d blocks are open", len(left))
		}
		opened, calls := 0, 0
		for _, r := range store.all() {
			switch {
			case r.Kind == flotilla.BlockRecord && r.Step == flotilla.BlockOpen:
				opened++
			case r.Kind == flotilla.OutcomeRecord:
				calls++
			}
		}
		if calls != 400 || opened > 12 {
			t.Errorf("%d calls took %d blocks", calls, opened)
		}
	})
}

// What the store counts at any moment, blocks included, is what a crash then would
// leave as spent or in doubt: never more than the cap.
func TestBlocksKeepTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
			return after(time.Duration(100+n%13*50)*time.Millisecond, req, http.StatusOK, answerOf("msg_1", 5))
		})
		var mu sync.Mutex
		var limit, counted, most flotilla.Money
		left := map[int64]flotilla.Money{}
		cfg.Store = &records{fail: func(_, batch []flotilla.Record) error {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range batch {
				switch {
				case r.Kind == flotilla.BlockRecord && r.Step == flotilla.BlockOpen:
					left[r.Block] = r.Worst
					counted += r.Worst
				case r.Kind == flotilla.BlockRecord:
					counted -= left[r.Block]
					delete(left, r.Block)
				case r.Block != 0:
					left[r.Block] -= r.Worst
					counted += r.Charged - r.Worst
				}
				most = max(most, counted)
			}
			return nil
		}}
		fleet := newFleet(t, cfg)
		limit = 40 * worst(t, fleet, same(0))
		pot := newPot(t, fleet, limit)
		var wg sync.WaitGroup
		calls := atomic.Int64{}
		for k := range 3 {
			line := newLine(t, fleet, flotilla.LineOptions{Job: int64(k + 1), Pots: []*flotilla.Pot{pot}})
			for i := range 6 {
				wg.Go(func() {
					for {
						a, err := line.Do(t.Context(), flotilla.Call{Body: same(i), MaxWait: time.Minute})
						if err != nil {
							return
						}
						calls.Add(1)
						_ = a.Body.Close()
						time.Sleep(time.Duration(i*k) * 100 * time.Millisecond)
					}
				})
			}
		}
		wg.Wait()
		mu.Lock()
		defer mu.Unlock()
		if most > limit || calls.Load() < 500 {
			t.Errorf("the store counted %d of %d nano-dollars; %d calls", most, limit, calls.Load())
		}
	})
}

// What is reserved ahead stays within what a purse granted, which is asked for more
// before calls wait, and within its cap to the end.
func TestBlocksKeepThePurse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
			return after(time.Duration(100+n%13*50)*time.Millisecond, req, http.StatusOK, answerOf("msg_1", 5))
		})
		var mu sync.Mutex
		var granted, counted flotilla.Money
		left := map[int64]flotilla.Money{}
		cfg.Store = &records{fail: func(_, batch []flotilla.Record) error {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range batch {
				switch {
				case r.Kind == flotilla.BlockRecord && r.Step == flotilla.BlockOpen:
					left[r.Block] = r.Worst
					counted += r.Worst
				case r.Kind == flotilla.BlockRecord:
					counted -= left[r.Block]
					delete(left, r.Block)
				case r.Block != 0:
					left[r.Block] -= r.Worst
					counted += r.Charged - r.Worst
				}
				if counted > granted {
					t.Errorf("the store counts %d, %d is granted", counted, granted)
				}
			}
			return nil
		}}
		fleet := newFleet(t, cfg)
		w := worst(t, fleet, same(0))
		asked := 0
		line := newLine(t, fleet, flotilla.LineOptions{Job: 1, Purse: purseOf(func(want flotilla.Money) flotilla.Money {
			mu.Lock()
			defer mu.Unlock()
			asked++
			granted = min(granted+max(want, 5*w), 40*w)
			return granted
		})})
		calls := atomic.Int64{}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for {
					a, err := line.Do(t.Context(), flotilla.Call{Body: same(i), MaxWait: time.Minute})
					var over *flotilla.BudgetExceededError
					if err != nil {
						if !errors.As(err, &over) || over.Per != 24*time.Hour {
							t.Error(err)
						}
						return
					}
					calls.Add(1)
					_ = a.Body.Close()
				}
			})
		}
		wg.Wait()
		if calls.Load() < 400 || asked > 150 {
			t.Errorf("%d calls, the purse was asked %d times", calls.Load(), asked)
		}
	})
}

type purseOf func(want flotilla.Money) flotilla.Money

func (p purseOf) Grant(_ context.Context, want flotilla.Money) (flotilla.Money, time.Time, error) {
	return p(want), time.Time{}, nil
}

// A block whose call went away while it was reserved is not lost: once the line
// is closed nothing is reserved ahead.
func TestBlocksOfCallsThatWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		store := &records{fail: func([]flotilla.Record, []flotilla.Record) error {
			if slow.Load() {
				time.Sleep(time.Second)
			}
			return nil
		}}
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			sendBody(req)
			return reply(req, http.StatusOK, answerOf("msg_1", 5)), nil
		})
		cfg.Store = store
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{Job: 1})
		for i := range 6 { // until a second block is ahead of the first
			ask(t, line, same(i))
		}
		slow.Store(true)
		large := bytes.Replace(same(0), []byte(`"max_tokens":100`), []byte(`"max_tokens":60000`), 1)
		if w := worst(t, fleet, large); w < 100*worst(t, fleet, same(0)) {
			t.Fatalf("the large call costs %v", w)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := line.Do(ctx, flotilla.Call{Body: large}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err %v", err)
		}
		time.Sleep(5 * time.Second)
		if err := line.Close(time.Second); err != nil {
			t.Error(err)
		}
		open := map[int64]flotilla.Money{}
		for _, r := range store.all() {
			switch {
			case r.Kind != flotilla.BlockRecord:
			case r.Step == flotilla.BlockOpen:
				open[r.Block] = r.Worst
			default:
				delete(open, r.Block)
			}
		}
		if len(open) != 0 {
			t.Errorf("blocks are open: %v", open)
		}
	})
}
