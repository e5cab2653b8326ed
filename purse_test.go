package flotilla_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// stint is a purse of so much in all.
type stint struct{ limit, granted flotilla.Money }

func (p *stint) Grant(_ context.Context, want flotilla.Money) (flotilla.Money, time.Time, error) {
	p.granted = min(p.limit, p.granted+want)
	return p.granted, time.Time{}, nil
}

// What a purse granted to a stream that has ended was granted to the next one as
// well: a job that is paused and goes on spends it once.
func TestPurseGrantsOnceToAllItsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		one, err := fleet.Weigh(bodies(1)[0])
		if err != nil {
			t.Fatal(err)
		}
		purse, spent := &stint{limit: 60 * one.Worst}, flotilla.Money(0)
		for n := range 2000 {
			src := &rows{fleet: fleet, bodies: bodies(20)}
			report, err := fleet.Carry(t.Context(), src, flotilla.Options{Purse: purse})
			for _, res := range src.got {
				spent += res.Cost
			}
			if err != nil || report.Cause == flotilla.CapReached && n < 2 {
				t.Fatalf("part %d: cause %v, %v", n, report.Cause, err)
			}
			if report.Cause == flotilla.CapReached {
				break
			}
		}
		if spent > purse.limit || spent < purse.limit-2*one.Worst {
			t.Errorf("%v spent of %v", spent, purse.limit)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}
