package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// recentKept is how many attempts are remembered: about 350 KB.
const recentKept = 1000

// longWait is what a person notices: below it nobody asks why a call waited.
const longWait = 50 * time.Millisecond

// callLog remembers the last attempts and counts all.
type callLog struct {
	mu     sync.Mutex
	last   []ended // a ring, once it is full
	next   int
	counts callCounts
}

// ended is an attempt as it was told of: what it looks like is made when somebody
// asks, since most are never looked at.
type ended struct {
	at    time.Time // on the machine's clock
	o     flotilla.Observation
	limit string // that held its lane at the last look before; empty: none
}

// callCounts are over all attempts since this process began.
type callCounts struct {
	attempts, calls, succeeded int64
	refused, overloaded        int64 // attempts
	cost, estimated            flotilla.Money
}

// attempt is one of the recent ones, as the API gives it.
type attempt struct {
	At          time.Time      `json:"at"`
	Client      *string        `json:"client"`
	Priority    string         `json:"priority"`
	Model       string         `json:"model"`
	Org         string         `json:"org"`
	Pool        string         `json:"pool"`
	Tier        string         `json:"tier"`
	Class       string         `json:"class"`
	Status      *int           `json:"status"`  // null: no answer came
	Attempt     *int           `json:"attempt"` // null: a batch carried it
	Final       bool           `json:"final"`
	QueuedMS    *float64       `json:"queued_ms"`
	FirstByteMS *float64       `json:"first_byte_ms"`
	LatencyMS   *float64       `json:"latency_ms"`
	CostUSD     flotilla.Money `json:"cost_usd"`
	Input       int64          `json:"input_tokens"`
	Output      int64          `json:"output_tokens"`
	InDoubt     bool           `json:"in_doubt"`
	Why         *string        `json:"why"` // it waited, or did not succeed, and what comes of it
}

func newCallLog() *callLog { return &callLog{last: make([]ended, 0, recentKept)} }

func (l *callLog) observe(now time.Time, o *flotilla.Observation, s *flotilla.Snapshot) {
	e := ended{at: now, o: *o}
	if waited(o) {
		e.limit = waitingAt(o, s)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.add(o)
	if len(l.last) < recentKept {
		l.last = append(l.last, e)
		return
	}
	l.last[l.next] = e
	l.next = (l.next + 1) % recentKept
}

// json is the attempt as the API gives it.
func (e *ended) json() attempt {
	o := &e.o
	return attempt{
		At: e.at.UTC(), Client: some(o.Client), Priority: o.Priority.String(), Model: o.Model, Org: o.Org, Pool: o.Pool, Tier: o.Tier,
		Class: o.Class, Status: some(o.Status), Attempt: some(o.Attempt), Final: o.Final,
		QueuedMS: millis(o.Queued), FirstByteMS: millis(o.FirstByte), LatencyMS: millis(o.Latency), CostUSD: o.Cost,
		Input: o.Usage.Input, Output: o.Usage.Output, InDoubt: o.InDoubt, Why: some(why(o, e.limit)),
	}
}

func (c *callCounts) add(o *flotilla.Observation) {
	if o.Final || o.Class != "canceled" { // a row that was taken back from a batch was not tried in vain
		c.attempts++
	}
	c.cost += o.Cost
	if o.InDoubt || o.Estimated {
		c.estimated += o.Cost
	}
	if o.Final {
		c.calls++
		if o.Class == "succeeded" {
			c.succeeded++
		}
	}
	switch {
	case o.Class == "overloaded":
		c.overloaded++
	case slices.Contains(refusals[:], o.Class):
		c.refused++
	}
}

// waited says that a call was kept long enough that somebody may ask why. Of
// later attempts it is the failure before that says it.
func waited(o *flotilla.Observation) bool { return o.Queued >= longWait && o.Attempt == 1 }

// why says in words why a call waited, and what an attempt that failed came to;
// limit held its lane then.
func why(o *flotilla.Observation, limit string) string {
	text := ""
	if waited(o) {
		text = "waited " + seconds(o.Queued)
		if limit != "" {
			text += ", held back by " + job.LimitWords(limit)
		}
	}
	if o.Class == "succeeded" {
		return text
	}
	what := classWords(o.Class)
	switch {
	case o.Class == "canceled":
	case o.Final:
		what += "; given back to the caller"
	default:
		what += "; tried again"
	}
	if o.InDoubt {
		what += "; it may have been billed"
	}
	if text != "" {
		return text + "; " + what
	}
	return what
}

// waitingAt is the limit that held the attempt's lane at the last look.
func waitingAt(o *flotilla.Observation, s *flotilla.Snapshot) string {
	if s == nil {
		return ""
	}
	for i := range s.Lanes {
		if l := &s.Lanes[i]; l.Org == o.Org && l.Pool == o.Pool && l.Tier == o.Tier && l.Waiting != "work" {
			return l.Waiting
		}
	}
	return ""
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// newest lists the last attempts, newest first.
func (l *callLog) newest(limit int) []attempt {
	last := l.take(limit)
	out := make([]attempt, len(last))
	for i := range last {
		out[i] = last[i].json()
	}
	return out
}

// take copies the last attempts, newest first.
func (l *callLog) take(limit int) []ended {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.last)
	out := make([]ended, 0, min(limit, n))
	for i := range min(limit, n) {
		out = append(out, l.last[(l.next+n-1-i)%n])
	}
	return out
}

func (l *callLog) counted() callCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

func millis(d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	ms := float64(d.Microseconds()) / 1000
	return &ms
}

func (d *Dashboard) serveRecent(w http.ResponseWriter, r *http.Request) {
	limit, err := number(r, "limit", 200, 1, recentKept)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, d.calls.newest(limit))
}

// number reads a whole number of the query.
func number(r *http.Request, name string, otherwise, low, high int) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s is a whole number from %d to %d", name, low, high)
	}
	return n, nil
}
