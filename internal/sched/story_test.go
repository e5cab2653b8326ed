package sched

import (
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestStories plays the files of testdata: each begins with a sentence of
// purpose and goes on with events and what the core answers. Run with -rewrite
// to record the answers anew, then read the difference.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("stories: %v, %v", files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			datadriven.RunTest(t, path, (&story{t: t}).play)
		})
	}
}

// story reads the little language of testdata.
type story struct {
	t    *testing.T
	c    *Core
	now  time.Duration
	call CallID
	out  strings.Builder

	gathered []Gather // of the last event
	polled   []BatchID
	listed   []LaneID
}

func (s *story) play(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	s.out.Reset()
	if at := s.arg(d, "at", ""); at != "" {
		s.now = s.duration(at)
	}
	switch d.Cmd {
	case "core":
		s.core(d)
	case "until":
		s.until(s.duration(d.CmdArgs[0].Key))
	case "next":
		s.next()
	case "dones":
		for id := s.int(d, "from", 1); id <= s.int(d, "to", 0); id++ {
			s.now += time.Millisecond
			s.step(&Done{Attempt: AttemptID(id), Usage: Usage{Output: 20}, Cost: s.int(d, "cost", 0)})
		}
	case "still-running":
		s.seeRunning(d)
	case "gather-all":
		s.gatherAll()
	case "batches":
		s.batchViews()
	case "lanes", "streams", "ledgers":
		s.views(d.Cmd)
	default:
		s.gathered = s.gathered[:0]
		s.step(s.event(d))
	}
	if d.HasArg("quiet") {
		return fmt.Sprintf("%d lines\n", strings.Count(s.out.String(), "\n"))
	}
	if s.out.Len() == 0 {
		return "-\n"
	}
	return s.out.String()
}

func (s *story) core(d *datadriven.TestData) {
	cfg := Config{Seed: uint64(s.int(d, "seed", 1)), Hedge: d.HasArg("hedge")}
	cfg.BatchRows = s.int(d, "batch-rows", 0)
	cfg.MaxAttempts = int(s.int(d, "max-attempts", 0))
	cfg.Epoch = time.Date(2026, 11, 30, 9, 0, int(s.int(d, "second", 0)), 0, time.UTC)
	cfg.Ramp = map[string]RampMode{"": RampPolite, "fast": RampFast, "off": RampOff}[s.arg(d, "ramp", "")]
	cfg.Share = map[string]ShareMode{"": ShareDefault, "polite": SharePolite, "fair": ShareFair}[s.arg(d, "share", "")]
	s.c, s.now, s.call = New(cfg), 0, 0
}

func (s *story) step(ev Event) {
	acts := s.c.Step(s.now, ev)
	for i := 0; i < len(acts); i++ {
		if _, ok := acts[i].(*Persist); ok {
			i += s.sends(acts[i:]) - 1
			continue
		}
		s.print(acts[i])
	}
}

// sends prints a row of sends that follow each other in one line, and checks
// that each has its intent before it.
func (s *story) sends(acts []Action) int {
	first := acts[1].(*Send)
	n := 0
	for ; n+1 < len(acts); n += 2 {
		p, ok := acts[n].(*Persist)
		if !ok {
			break
		}
		a := acts[n+1].(*Send)
		if a.Attempt != p.Attempt || a.Call != p.Call || a.Lane != p.Lane {
			s.t.Fatalf("intent %+v before send %+v", *p, *a)
		}
		k := AttemptID(n / 2)
		if a.Attempt != first.Attempt+k || a.Call != first.Call+CallID(k) || a.Lane != first.Lane || a.Try != first.Try || a.Hedge != first.Hedge {
			break
		}
	}
	call, att := fmt.Sprintf("call %d", first.Call), fmt.Sprintf("attempt %d", first.Attempt)
	if m := n/2 - 1; m > 0 {
		call, att = fmt.Sprintf("calls %d-%d", first.Call, int(first.Call)+m), fmt.Sprintf("attempts %d-%d", first.Attempt, int(first.Attempt)+m)
	}
	fmt.Fprintf(&s.out, "%s send %s to lane %d, %s, try %d%s%s\n", when(s.now), call, first.Lane, att, first.Try,
		flag(first.Hedge, ", a hedge"), flag(first.Probe, ", a probe"))
	return n
}

// until lets ticks happen whenever Next asks for one.
func (s *story) until(end time.Duration) {
	for n := 0; s.c.Next() <= end; n++ {
		if n > 10_000 {
			s.t.Fatalf("still ticking at %v: %+v", s.now, s.c.Lanes())
		}
		s.now = s.c.Next()
		s.step(&Tick{})
	}
	s.now = end
}

func (s *story) next() {
	if n := s.c.Next(); n == Never {
		s.out.WriteString("never\n")
	} else {
		fmt.Fprintf(&s.out, "at %s\n", when(n))
	}
}

func when(d time.Duration) string { return d.Round(time.Millisecond).String() }

var noteNames = [NumNotes]string{
	"parked", "reopened", "colleague", "ramp", "window", "rate", "brake", "reserve", "ceiling", "daily-learned",
	"stalled", "proceeds",
}

var classNames = [NumClasses]string{
	"invalid", "limited", "acceleration", "concurrency", "daily", "spend", "auth", "permission", "credit", "hold",
	"no-model", "queue-full", "overloaded", "server", "conflict", "504",
}

var outcomeNames = [NumOutcomes]string{"succeeded", "errored", "canceled", "over-budget", "unroutable"}

var failureNames = []string{"not-sent", "reused-reset", "reset", "timeout", "cut", "stream-error", "aborted"}

var dimNames = [NumDims]string{"req", "in", "out", "tok"}

var limitWords = [NumLimits]string{
	"none", "work", "latency", "rpm", "itpm", "otpm", "tpm", "tpd", "cap", "little", "ramp", "aimd", "overload", "retry_after",
	"retry_budget", "acceleration", "concurrency", "hidden", "hard_floor", "soft_floor", "budget", "batch_queue", "batch_rpm",
}

func (s *story) print(a Action) {
	w := &s.out
	switch a := a.(type) {
	case *Abort:
		fmt.Fprintf(w, "%s abort attempt %d\n", when(s.now), a.Attempt)
	case *Settle:
		fmt.Fprintf(w, "%s settle call %d %s by attempt %d, %d made, cost %d%s\n", when(s.now), a.Call,
			outcomeNames[a.Outcome], a.Attempt, a.Attempts, a.Cost, flag(a.InDoubt > 0, fmt.Sprintf(", %d in doubt", a.InDoubt)))
	case *Want:
		fmt.Fprintf(w, "%s want %d more in ledger %d\n", when(s.now), a.Nanos, a.Ledger)
	case *Note:
		fmt.Fprintf(w, "%s note lane %d %s %s %s %.4g%s\n", when(s.now), a.Lane, noteNames[a.Kind], classNames[a.Class], dimNames[a.Dim], a.Value, until(a.Until))
	default:
		s.printBatch(a)
	}
}

func until(t time.Duration) string {
	switch t {
	case 0:
		return ""
	case Never:
		return " until a person acts"
	}
	return " until " + when(t)
}

func flag(on bool, s string) string {
	if on {
		return s
	}
	return ""
}

func (s *story) event(d *datadriven.TestData) Event {
	switch d.Cmd {
	case "tick":
		return &Tick{}
	case "lane":
		return s.lane(d)
	case "stream":
		return s.stream(d)
	case "ledger":
		return &AddLedger{Ledger: Ledger{Limit: s.int(d, "limit", -1), Spent: s.int(d, "spent", 0), Final: d.HasArg("final")}}
	case "offer":
		return s.offer(d)
	case "exhausted":
		return &Exhausted{Stream: StreamID(s.int(d, "stream", 0))}
	case "headers":
		return &Headers{Attempt: s.attempt(d), Reading: s.reading(d)}
	case "progress":
		return &Progress{Attempt: s.attempt(d), Out: s.int(d, "out", 0)}
	case "done":
		return &Done{
			Attempt: s.attempt(d), Reading: s.reading(d), Cost: s.int(d, "cost", 0),
			Usage: Usage{Input: s.int(d, "input", 0), Output: s.int(d, "output", 0)},
		}
	case "refused":
		return &Refused{Attempt: s.attempt(d), Reading: s.reading(d), Cost: s.int(d, "cost", 0), Refusal: s.refusal(d)}
	case "failed":
		return &Failed{Attempt: s.attempt(d), Reading: s.reading(d), Failure: Failure(s.word(failureNames, s.arg(d, "how", "")))}
	}
	return s.rare(d)
}

func (s *story) rare(d *datadriven.TestData) Event {
	switch d.Cmd {
	case "withdraw":
		return &Withdraw{Call: CallID(s.number(d.CmdArgs[0].Key))}
	case "close":
		return &CloseStream{Stream: StreamID(s.int(d, "stream", 0))}
	case "pause", "resume":
		if d.HasArg("lane") {
			return &PauseLane{Lane: LaneID(s.int(d, "lane", 0)), Paused: d.Cmd == "pause"}
		}
		return &PauseStream{Stream: StreamID(s.int(d, "stream", 0)), Paused: d.Cmd == "pause"}
	case "learn":
		return &Learn{Lane: LaneID(s.int(d, "lane", 0)), PerMinute: s.limits(d), TokensPerDay: s.int(d, "tpd", 0)}
	case "cap":
		return &SetCap{Group: int32(s.int(d, "group", 0)), Cap: int(s.number(d.CmdArgs[0].Key))}
	case "set-ledger":
		return &SetLedger{Ledger: LedgerID(s.int(d, "ledger", 0)), Limit: s.int(d, "limit", 0)}
	case "woke":
		return &Woke{}
	}
	return s.batchEvent(d)
}

func (s *story) lane(d *datadriven.TestData) Event {
	return &AddLane{Lane: LaneConfig{
		Org: s.arg(d, "org", "high"), Pool: s.arg(d, "pool", "p"), Group: int32(s.int(d, "group", 0)),
		Cap: int(s.int(d, "cap", 100)), PerMinute: s.limits(d), TokensPerDay: s.int(d, "tpd", 0),
		HintRamp: float64(s.int(d, "hint-ramp", 0)), HintWindow: float64(s.int(d, "hint-window", 0)),
	}}
}

func (s *story) limits(d *datadriven.TestData) (l [NumDims]float64) {
	for i, name := range []string{"rpm", "itpm", "otpm", "tpm"} {
		l[i] = float64(s.int(d, name, 0))
	}
	return l
}

func (s *story) stream(d *datadriven.TestData) Event {
	cfg := StreamConfig{N: s.int(d, "n", 0), Weight: float64(s.int(d, "weight", 0)), Route: s.route(d)}
	cfg.Priority = map[string]Priority{"": Bulk, "normal": Normal, "interactive": Interactive}[s.arg(d, "priority", "")]
	if d.HasArg("ledger") {
		cfg.Ledgers = []LedgerID{LedgerID(s.int(d, "ledger", 0))}
	}
	if at := s.arg(d, "deadline", ""); at != "" {
		cfg.Deadline = s.duration(at)
	}
	return &AddStream{Stream: cfg}
}

func (s *story) offer(d *datadriven.TestData) Event {
	calls := make([]Call, s.int(d, "n", 1))
	for i := range calls {
		s.call++
		calls[i] = Call{
			ID: s.call, Stream: StreamID(s.int(d, "stream", 0)), Pool: s.c.Pool(s.arg(d, "pool", "p")),
			Model: int32(s.int(d, "model", 0)), In: int32(s.int(d, "input", 100)), MaxOut: int32(s.int(d, "max", 100)),
			Out: int32(s.int(d, "output", 20)), Worst: s.int(d, "worst", 10), InDoubt: d.HasArg("in-doubt"),
			Failed: int32(s.int(d, "failed", 0)),
		}
	}
	return &Offer{Calls: calls}
}

// reading takes req=remaining/limit/seconds-to-full and the like.
func (s *story) reading(d *datadriven.TestData) (rd Reading) {
	for i, name := range dimNames {
		v := s.arg(d, name, "")
		if v == "" {
			continue
		}
		f := strings.Split(v, "/")
		rd.Known |= 1 << i
		rd.Remaining[i], rd.Limit[i] = float64(s.number(f[0])), float64(s.number(f[1]))
		if len(f) > 2 {
			rd.ResetIn[i] = time.Duration(s.number(f[2])) * time.Second
		}
	}
	return rd
}

func (s *story) refusal(d *datadriven.TestData) (r Refusal) {
	r.Class = Class(s.word(classNames[:], s.arg(d, "class", "limited")))
	if after := s.arg(d, "after", ""); after != "" {
		r.RetryAfter = s.duration(after)
	}
	if dim := s.arg(d, "dim", ""); dim != "" {
		r.Named, r.Dim = true, Dim(s.word(dimNames[:], dim))
	}
	if at := s.arg(d, "reopens", ""); at != "" {
		r.ReopensAt = s.duration(at)
	}
	r.CeilingNow, r.CeilingNext = float64(s.int(d, "now", 0)), float64(s.int(d, "next", 0))
	return r
}

func (s *story) views(what string) {
	switch what {
	case "lanes":
		for i, v := range s.c.Lanes() {
			fmt.Fprintf(&s.out, "%d %s: %d in flight, window %.4g, waits for %s%s\n", i, v.Org, v.InFlight, v.Window,
				limitWords[v.Waiting], flag(v.Closed, ", closed for "+classNames[v.Class]+until(v.Reopens)))
			s.clocks(&v)
		}
	case "streams":
		for i := range s.c.nextID {
			v := s.c.Stream(StreamID(i))
			fmt.Fprintf(&s.out, "%d: %d queued, %d in flight, waits for %s%s%s\n", i, v.Queued, v.InFlight, limitWords[v.Waiting],
				flag(v.BudgetBound, fmt.Sprintf(", stopped by ledger %d", v.Ledger)), flag(v.AllClosed, ", all lanes closed"+until(v.Reopens)))
		}
	case "ledgers":
		for i := range s.c.ledgers {
			limit, spent, reserved := s.c.Ledger(LedgerID(i))
			fmt.Fprintf(&s.out, "%d: %d spent and %d reserved of %d\n", i, spent, reserved, limit)
		}
	}
}

func (s *story) clocks(v *LaneView) {
	var parts []string
	for k, d := range v.Clocks {
		if d > 0 {
			parts = append(parts, limitWords[k]+" "+when(d))
		}
	}
	sort.Strings(parts)
	if len(parts) > 0 {
		fmt.Fprintf(&s.out, "  %s\n", strings.Join(parts, ", "))
	}
}

func (s *story) attempt(d *datadriven.TestData) AttemptID {
	return AttemptID(s.number(d.CmdArgs[0].Key))
}

func (s *story) arg(d *datadriven.TestData, key, def string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return def
}

func (s *story) int(d *datadriven.TestData, key string, def int64) int64 {
	if v := s.arg(d, key, ""); v != "" {
		return s.number(v)
	}
	return def
}

func (s *story) number(v string) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		s.t.Fatalf("%q is no number", v)
	}
	return n
}

func (s *story) duration(v string) time.Duration {
	d, err := time.ParseDuration(v)
	if err != nil {
		s.t.Fatalf("%q is no duration", v)
	}
	return d
}

func (s *story) word(words []string, v string) int {
	for i, w := range words {
		if w == v {
			return i
		}
	}
	s.t.Fatalf("%q is none of %v", v, words)
	return 0
}
