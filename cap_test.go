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

// cannotGrow is a purse that has given all it will.
type cannotGrow struct{ total flotilla.Money }

func (p cannotGrow) Grant(context.Context, flotilla.Money) (flotilla.Money, time.Time, error) {
	return p.total, time.Time{}, nil
}

// A cap on the job ends it although a shared cap has money left.
func TestJobCapBesideAPurse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		src := &rows{fleet: fleet, bodies: bodies(2000)}
		within(t, 100*time.Hour, "Carry", func() {
			report, err := fleet.Carry(t.Context(), src, flotilla.Options{MaxSpend: flotilla.USD(0.01), Purse: cannotGrow{flotilla.USD(100)}})
			if err != nil || report.Cause != flotilla.CapReached || report.Budget.Cap != flotilla.USD(0.01) {
				t.Errorf("cause %v, %+v, %v", report.Cause, report.Budget, err)
			}
		})
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// slowPurse gives what one call needs at a time, a second after it is asked, and
// fails in the end.
type slowPurse struct {
	asked int
	total flotilla.Money
}

func (p *slowPurse) Grant(_ context.Context, want flotilla.Money) (flotilla.Money, time.Time, error) {
	time.Sleep(time.Second)
	if p.asked++; p.asked > 60 {
		return p.total, time.Time{}, errPurse
	}
	p.total += want
	return p.total, time.Time{}, nil
}

var errPurse = errors.New("the purse is torn")

// A purse that gives little by little is asked again and again; one that fails
// ends the stream with its error.
func TestPurse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		src := &rows{fleet: fleet, bodies: bodies(2000)}
		purse := &slowPurse{}
		within(t, 100*time.Hour, "Carry", func() {
			report, err := fleet.Carry(t.Context(), src, flotilla.Options{Purse: purse})
			if !errors.Is(err, errPurse) || report.Cause != flotilla.Stopped {
				t.Errorf("cause %v, %v", report.Cause, err)
			}
		})
		var cost flotilla.Money
		for _, res := range src.got {
			cost += res.Cost
		}
		if cost == 0 || cost > purse.total {
			t.Errorf("%v spent of %v", cost, purse.total)
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A negative cap allows nothing, the fleet's as the stream's.
func TestNegativeCapsAllowNothing(t *testing.T) {
	for name, set := range map[string]func(*flotilla.Config, *flotilla.Options){
		"fleet":  func(c *flotilla.Config, _ *flotilla.Options) { c.Spend = -1 },
		"stream": func(_ *flotilla.Config, o *flotilla.Options) { o.MaxSpend = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
					t.Error("a call was sent")
					return after(time.Second, req, http.StatusOK, answerOf("m", 5))
				})
				var opt flotilla.Options
				set(&cfg, &opt)
				fleet := open(t, cfg)
				report, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(3)}, opt)
				if err != nil || report.Cause != flotilla.CapReached || report.Budget.Cap != 0 {
					t.Errorf("cause %v, %+v, %v", report.Cause, report.Budget, err)
				}
				if err := fleet.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What is billed per use has no worst case: under a cap it is not sent.
func TestMeteredToolsUnderACap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		req := flotilla.Request{ID: "search", Body: []byte(`{"model":"claude-sonnet-4-6","max_tokens":10,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"?"}]}`)}
		for _, opt := range []flotilla.Options{{}, {MaxSpend: flotilla.USD(5)}} {
			for res := range fleet.Dispatch(t.Context(), slices.Values([]flotilla.Request{req}), opt) {
				var bad *flotilla.RequestError
				if capped := opt.MaxSpend != 0; errors.As(res.Err, &bad) != capped || !capped && res.Err != nil {
					t.Errorf("capped %v: %v", capped, res.Err)
				}
			}
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A pot without a limit, as a client without a budget has, caps nothing; it does
// once it is given one.
func TestMeteredToolsOnPots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}))
		pot, err := fleet.Pot(t.Context(), "a pot", -1, 0)
		if err != nil {
			t.Fatal(err)
		}
		line, err := fleet.Line(t.Context(), flotilla.LineOptions{Name: "ann", Pots: []*flotilla.Pot{pot}})
		if err != nil {
			t.Fatal(err)
		}
		body := []byte(`{"model":"claude-sonnet-4-6","max_tokens":10,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"?"}]}`)
		for _, capped := range []bool{false, true} {
			if capped {
				pot.SetLimit(flotilla.USD(5))
			}
			a, err := line.Do(t.Context(), flotilla.Call{Body: body})
			var bad *flotilla.RequestError
			if errors.As(err, &bad) != capped || !capped && err != nil {
				t.Errorf("a call, capped %v: %v", capped, err)
			}
			if err == nil {
				_ = a.Body.Close()
			}
			opt := flotilla.Options{Pots: []*flotilla.Pot{pot}}
			for res := range fleet.Dispatch(t.Context(), slices.Values([]flotilla.Request{{ID: "search", Body: body}}), opt) {
				if errors.As(res.Err, &bad) != capped || !capped && res.Err != nil {
					t.Errorf("a row, capped %v: %v", capped, res.Err)
				}
			}
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A workspace may pay for "us" without the body's saying so.
func TestTheWorstCaseKnowsTheWorkspacesGeo(t *testing.T) {
	fleet := open(t, scripted(nil))
	weigh := func(geo string) flotilla.Money {
		facts, err := fleet.Weigh([]byte(`{"model":"claude-sonnet-4-6","max_tokens":1000,` + geo + `"messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		return facts.Worst
	}
	if us, global, none := weigh(`"inference_geo":"us",`), weigh(`"inference_geo":"global",`), weigh(""); none != us || global >= us {
		t.Errorf("us %v, global %v, unsaid %v", us, global, none)
	}
}

// dayPurse grants up to a cap in each day, a lower one from the second day on,
// as where others have spent most of it.
type dayPurse struct {
	caps    [2]flotilla.Money
	day     int64
	granted flotilla.Money
}

const day = 24 * 60 * 60

func (p *dayPurse) Grant(_ context.Context, want flotilla.Money) (flotilla.Money, time.Time, error) {
	today := time.Now().Unix() / day
	if today != p.day {
		p.day, p.granted = today, 0
	}
	p.granted = max(p.granted, min(p.limit(today), p.granted+max(want, p.caps[0]/3)))
	return p.granted, time.Unix((today+1)*day, 0), nil
}

func (p *dayPurse) limit(today int64) flotilla.Money {
	if today == newYear2000 {
		return p.caps[0]
	}
	return p.caps[1]
}

const newYear2000 = 10957 // the day on which a bubble's clock begins

// What was granted for a day and not spent lapses at its end: it cannot be
// spent again under the next day's cap.
func TestPurseLapsesAtMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(day*time.Second - 17*time.Minute) // a quarter of an hour before midnight
		fleet := open(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(5*time.Minute, req, http.StatusOK, answerOf("m", 5))
		}))
		src := &rows{fleet: fleet, bodies: bodies(4000)}
		one, err := fleet.Weigh(src.bodies[0])
		if err != nil {
			t.Fatal(err)
		}
		purse := &dayPurse{caps: [2]flotilla.Money{600 * one.Worst, 60 * one.Worst}}
		within(t, 2000*time.Hour, "Carry", func() {
			report, err := fleet.Carry(t.Context(), src, flotilla.Options{Purse: purse})
			if err != nil || report.Cause != flotilla.CapReached {
				t.Errorf("cause %v, %v", report.Cause, err)
			}
		})
		var first, second int
		var spent flotilla.Money
		for _, res := range src.got {
			if res.At.Add(-res.Latency).Unix()/day == newYear2000 {
				first++
				continue
			}
			second++
			spent += res.Cost
		}
		t.Logf("%d calls on the first day, %d on the second", first, second)
		if first == 0 || second == 0 || spent > purse.caps[1] {
			t.Errorf("%v spent on the second day under a cap of %v", spent, purse.caps[1])
		}
		if purse.granted != purse.caps[1] {
			t.Errorf("%v granted on the second day, cap %v", purse.granted, purse.caps[1])
		}
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
}
