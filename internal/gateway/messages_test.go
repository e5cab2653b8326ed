package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// A gateway that stops answers what is under way, and tells the rest to come
// again.
func TestDrain(t *testing.T) {
	hold := make(chan struct{})
	inRig(t, func(w http.ResponseWriter, h hit) {
		<-hold
		good(w, h)
	}, func(r *rig) {
		hold = make(chan struct{}) // one of the bubble's
		early := make(chan reply)
		go func() { early <- r.post(askFor("early", "")) }()
		synctest.Wait()
		r.gateway.Drain()
		if p := r.post(askFor("late", "")); p.status != 529 || !p.shaped(kindOverloaded) || p.header.Get("Retry-After") == "" {
			t.Errorf("%+v", p)
		}
		closed := make(chan error)
		go func() { closed <- r.gateway.Close(context.Background()) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed with a request under way")
		default:
		}
		close(hold)
		if p := <-early; p.status != 200 {
			t.Errorf("%+v", p)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// What is under way when the time is over is broken off: streams end by an
// error event, others get a 529.
func TestCloseBreaksOff(t *testing.T) {
	for _, stream := range []bool{false, true} {
		field, start := "", ""
		if stream {
			field, start = `"stream":true,`, goodStream[:strings.Index(goodStream, "event: content_block_stop")]
		}
		inRig(t, func(w http.ResponseWriter, h hit) {
			if stream {
				streams(start, true)(w, h)
			}
			<-h.ended
		}, func(r *rig) {
			got := make(chan reply)
			go func() { got <- r.post(askFor("a", field)) }()
			time.Sleep(time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			began := time.Now()
			if err := r.gateway.Close(ctx); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("took %s", took)
			}
			p := <-got
			switch rest, ok := strings.CutPrefix(p.body, start); {
			case stream && (!ok || !strings.HasPrefix(rest, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"")):
				t.Errorf("stream: %+v", p)
			case !stream && (p.status != 529 && p.status != 504 || p.err != nil):
				t.Errorf("whole: %+v", p)
			}
		})
	}
}

// A reset before the answer is made up for, on the other org if need be; after
// that the client is told what is known of the money.
func TestResetsBeforeTheAnswer(t *testing.T) {
	inRig(t, func(w http.ResponseWriter, h hit) {
		if h.nth <= 2 {
			panic(http.ErrAbortHandler)
		}
		good(w, h)
	}, func(r *rig) {
		if p := r.post(askFor("a", "")); p.status != 200 || p.header.Get(headerAttempts) != "3" {
			t.Errorf("%+v", p)
		}
	})
}

// A body that breaks off before the client has its head is not passed on as a
// short answer.
func TestWholeAnswersThatBreakOff(t *testing.T) {
	inRig(t, func(w http.ResponseWriter, h hit) {
		if h.nth == 1 {
			w.Header().Set("Content-Length", fmt.Sprint(len(goodMessage)))
			_, _ = w.Write([]byte(goodMessage[:50]))
			panic(http.ErrAbortHandler)
		}
		good(w, h)
	}, func(r *rig) {
		if p := r.post(askFor("a", "")); p.status != 200 || p.body != goodMessage {
			t.Errorf("%+v", p)
		}
	})
}

// Over a budget nothing is sent, and no SDK comes again by itself.
func TestOverBudget(t *testing.T) {
	var pot *flotilla.Pot
	inRigWith(t, good, func(_ *flotilla.Config, c *Config) {
		c.PotsOf = func(ctx context.Context, who Caller) ([]*flotilla.Pot, error) {
			if who.Name != "poor" {
				return nil, nil
			}
			var err error
			pot, err = c.Fleet.Pot(ctx, "a pot", flotilla.USD(0.000_001), 0)
			return []*flotilla.Pot{pot}, err
		}
	}, func(r *rig) {
		r.as = Caller{Name: "poor", Priority: flotilla.Normal, MaxPerDay: flotilla.USD(0.000_001)}
		p := r.post(askFor("a", ""))
		if p.status != 429 || !p.shaped(kindBilling) || p.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%+v", p)
		}
		if n := len(r.up.seen()); n != 0 {
			t.Errorf("%d calls", n)
		}
		metered := `"tools":[{"type":"web_search_20250305","name":"web_search"}],`
		if p := r.post(askFor("a", metered)); p.status != 400 || !strings.Contains(p.body, "billed per use") {
			t.Errorf("%+v", p)
		}
		r.as = Caller{Name: "rich", Priority: flotilla.Normal}
		if p := r.post(askFor("a", metered)); p.status != 200 {
			t.Errorf("%+v", p)
		}
	})
}

// Each client at each priority is a line of its own, under its own name.
func TestLines(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	inRigWith(t, good, func(f *flotilla.Config, _ *Config) {
		f.Observe = func(o flotilla.Observation) {
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprint(o.Client, " ", priorities[o.Priority])]++
		}
	}, func(r *rig) {
		for _, c := range []struct {
			who    Caller
			header string
		}{
			{Caller{Name: "a", Priority: flotilla.Interactive}, ""},
			{Caller{Name: "a", Priority: flotilla.Interactive}, "bulk"},
			{Caller{Name: "b", Priority: flotilla.Normal, Weight: 2}, ""},
			{Caller{Name: "b", Priority: flotilla.Normal, Weight: 2}, "normal"},
			{local, ""},
		} {
			r.as = c.who
			header := []string{}
			if c.header != "" {
				header = []string{headerPriority, c.header}
			}
			if p := r.post(askFor("a", ""), header...); p.status != 200 {
				t.Errorf("%+v", p)
			}
		}
		r.as = Caller{Name: "b", Priority: flotilla.Normal}
		if p := r.post(askFor("a", ""), headerPriority, "interactive"); p.status != 403 || !p.shaped(kindPermission) {
			t.Errorf("%+v", p)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for k, want := range map[string]int{"a interactive": 1, "a bulk": 1, "b normal": 2, "local normal": 1} {
			if seen[k] != want {
				t.Errorf("%s: %d calls, want %d", k, seen[k], want)
			}
		}
	})
}

// Lines are opened once, however many first calls come at a time.
func TestLinesAreOpenedOnce(t *testing.T) {
	var opened atomic.Int32
	inRigWith(t, good, func(_ *flotilla.Config, c *Config) {
		c.PotsOf = func(context.Context, Caller) ([]*flotilla.Pot, error) {
			opened.Add(1)
			time.Sleep(time.Second)
			return nil, nil
		}
	}, func(r *rig) {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if p := r.post(askFor(fmt.Sprint(i), "")); p.status != 200 {
					t.Errorf("%+v", p)
				}
			})
		}
		all.Wait()
		if n := opened.Load(); n != 1 {
			t.Errorf("opened %d times", n)
		}
	})
}
