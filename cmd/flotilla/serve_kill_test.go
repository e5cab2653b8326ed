//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// A gateway that is stopped has so many calls under way, and a batch of so many
// rows.
const (
	stoppedCalls = 1150 // some end before
	stoppedLeast = 1000
	stoppedRows  = 400
)

// stoppedWorld is one with a gateway that is to be stopped in the midst of its
// work.
type stoppedWorld struct {
	*world
	t     *testing.T
	gate  *gate
	batch string      // its id
	first price.Nanos // what a call before all others cost

	replies []reply
	wg      sync.WaitGroup // of the callers
}

// slowly makes answers take two minutes, some of them half and some twice that,
// most of it while they flow, and batches as long as is said.
func slowly(sc *emulator.Scenario, batch time.Duration) {
	tellsNumbers(sc)
	sc.Families, sc.Stragglers = nil, emulator.Stragglers{}
	sc.Latency = emulator.Latency{TTFT: time.Second, TTFTSD: 0.3, PerSecond: 1, PerSecondSD: 0.35}
	sc.Batches.Overhead, sc.Batches.OverheadSD, sc.Batches.RowsPerSecond, sc.Batches.SD = batch, 0, 50, 0
}

// newStoppedWorld brings a gateway to where it is to be stopped: all calls are at
// the provider, a batch is under way. Callers have that many retries, by the
// machine's clock; batches take so long.
func newStoppedWorld(t *testing.T, retries int, batch time.Duration) *stoppedWorld {
	t.Helper()
	w := &stoppedWorld{t: t, world: newWorldOf(t, "default", 10, func(sc *emulator.Scenario) { slowly(sc, batch) }), replies: make([]reply, stoppedCalls)}
	w.gate = w.serve("--ramp", "fast", "--conc", "haiku=1300")
	client := newForeign(w.gate.url, 1)
	first := client.post(t.Context(), "/v1/messages", strings.Replace(askFor(stoppedCalls, true), "300", "1", 1)) // opens a lane
	if first.status != 200 || first.err != nil {
		t.Fatalf("%+v", first)
	}
	w.first = first.cost
	w.createBatch(client)
	client = client.with(retries)
	for i := range stoppedCalls {
		w.wg.Go(func() {
			w.replies[i] = client.ask(context.Background(), i, i%2 == 1)
		})
	}
	waitFor(t, "calls enough are at the provider", func() bool { return w.peak() >= stoppedLeast })
	waitFor(t, "the batch is at the provider", func() bool {
		_, all := w.batches()
		return all.Rows >= stoppedRows
	})
	t.Logf("%g calls in flight", client.metric(t, metricInFlight))
	return w
}

// peak is how many calls the provider had at once, in each of its pools.
func (w *world) peak() (n int64) {
	w.t.Helper()
	w.eachPool(func(pool gjson.Result) { n += pool.Get("peak_in_flight").Int() })
	return n
}

// createBatch creates a batch of stoppedRows rows.
func (w *stoppedWorld) createBatch(c *foreign) {
	w.t.Helper()
	rows := make([]string, stoppedRows)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"custom_id":"r-%d","params":%s}`, i, strings.Replace(askFor(10_000+i, false), `"stream":false,`, "", 1))
	}
	text, status := c.raw(w.t, http.MethodPost, "/v1/messages/batches", `{"requests":[`+strings.Join(rows, ",")+`]}`)
	if w.batch = gjson.Get(text, "id").String(); status != 200 || w.batch == "" {
		w.t.Fatalf("creating the batch: %d %s", status, text)
	}
}

// raw is one request without retries.
func (f *foreign) raw(t testing.TB, method, path, body string) (text string, status int) {
	t.Helper()
	r, data, err := f.exchange(context.Background(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), r.StatusCode
}

// wantBatch waits for the end of the batch and sees that each row has its own
// answer, once, and was bought once.
func (w *stoppedWorld) wantBatch(c *foreign) {
	w.t.Helper()
	path := "/v1/messages/batches/" + w.batch
	waitFor(w.t, "the batch ends", func() bool {
		text, status := c.raw(w.t, http.MethodGet, path, "")
		return status == 200 && gjson.Get(text, "processing_status").String() == "ended"
	})
	text, status := c.raw(w.t, http.MethodGet, path+"/results", "")
	if status != 200 {
		w.t.Fatalf("results: %d %s", status, text)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		var l struct {
			ID     string `json:"custom_id"`
			Result struct {
				Type    string
				Message json.RawMessage
			}
		}
		n := -1
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			w.t.Fatal(err)
		}
		if _, err := fmt.Sscanf(l.ID, "r-%d", &n); err != nil || seen[l.ID] || n >= stoppedRows {
			w.t.Errorf("%q stands in the results, once more or for nothing", l.ID)
		}
		seen[l.ID] = true
		answer, _, err := readMessage(l.Result.Message)
		if err != nil || l.Result.Type != "succeeded" || !isAnswer(answer, 10_000+n) {
			w.t.Errorf("%s: %s %q %v", l.ID, l.Result.Type, answer, err)
		}
	}
	_, all := w.batches()
	if len(seen) != stoppedRows || all.Succeeded != stoppedRows || all.Rows-all.Canceled != stoppedRows {
		w.t.Errorf("%d results of %d rows; at the provider %+v", len(seen), stoppedRows, all)
	}
	w.t.Logf("batch: %d results, at the provider %+v", len(seen), all)
}

// faster restarts the gateway where the one before was, on the same journal, with
// a clock that runs faster.
func (w *stoppedWorld) faster() {
	w.t.Helper()
	const speed = 50
	if err := postJSON(w.url+"/emulator/clock", fmt.Sprintf(`{"speed":%d}`, speed)); err != nil {
		w.t.Fatal(err)
	}
	w.speed = speed
	w.gate = w.serve("--ramp", "fast", "--conc", "haiku=1300", "--listen", w.gate.address())
}

// books are what the journal says of the gateway's single calls.
type books struct {
	spent, doubt price.Nanos
	doubts       []doubtLine
}

// audit reads the books of the single calls and sees that nothing is adrift or
// doubled in any job.
func (w *stoppedWorld) audit() (b books) {
	w.t.Helper()
	var jobs []jobLine
	w.readJSON(&jobs, "jobs", "list")
	for _, j := range jobs {
		var a auditReport
		w.readJSON(&a, "jobs", "audit", j.ID)
		if len(a.Drift)+len(a.Doubled) != 0 {
			w.t.Errorf("%s %s: drift %q, doubled %v", j.Kind, j.ID, a.Drift, a.Doubled)
		}
		if j.Kind != "serve" {
			if len(a.InDoubt) > 0 {
				w.t.Errorf("%s %s: %d in doubt", j.Kind, j.ID, len(a.InDoubt))
			}
			continue
		}
		b.spent, b.doubt, b.doubts = b.spent+j.SpentUSD, b.doubt+a.DoubtUSD, append(b.doubts, a.InDoubt...)
	}
	return b
}

// billedSync is what the emulator billed for single calls.
func (w *world) billedSync() (sum price.Nanos) {
	w.t.Helper()
	w.eachPool(func(pool gjson.Result) {
		m, err := price.Parse(pool.Get("billed_usd").String())
		if err != nil {
			w.t.Fatal(err)
		}
		sum += m
	})
	return sum
}

// eachPool shows the stats of every pool of every org.
func (w *world) eachPool(show func(gjson.Result)) {
	w.t.Helper()
	text, err := json.Marshal(w.stats()["orgs"])
	if err != nil {
		w.t.Fatal(err)
	}
	for _, org := range gjson.ParseBytes(text).Map() {
		for _, pool := range org.Get("pools").Map() {
			show(pool)
		}
	}
}

// took are what became of the calls, and what their answers cost.
func (w *stoppedWorld) took() (f *fates, broken, again int) {
	w.t.Helper()
	w.wg.Wait()
	f = &fates{refused: map[string]int{}}
	for n, r := range w.replies {
		again += min(r.unreached, 1)
		if r.status == 200 && errors.Is(r.err, errStreamBroke) {
			broken++
			continue
		}
		if r.status == 0 && w.gate.ended() {
			continue
		}
		if err := f.take(n, r); err != nil {
			w.t.Errorf("call %d: %v", n, err)
		}
	}
	return f, broken, again
}

// worstCall is the most that one of the calls may cost, about: what it may answer
// and a little for its prompt.
const worstCall = 330 * 5 * price.Dollar / 1_000_000

// TestServeTerminated stops the gateway by SIGTERM: what is under way ends within
// its time, or is told that it does not; nothing new is let in; the batch goes on
// at the next start, and the books are right to the nano-dollar.
func TestServeTerminated(t *testing.T) {
	t.Parallel()
	w := newStoppedWorld(t, 0, 5*time.Minute)
	w.gate.stop()
	late := newForeign(w.gate.url, 1)
	waitFor(t, "the gateway says that it stops", func() bool { return strings.Contains(w.gate.said.String(), "stopping: ") })
	if r := late.ask(t.Context(), stoppedCalls, false); r.status != 529 || r.kind != "overloaded_error" || r.header.Get("Retry-After") == "" {
		t.Errorf("a new call was answered %+v", r)
	}
	f, broken, _ := w.took()
	w.gate.wantExit(0)
	t.Logf("calls: %s; %d broken connections", f, broken)
	cut := f.told + f.refused["529"]
	if broken+f.refused["429"]+f.refused["504"] > 0 || f.answered == 0 || f.told == 0 || f.refused["529"] == 0 {
		t.Error("want some that ended, some 529, some told in their stream, and nothing else")
	}
	b := w.audit()
	t.Logf("spent %s, of it %s for %d in doubt; answers cost %s, billed %s", b.spent.Exact(), b.doubt.Exact(), len(b.doubts), (f.cost + w.first).Exact(), w.billedSync().Exact())
	if b.spent-b.doubt != f.cost+w.first {
		t.Errorf("%s is spent for certain, the answers cost %s", (b.spent - b.doubt).Exact(), (f.cost + w.first).Exact())
	}
	if len(b.doubts) != cut {
		t.Errorf("%d are in doubt, %d calls were cut", len(b.doubts), cut)
	}
	if billed := w.billedSync(); billed > b.spent || b.doubt > price.Nanos(cut)*worstCall {
		t.Errorf("spent %s, billed %s; in doubt %s for %d calls", b.spent, billed, b.doubt, cut)
	}
	if i := slices.IndexFunc(b.doubts, func(d doubtLine) bool { return d.Answered || d.Crashed || d.Block != 0 }); i >= 0 {
		t.Errorf("in doubt after an orderly stop: %+v", b.doubts[i])
	}
	w.faster()
	w.wantBatch(newForeign(w.gate.url, w.speed))
	w.audit()
}

// TestServeTerminatedTwice does not wait for what is in flight: callers are told,
// or see a broken connection, but nothing that passes for an answer; what was
// under way stays counted.
func TestServeTerminatedTwice(t *testing.T) {
	t.Parallel()
	w := newStoppedWorld(t, 0, time.Minute)
	w.gate.stop()
	waitFor(t, "the gateway says that it stops", func() bool { return strings.Contains(w.gate.said.String(), "stopping: ") })
	w.gate.stop()
	w.gate.wantExit(exitInterrupted)
	f, broken, unanswered := w.took()
	t.Logf("calls: %s; %d streams broke, %d got no answer", f, broken, unanswered)
	if f.refused["429"]+f.refused["504"] > 0 || f.answered+f.told+f.refused["529"]+broken+unanswered != stoppedCalls {
		t.Error("want answers, 529, events, and broken connections alone")
	}
	w.faster()
	w.wantBatch(newForeign(w.gate.url, w.speed))
	if r := newForeign(w.gate.url, w.speed).ask(t.Context(), stoppedCalls, false); r.err != nil || r.status != 200 {
		t.Errorf("after the restart: %+v", r)
	}
	w.gate.stop()
	w.gate.wantExit(0)
	if b, billed := w.audit(), w.billedSync(); b.spent < billed || b.doubt > (stoppedCalls+2*blockMost)*worstCall {
		t.Errorf("spent %s, of it %s in doubt, billed %s", b.spent, b.doubt, billed)
	}
}

// blockMost is how many calls' worst cases a block of a line's money holds at
// most; one is drawn on, one is ahead.
const blockMost = 1024

// TestServeKilled kills the gateway and starts it again: callers see a broken
// connection and nothing worse, those that retry get their answers, the batch goes
// on, and the money of what was lost stays counted.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	w := newStoppedWorld(t, 6, 2*time.Minute)
	w.gate.kill()
	if b, billed := w.audit(), w.billedSync(); b.spent < billed {
		t.Errorf("spent %s after the kill, billed %s", b.spent, billed)
	}
	w.faster()
	f, broken, again := w.took()
	t.Logf("calls: %s; %d streams broke, %d calls lost their connection and came again", f, broken, again)
	if f.answered+broken != stoppedCalls || broken == 0 || again == 0 {
		t.Error("want answers, broken streams, and nothing else")
	}
	w.wantBatch(newForeign(w.gate.url, w.speed))
	w.gate.stop()
	w.gate.wantExit(0)
	b := w.audit()
	t.Logf("spent %s, of it %s for %d in doubt; answers cost %s, billed %s", b.spent.Exact(), b.doubt.Exact(), len(b.doubts), (f.cost + w.first).Exact(), w.billedSync().Exact())
	// Of calls that were answered just before the kill the record may be lost.
	if sure, cost := b.spent-b.doubt, f.cost+w.first; sure > cost || sure < cost && broken+again == stoppedCalls {
		t.Errorf("%s is spent for certain, the answers cost %s", sure.Exact(), cost.Exact())
	}
	if billed := w.billedSync(); billed > b.spent {
		t.Errorf("spent %s, billed %s", b.spent, billed)
	}
	if b.doubt > (stoppedCalls+2*blockMost)*worstCall {
		t.Errorf("%s are in doubt for %d calls", b.doubt, stoppedCalls)
	}
	if i := slices.IndexFunc(b.doubts, func(d doubtLine) bool { return !d.Crashed || d.Block == 0 }); i >= 0 {
		t.Errorf("in doubt, of no block of the process that died: %+v", b.doubts[i])
	}
}
