package flotilla_test

import (
	"context"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Calls that mark the same beginning go where it is kept; others are spread.
func TestLineAffinity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := scripted(func(_ int64, req *http.Request) (*http.Response, error) {
			return after(time.Second, req, http.StatusOK, answerOf("msg_1", 5))
		})
		cfg.Orgs = orgs("high", "batch", "low")
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{})
		marked := []byte(`{"model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":[` +
			`{"type":"text","text":"a long beginning","cache_control":{"type":"ephemeral"}}]}]}`)
		orgsOf := func(body []byte) map[string]int {
			by := map[string]int{}
			for i := range 12 {
				busy, cancel := context.WithCancel(t.Context()) // so that the least loaded org changes
				for range i % 3 {
					go func() { _, _ = line.Do(busy, flotilla.Call{Body: request(i).Body}) }()
				}
				synctest.Wait()
				a, err := line.Do(t.Context(), flotilla.Call{Body: body})
				if err != nil {
					t.Fatal(err)
				}
				by[a.Org]++
				cancel()
				synctest.Wait()
			}
			return by
		}
		if by := orgsOf(marked); len(by) != 1 {
			t.Errorf("calls of one beginning went to %v", by)
		}
		if by := orgsOf(request(0).Body); len(by) < 2 {
			t.Errorf("calls without one all went to %v", by)
		}
	})
}

// A line lives for weeks: calls that settled leave nothing behind.
func TestLineKeepsNothing(t *testing.T) {
	cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
		sendBody(req)
		if n%10 == 0 {
			return reply(req, http.StatusBadRequest, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`), nil
		}
		return reply(req, http.StatusOK, answerOf("msg_1", 5)), nil
	})
	cfg.Store = forgetful{}
	fleet := newFleet(t, cfg)
	line := newLine(t, fleet, flotilla.LineOptions{Job: 1, Pots: []*flotilla.Pot{newPot(t, fleet, flotilla.USD(1000))}})
	body := request(1).Body
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	run := func(n int) {
		for range n {
			a, err := line.Do(t.Context(), flotilla.Call{Body: body})
			if err != nil {
				t.Fatal(err)
			}
			_ = a.Body.Close()
		}
	}
	run(3000)
	before := heap()
	run(15000)
	if grown := heap() - before; grown > 512<<10 {
		t.Errorf("15,000 calls left %d bytes", grown)
	}
}

type forgetful struct{}

func (forgetful) Append([]flotilla.Record) error { return nil }

// What a line spent is what its journal says, and after a crash what was in the
// open blocks is in doubt.
func TestLineInAJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	store, err := journal.Open(t.Context(), path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	job, err := store.Begin(t.Context(), journal.JobSpec{Provider: "http://script:80", Command: "serve", Kind: journal.KindServe})
	if err != nil {
		t.Fatal(err)
	}
	arrived, held := make(chan struct{}), make(chan struct{})
	cfg := scripted(func(n int64, req *http.Request) (*http.Response, error) {
		sendBody(req)
		if n == 21 {
			close(arrived)
			<-held
		}
		return reply(req, http.StatusOK, answerOf("msg_1", 5)), nil
	})
	cfg.Store = store
	fleet := newFleet(t, cfg)
	line := newLine(t, fleet, flotilla.LineOptions{Job: job.ID})
	cost := flotilla.Money(0)
	for i := range 20 {
		a, _ := ask(t, line, request(i).Body)
		res, _ := a.Settled()
		cost += res.Cost
	}
	one := worst(t, fleet, request(30).Body)
	last := make(chan flotilla.Money, 1)
	go func() {
		a, _ := ask(t, line, request(30).Body)
		res, _ := a.Settled()
		last <- res.Cost
	}()
	<-arrived
	spent := func() flotilla.Money {
		got, err := store.SpentOn(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if during := spent(); during < cost+one {
		t.Errorf("with a call in flight %v counts, its calls cost %v and it may cost %v", during, cost, one)
	}
	close(held)
	cost += <-last
	if err := line.Close(time.Second); err != nil {
		t.Fatal(err)
	}
	if got := spent(); got != cost {
		t.Errorf("the journal says %v, the answers cost %v", got, cost)
	}
	if err := fleet.Close(); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
