package flotilla_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// A small call passes bigger ones of its line that money holds, however long they
// have waited; where it does not it hears of money, and not of limits.
func TestSmallCallsBehindMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := newFleet(t, scripted(func(n int64, req *http.Request) (*http.Response, error) {
			wait := time.Second
			if n == 1 {
				wait = 5 * time.Minute
			}
			return after(wait, req, http.StatusOK, answerOf("msg_1", 5))
		}))
		sized := func(tokens int) []byte {
			return fmt.Appendf(nil, `{"model":"claude-haiku-4-5","max_tokens":%d,"messages":[{"role":"user","content":"hi"}]}`, tokens)
		}
		big, small := sized(40_000), sized(10)
		pot := newPot(t, fleet, worst(t, fleet, big)+3*worst(t, fleet, small))
		line := newLine(t, fleet, flotilla.LineOptions{Pots: []*flotilla.Pot{pot}})
		var wg sync.WaitGroup
		defer wg.Wait()
		hold := func(n int) {
			for range n {
				wg.Go(func() {
					a, err := line.Do(t.Context(), flotilla.Call{Body: big, MaxWait: 3 * time.Minute})
					var over *flotilla.BudgetExceededError
					if err == nil {
						a.Body.Close()
					} else if !errors.As(err, &over) || over.Name != "a pot" {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
		}
		hold(2)
		time.Sleep(time.Minute)
		if a, _ := ask(t, line, small); a.Queued > 0 {
			t.Errorf("it waited %s behind one", a.Queued)
		}
		hold(12) // more than are looked past
		_, err := line.Do(t.Context(), flotilla.Call{Body: small, MaxWait: time.Minute})
		var waited *flotilla.WaitError
		if !errors.As(err, &waited) || waited.Class != "budget" {
			t.Errorf("behind many: %v", err)
		}
	})
}
