//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// dawdler is a client that reads the head of its answer and a little more, and
// then nothing until it is told to.
type dawdler struct {
	resp *http.Response
	read int64
}

func dawdle(t *testing.T, g *gate, says string) *dawdler {
	t.Helper()
	conn, err := net.Dial("tcp", g.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	body := prompt(says)
	if _, err := fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: %s\r\nX-Api-Key: any\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", g.address(), len(body), body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<10), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &dawdler{resp: resp}
	n, err := io.CopyN(io.Discard, resp.Body, 100)
	if d.read = n; err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return d
}

// rest reads on to the end of the answer.
func (d *dawdler) rest() (text string, err error) {
	data, err := io.ReadAll(d.resp.Body)
	d.read += int64(len(data))
	return string(data), err
}

// TestServeSlowReaders lets five times as many clients as there are places read
// next to nothing of long answers: the answers are taken off the provider all the
// same, everybody else is served at once, and who reads on has all of it.
func TestServeSlowReaders(t *testing.T) {
	t.Parallel()
	const places, each = 4, 10
	u := newHeldUpstream(t)
	g, _ := gateBefore(t, u, places)
	var mu sync.Mutex
	slow := map[string][]*dawdler{}
	var wg sync.WaitGroup
	for _, says := range []string{"large", "stream large"} {
		for range each {
			wg.Go(func() {
				d := dawdle(t, g, says)
				mu.Lock()
				defer mu.Unlock()
				slow[says] = append(slow[says], d)
			})
		}
	}
	wg.Wait()
	waitFor(t, "the provider is rid of all answers", func() bool { return u.finished.Load() == 2*each })
	// Streams beyond what is read ahead hold their places; there are others.
	for range places / 2 {
		slow["stream huge"] = append(slow["stream huge"], dawdle(t, g, "stream huge"))
	}
	client := newForeign(g.url, 1)
	var answered sync.WaitGroup
	for i := range 200 {
		answered.Go(func() {
			says := "quick"
			if i%2 == 1 {
				says = "stream quick"
			}
			if r := client.post(context.Background(), "/v1/messages", prompt(says)); r.status != 200 || r.err != nil {
				t.Errorf("beside slow readers: %d %s %v", r.status, r.kind, r.err)
			}
		})
	}
	answered.Wait()
	t.Logf("200 calls beside %d readers that stand still; the gateway had %d MB at most", 2*each+places/2, g.peakMB())
	if mb := g.peakMB(); mb > 300 {
		t.Errorf("%d MB for %d MB that are waited for", mb, each*(largeWhole+largeStream)>>20)
	}
	for says, all := range slow {
		for _, d := range all {
			text, err := d.rest()
			if whole := strings.HasSuffix(text, "\"}\n\n") || d.read == d.resp.ContentLength; err != nil || !whole {
				t.Errorf("%s: read on to %d bytes: %v", says, d.read, err)
			}
			if end := `{"type":"message_stop"}`; strings.HasPrefix(says, "stream") && (!strings.Contains(text, end) || strings.Contains(text, "event: error")) {
				t.Errorf("%s: ends by %q", says, text[max(0, len(text)-100):])
			}
		}
	}
}

// TestServeClientsThatLeave lets clients go away while they wait, while the
// provider works for them, and in the midst of their streams: each gives its place
// back, the provider is told, and nothing is closed by it (facts/gateways.md: after
// eight aborts a gateway answered 503 for half a minute).
func TestServeClientsThatLeave(t *testing.T) {
	t.Parallel()
	const places = 8
	u := newHeldUpstream(t)
	g, w := gateBefore(t, u, places)
	client := newForeign(g.url, 1)
	if r := client.post(t.Context(), "/v1/messages", prompt("quick")); r.status != 200 || r.err != nil {
		t.Fatalf("%+v", r)
	}
	var left sync.WaitGroup
	leaving := func(n int, says string) (leave func()) {
		ctx, cancel := context.WithCancel(t.Context())
		for range n {
			left.Go(func() {
				if r := client.post(ctx, "/v1/messages", prompt(says)); r.err == nil {
					t.Errorf("%s: answered %+v", says, r)
				}
			})
		}
		return cancel
	}
	inFlight := leaving(places/2, "hold")
	midStream := leaving(places/2, "stream hold")
	waitFor(t, "all places are taken", func() bool { return u.holding.Load() == places })
	queued := leaving(places, "hold")
	waitFor(t, "others wait", func() bool { return client.metric(t, metricQueue) == places })
	queued()
	waitFor(t, "they are gone", func() bool { return client.metric(t, metricQueue) == 0 })

	next := make(chan reply, 2*places)
	for range 2 * places {
		go func() { next <- client.post(context.Background(), "/v1/messages", prompt("quick")) }()
	}
	waitFor(t, "others wait again", func() bool { return client.metric(t, metricQueue) == 2*places })
	if n := u.arrived.Load(); n != 1+places {
		t.Errorf("the provider saw %d requests, want %d: those that left their queue were sent", n, 1+places)
	}
	inFlight()
	midStream()
	waitFor(t, "the provider is told", func() bool { return u.left.Load() == places })
	for range 2 * places {
		if r := <-next; r.status != 200 || r.err != nil {
			t.Errorf("after the aborts: %d %s %v", r.status, r.kind, r.err)
		}
	}
	left.Wait()
	if n := u.arrived.Load(); n != 1+places+2*places {
		t.Errorf("the provider saw %d requests, want %d", n, 1+places+2*places)
	}
	if n, shut := client.metric(t, metricInFlight), client.metric(t, "flotilla_lane_closed"); n != 0 || shut != 0 {
		t.Errorf("after the aborts %g calls are in flight, %g lanes are closed", n, shut)
	}
	g.stop()
	g.wantExit(0)
	var jobs []jobLine
	w.readJSON(&jobs, "jobs", "list")
	var a auditReport
	w.readJSON(&a, "jobs", "audit", jobs[0].ID)
	if len(jobs) != 1 || len(a.InDoubt) != places || len(a.Drift) != 0 {
		t.Errorf("%d jobs, audit %+v; want %d in doubt", len(jobs), a, places)
	}
	t.Logf("%d left in flight or in their stream: %s in doubt, spent %s", places, a.DoubtUSD, jobs[0].SpentUSD)
}

// metric adds up the samples of one name.
func (f *foreign) metric(t testing.TB, name string) (sum float64) {
	t.Helper()
	text, status := f.raw(t, http.MethodGet, "/metrics", "")
	if status != http.StatusOK {
		t.Fatalf("metrics: %d %s", status, text)
	}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	return sum
}

const (
	metricQueue    = "flotilla_queue_calls"
	metricInFlight = "flotilla_in_flight_calls"
)
