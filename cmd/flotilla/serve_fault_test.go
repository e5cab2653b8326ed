//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/flotilla-llm/flotilla/price"
)

// fates counts what became of calls, as their callers see it.
type fates struct {
	answered   int
	told       int // streams that broke off and said so
	refused    map[string]int
	tries      int         // of the callers
	attempts   int64       // at the provider, that the replies tell of
	unnumbered int         // replies that tell of none
	cost       price.Nanos // of the answers
}

// String is for logs.
func (f *fates) String() string {
	parts := []string{fmt.Sprintf("%d answered", f.answered), fmt.Sprintf("%d told by an event", f.told)}
	for _, kind := range slices.Sorted(maps.Keys(f.refused)) {
		parts = append(parts, fmt.Sprintf("%d %s", f.refused[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// take holds a reply to the promise: the answer to this call, whole and once; or
// an error of the API's shape that says when to come again; or, where a stream
// had begun, an event that says that it broke off. A call that may have been
// billed without an answer is not to be repeated by itself.
func (f *fates) take(n int, r reply) error {
	f.tries, f.attempts, f.unnumbered = f.tries+r.tries, f.attempts+r.attempts, f.unnumbered+r.unnumbered
	f.cost += r.cost
	after, err := strconv.Atoi(r.header.Get("Retry-After"))
	switch {
	case r.err != nil:
		return r.err
	case r.status == 200 && r.ended:
		f.told++
		return nil
	case r.status == 200:
		f.answered++
		if !isAnswer(r.text, n) {
			return fmt.Errorf("the answer is %q", r.text)
		}
		return nil
	case r.status == 429 && r.kind == "rate_limit_error", r.status == 529 && r.kind == "overloaded_error":
		if err != nil || after < 1 {
			return fmt.Errorf("%d with retry-after %q", r.status, r.header.Get("Retry-After"))
		}
	case r.status == 504 && r.kind == "timeout_error" && r.header.Get("X-Should-Retry") == "false":
	default:
		return fmt.Errorf("%d %s", r.status, r.kind)
	}
	f.refused[strconv.Itoa(r.status)]++
	return nil
}

// crowd makes n calls at once, every other one a stream, and every other pair of
// them by a client that retries.
func crowd(t *testing.T, c *foreign, n int) *fates {
	t.Helper()
	f := &fates{refused: map[string]int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		client := c
		if i%4 >= 2 {
			client = c.with(2)
		}
		wg.Go(func() {
			r := client.ask(context.Background(), i, i%2 == 1)
			mu.Lock()
			defer mu.Unlock()
			if err := f.take(i, r); err != nil {
				t.Errorf("call %d (%d retries, stream %t): %v", i, client.retries, i%2 == 1, err)
			}
		})
	}
	wg.Wait()
	return f
}

// faultCase is a way of going wrong, and what is to come of calls then.
type faultCase struct {
	name     string
	scenario string // "": default
	calls    int
	faults   []string
	least    int     // so many are answered
	may      string  // what may become of others
	most     float64 // attempts at the provider for each try of a caller
	patience string  // x-flotilla-max-wait; "": as usual
}

// onMessages is a fault of POST /v1/messages.
func onMessages(rest string) string { return `{"path":"/v1/messages",` + rest + `}` }

const (
	gateway502 = `"kind":"status","status":502,"headers":{"content-type":"text/html"},"body":"<html><h1>502 Bad Gateway</h1></html>"`
	limited7   = `"kind":"status","status":429,"headers":{"retry-after":"7"}`
	overloaded = `"kind":"status","status":529`
)

var faultCases = []faultCase{
	{name: "resets before, few", calls: 200, faults: []string{onMessages(`"kind":"drop_before","share":0.05`)}, least: 198, may: "504", most: 1.15},
	{name: "resets before, many", calls: 200, faults: []string{onMessages(`"kind":"drop_before","share":0.3`)}, least: 185, may: "504", most: 1.65},
	{name: "resets before, all", calls: 200, faults: []string{onMessages(`"kind":"drop_before"`)}, may: "504 529", most: 1.3, patience: "15s"},
	{name: "resets before, one org", calls: 200, faults: []string{onMessages(`"kind":"drop_before","org":"high"`)}, least: 200, most: 1.6},
	{name: "resets after, few", calls: 200, faults: []string{onMessages(`"kind":"drop_after","share":0.05`)}, least: 185, may: "told 504", most: 1.15},
	{name: "resets after, all", calls: 200, faults: []string{onMessages(`"kind":"drop_after"`)}, may: "told 504 529", most: 2.5, patience: "15s"},
	{name: "cut streams", calls: 200, faults: []string{onMessages(`"kind":"truncate","share":0.5`)}, least: 100, may: "told 504", most: 2},
	{name: "storm", calls: 200, faults: []string{onMessages(overloaded + `,"share":0.9,"for_s":30`)}, least: 200, most: 2.3}, // all may be under way when it begins
	{name: "529, all", calls: 200, faults: []string{onMessages(overloaded)}, may: "529", most: 1.3, patience: "15s"},
	{name: "429 for a while", calls: 200, faults: []string{onMessages(limited7 + `,"for_s":10`)}, least: 200, most: 1.3},
	{name: "429, all", calls: 200, faults: []string{onMessages(limited7)}, may: "429", most: 1, patience: "15s"},
	{name: "one org says tomorrow", calls: 200, faults: []string{onMessages(`"org":"high","count":1,"kind":"status","status":429,"headers":{"retry-after":"86400"}`)}, least: 200, most: 1.1},
	{name: "pages of a proxy, many", calls: 200, faults: []string{onMessages(gateway502 + `,"share":0.3`)}, least: 195, may: "529", most: 1.65},
	{name: "pages of a proxy, all", calls: 200, faults: []string{onMessages(gateway502)}, may: "529", most: 1.3, patience: "15s"},
	{name: "delays", calls: 200, faults: []string{onMessages(`"kind":"delay","delay_ms":20000,"share":0.3`)}, least: 200, most: 1},
	{name: "lying headers", scenario: "tier-start", calls: 200, faults: []string{`{"kind":"lie_headers","factor":1.67,"share":0.5}`, `{"kind":"strip_headers","share":0.3}`}, least: 200, most: 1},
	{name: "a flaky network", scenario: "flaky-network", calls: 400, least: 380, may: "told 504", most: 1.2},
	{name: "everything", calls: 1000, faults: []string{
		onMessages(`"kind":"drop_before","share":0.02`), onMessages(`"kind":"drop_after","share":0.02`), onMessages(`"kind":"truncate","share":0.02`),
		onMessages(`"kind":"delay","delay_ms":5000,"share":0.02`), onMessages(overloaded + `,"share":0.02`), onMessages(limited7 + `,"share":0.02`),
		onMessages(gateway502 + `,"share":0.02`), `{"kind":"lie_headers","share":0.02}`,
	}, least: 950, may: "told 504", most: 1.25},
}

// TestServeFaults lets an upstream go wrong in every way before the real program,
// for a share of all requests or for all of them.
func TestServeFaults(t *testing.T) {
	t.Parallel()
	for _, c := range faultCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorldOf(t, cmp.Or(c.scenario, "default"), 50, tellsNumbers)
			g := w.serve("--ramp", "fast")
			for _, f := range c.faults {
				w.fault(f)
			}
			client := newForeign(g.url, w.speed)
			if c.patience != "" {
				client.header["x-flotilla-max-wait"] = c.patience
			}
			f := crowd(t, client, c.calls)
			requests := w.requests()
			t.Logf("%d calls, %d tries, %d attempts at the provider: %s", c.calls, f.tries, requests, f)
			if f.answered < c.least || f.answered > 0 && c.least == 0 {
				t.Errorf("%d answered, want %d", f.answered, c.least)
			}
			if f.told > 0 && !strings.Contains(c.may, "told") {
				t.Errorf("%d streams were told of a break", f.told)
			}
			for status, n := range f.refused {
				if !strings.Contains(c.may, status) {
					t.Errorf("%d calls were refused by %s", n, status)
				}
			}
			if most := int64(c.most * float64(f.tries)); requests > most {
				t.Errorf("%d attempts at the provider for %d tries of callers, want at most %d", requests, f.tries, most)
			}
			if f.unnumbered == 0 && f.attempts != requests {
				t.Errorf("callers are told of %d attempts, the provider saw %d", f.attempts, requests)
			}
		})
	}
}
