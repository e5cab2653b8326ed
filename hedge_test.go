package flotilla_test

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// hedgedRun carries 400 rows of which the last straggles, and is hedged; late
// is what comes of the straggler once it is given up.
func hedgedRun(t *testing.T, late func(req *http.Request) (*http.Response, error)) (*rows, flotilla.Report, []flotilla.Record) {
	t.Helper()
	all := bodies(400)
	var tries atomic.Int64
	cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(req.Body)
		if !bytes.Equal(body.Bytes(), all[len(all)-1]) {
			return after(time.Second, req, http.StatusOK, answerOf("m", 5))
		}
		if tries.Add(1) == 1 {
			<-req.Context().Done()
			return late(req)
		}
		return after(time.Second, req, http.StatusOK, answerOf("hedge", 5))
	})
	cfg.Orgs, cfg.Hedge = orgs("high", "low"), true
	store := &records{}
	cfg.Store = store
	fleet := open(t, cfg)
	src := &rows{fleet: fleet, bodies: all}
	report, err := fleet.Carry(t.Context(), src, flotilla.Options{N: len(all)})
	if err != nil || report.Cause != flotilla.Finished || len(src.got) != len(all) {
		t.Fatalf("cause %v, error %v, %d results", report.Cause, err, len(src.got))
	}
	if err := fleet.Close(); err != nil {
		t.Fatal(err)
	}
	if report.Hedges != 1 || tries.Load() != 2 {
		t.Fatalf("%d hedges, %d tries: the straggler was not hedged", report.Hedges, tries.Load())
	}
	return src, report, store.all()
}

// Whatever still comes of the attempt that lost, the answer that stands is the
// winner's, every attempt is charged once, and what the loser cost is a hedge's.
func TestTheWinnersAnswerStands(t *testing.T) {
	for name, late := range map[string]func(req *http.Request) (*http.Response, error){
		"canceled": func(req *http.Request) (*http.Response, error) { return nil, req.Context().Err() },
		"refused": func(req *http.Request) (*http.Response, error) {
			return reply(req, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), nil
		},
		"invalid": func(req *http.Request) (*http.Response, error) {
			return reply(req, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`), nil
		},
		"answered": func(req *http.Request) (*http.Response, error) {
			return reply(req, 200, answerOf("straggler", 50)), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, report, kept := hedgedRun(t, late)
				for _, res := range src.got {
					if res.Err != nil || len(res.Message) == 0 || res.Usage.Output == 0 {
						t.Errorf("row %d: error %v, message %q", res.Row, res.Err, res.Message)
					}
					if res.Row == 399 && (!bytes.Contains(res.Message, []byte(`"hedge"`)) || !res.Hedged) {
						t.Errorf("the straggler's answer: %+v", res)
					}
				}
				var cost, charged flotilla.Money
				for _, res := range src.got {
					cost += res.Cost
				}
				ended := map[int64]int{}
				for _, r := range kept {
					charged += r.Charged
					if r.Kind == flotilla.AttemptRecord || r.Kind == flotilla.OutcomeRecord && r.Charged > 0 {
						ended[r.Attempt]++
					}
				}
				if charged != cost {
					t.Errorf("%v charged in the store, %v in the results", charged, cost)
				}
				for id, n := range ended {
					if n != 1 {
						t.Errorf("attempt %d ended %d times", id, n)
					}
				}
				if len(ended) != 401 {
					t.Errorf("%d attempts ended", len(ended))
				}
				const each = 10*1000 + 5*5000 // nano-dollars of an answer
				wasted := cost - 400*each
				if name == "canceled" || name == "answered" {
					if report.HedgeCost <= 0 {
						t.Errorf("the loser cost nothing")
					}
				} else if report.HedgeCost != 0 {
					t.Errorf("a refused loser cost %v", report.HedgeCost)
				}
				if wasted != report.HedgeCost || report.FailedCost != 0 {
					t.Errorf("%v of hedges, %v of failures, %v wasted", report.HedgeCost, report.FailedCost, wasted)
				}
			})
		})
	}
}
