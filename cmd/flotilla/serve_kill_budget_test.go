//go:build unix

package main

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// TestServeBudgetsOverKills kills the gateway in the midst of calls, three times:
// the budget of a client and the cap of the day hold over all its lives, and are
// used, although what a crash leaves in doubt counts.
func TestServeBudgetsOverKills(t *testing.T) {
	t.Parallel()
	const perDay, ofAll = price.Dollar / 12, price.Dollar * 3 / 10
	w := &world{t: t, dir: t.TempDir(), speed: 10}
	w.atNoon()
	alice, bob := &spender{key: w.newKey("alice", "--max-usd-per-day", perDay.Exact())}, &spender{key: w.newKey("bob")}
	address := "127.0.0.1:0"
	lives := 0
	for refused := false; !refused && lives < 8; lives++ {
		g := w.serve("--ramp", "fast", "--max-spend", ofAll.Exact()+"/day", "--listen", address)
		address = g.address()
		refused = w.untilRefused(g, lives < 3, alice, bob)
		g.kill()
	}
	var clients []keyLine
	w.readJSON(&clients, "serve", "keys", "list")
	counted := price.Nanos(0)
	for _, c := range clients {
		counted += *c.Spent
		if c.MaxPerDay != nil && *c.Spent > *c.MaxPerDay {
			t.Errorf("%s: %s of %s are counted", c.Name, c.Spent.Exact(), c.MaxPerDay.Exact())
		}
	}
	billed := w.billedSync()
	t.Logf("%d lives; alice's answers cost %s of %s, bob's %s; billed %s of %s, with what is in doubt %s",
		lives, alice.spent.Exact(), perDay.Exact(), bob.spent.Exact(), billed.Exact(), ofAll.Exact(), counted.Exact())
	if alice.spent > perDay || alice.spent < perDay/10 {
		t.Errorf("alice spent %s of %s", alice.spent, perDay)
	}
	if billed > ofAll || billed < ofAll/4 {
		t.Errorf("billed %s of %s", billed, ofAll)
	}
	if counted < billed || counted > ofAll {
		t.Errorf("billed %s, counted %s of %s", billed.Exact(), counted.Exact(), ofAll.Exact())
	}
	if lives < 4 {
		t.Errorf("%d lives: nobody was killed", lives)
	}
}

// spender is a client and what its answers cost.
type spender struct {
	key   string
	mu    sync.Mutex
	spent price.Nanos
}

func (s *spender) add(cost price.Nanos) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent += cost
}

// atNoon starts an emulator at the noon of today, far from both ends of the day.
func (w *world) atNoon() {
	w.t.Helper()
	sc, err := emulator.Named("steady")
	if err != nil {
		w.t.Fatal(err)
	}
	tellsNumbers(&sc)
	y, m, d := time.Now().Date()
	if w.server, err = emulator.New(emulator.Options{Scenario: sc, Seed: 1, Speed: w.speed, Start: time.Date(y, m, d, 12, 0, 0, 0, time.Local)}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.server.Close() })
	if w.url, err = w.server.Listen("127.0.0.1:0"); err != nil {
		w.t.Fatal(err)
	}
}

// newKey makes a client's key.
func (w *world) newKey(name string, flags ...string) string {
	w.t.Helper()
	out, _ := w.run(0, append([]string{"serve", "keys", "add", name, "--journal", w.path(".flotilla")}, flags...))
	return strings.TrimSpace(out)
}

// untilRefused lets clients call, eight at a time each, until all are refused for
// their money; with cut it returns in the midst of it. Other refusals are faults.
func (w *world) untilRefused(g *gate, cut bool, clients ...*spender) (refused bool) {
	w.t.Helper()
	const each = 8
	var wg sync.WaitGroup
	var answers, ended atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, client := range clients {
		c := newForeign(g.url, w.speed)
		c.key = client.key
		for range each {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					r := c.ask(ctx, n, n%2 == 1)
					client.add(r.cost)
					switch {
					case ctx.Err() != nil:
					case r.status == 200 && r.err == nil:
						if answers.Add(1) >= 40 && cut {
							cancel()
						}
					case r.kind == "billing_error" && (r.header.Get("X-Should-Retry") == "false") != (r.header.Get("Retry-After") != ""):
						// For good, or what others have set aside may come back (docs/gateway.md).
						ended.Add(1)
						return
					default:
						w.t.Errorf("%+v", r)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	return ended.Load() == int64(each*len(clients))
}
