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

// dayOfOthers is a purse whose money others hold: it has granted what it has, and
// knows what of the day nobody has spent.
type dayOfOthers struct {
	mu        sync.Mutex
	has, free flotilla.Money
	asked     int
}

func (p *dayOfOthers) Grant(context.Context, flotilla.Money) (flotilla.Money, time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return p.has, time.Time{}, nil
}

func (p *dayOfOthers) Free(context.Context) (flotilla.Money, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free, nil
}

func (p *dayOfOthers) set(has, free flotilla.Money) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.has, p.free = has, free
}

// Money of a day that others have only reserved is waited for, and comes to the
// call as soon as they give it back; one whose time is over before is told to come
// again. Where the day is spent for good a call is refused at once.
func TestMoneyThatOthersReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		}))
		w := worst(t, fleet, same(0))
		purse := &dayOfOthers{has: w / 2, free: 4 * w}
		line := newLine(t, fleet, flotilla.LineOptions{Purse: purse})
		ask := func(wait time.Duration) (took time.Duration, err error) {
			began := time.Now()
			a, err := line.Do(t.Context(), flotilla.Call{Body: same(1), MaxWait: wait})
			if err == nil {
				err = a.Body.Close()
			}
			return time.Since(began), err
		}
		var over *flotilla.BudgetExceededError

		took, err := ask(20 * time.Second)
		if !errors.As(err, &over) || over.RetryAfter <= 0 || over.Per != 24*time.Hour || took < 20*time.Second || took > 21*time.Second {
			t.Errorf("nothing came back: %+v, %v after %s", over, err, took)
		}
		if purse.asked < 5 || purse.asked > 20 {
			t.Errorf("in 20 s the purse was asked %d times", purse.asked)
		}

		time.AfterFunc(30*time.Second, func() { purse.set(10*w, 0) })
		if took, err := ask(time.Minute); err != nil || took < 30*time.Second || took > 35*time.Second {
			t.Errorf("it came back after 30 s: %v after %s", err, took)
		}

		for range 10 {
			if _, err = ask(time.Minute); err != nil {
				break
			}
		}
		// What ten calls may cost at worst was granted; what they did cost is less.
		purse.set(w/2, 4*w)
		time.AfterFunc(10*time.Second, func() { purse.set(w/2, w/4) }) // somebody spends it
		for err == nil {
			took, err = ask(time.Minute)
		}
		if !errors.As(err, &over) || over.RetryAfter != 0 || took > 15*time.Second {
			t.Errorf("spent for good meanwhile: %+v, %v after %s", over, err, took)
		}
		if took, err = ask(time.Minute); !errors.As(err, &over) || over.RetryAfter != 0 || took > time.Second {
			t.Errorf("spent for good: %+v, %v after %s", over, err, took)
		}
	})
}
