package sched

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// logLine is one (time, event) pair of a log, as a line of JSON.
type logLine struct {
	Now   time.Duration   `json:"t"`
	Kind  string          `json:"k"`
	Event json.RawMessage `json:"e,omitempty"`
}

var eventKinds = map[string]func() Event{
	"tick":         func() Event { return new(Tick) },
	"add_lane":     func() Event { return new(AddLane) },
	"add_stream":   func() Event { return new(AddStream) },
	"add_ledger":   func() Event { return new(AddLedger) },
	"offer":        func() Event { return new(Offer) },
	"exhausted":    func() Event { return new(Exhausted) },
	"withdraw":     func() Event { return new(Withdraw) },
	"close_stream": func() Event { return new(CloseStream) },
	"pause_stream": func() Event { return new(PauseStream) },
	"pause_lane":   func() Event { return new(PauseLane) },
	"headers":      func() Event { return new(Headers) },
	"progress":     func() Event { return new(Progress) },
	"done":         func() Event { return new(Done) },
	"refused":      func() Event { return new(Refused) },
	"failed":       func() Event { return new(Failed) },
	"learn":        func() Event { return new(Learn) },
	"set_cap":      func() Event { return new(SetCap) },
	"set_ledger":   func() Event { return new(SetLedger) },
	"woke":         func() Event { return new(Woke) },

	"set_route":         func() Event { return new(SetRoute) },
	"backlog":           func() Event { return new(Backlog) },
	"gathered":          func() Event { return new(Gathered) },
	"batch_created":     func() Event { return new(BatchCreated) },
	"batch_refused":     func() Event { return new(BatchRefused) },
	"batch_failed":      func() Event { return new(BatchFailed) },
	"batch_absent":      func() Event { return new(BatchAbsent) },
	"batch_polled":      func() Event { return new(BatchPolled) },
	"batch_collected":   func() Event { return new(BatchCollected) },
	"batch_uncollected": func() Event { return new(BatchUncollected) },
	"adopt_batch":       func() Event { return new(AdoptBatch) },
	"queue_seen":        func() Event { return new(QueueSeen) },
}

func kindOf(ev Event) string {
	switch ev.(type) {
	case *Tick:
		return "tick"
	case *AddLane:
		return "add_lane"
	case *AddStream:
		return "add_stream"
	case *AddLedger:
		return "add_ledger"
	case *Offer:
		return "offer"
	case *Exhausted:
		return "exhausted"
	case *Withdraw:
		return "withdraw"
	case *CloseStream:
		return "close_stream"
	case *PauseStream:
		return "pause_stream"
	case *PauseLane:
		return "pause_lane"
	case *Headers:
		return "headers"
	case *Progress:
		return "progress"
	case *Done:
		return "done"
	case *Refused:
		return "refused"
	case *Failed:
		return "failed"
	case *Learn:
		return "learn"
	case *SetCap:
		return "set_cap"
	case *SetLedger:
		return "set_ledger"
	case *Woke:
		return "woke"
	}
	return batchKindOf(ev)
}

// AppendEvent appends a (time, event) pair to b as a line of JSON.
func AppendEvent(b []byte, now time.Duration, ev Event) ([]byte, error) {
	body, err := json.Marshal(ev)
	if err != nil {
		return b, fmt.Errorf("writing event %T: %w", ev, err)
	}
	line, err := json.Marshal(logLine{Now: now, Kind: kindOf(ev), Event: body})
	if err != nil {
		return b, fmt.Errorf("writing event %T: %w", ev, err)
	}
	return append(append(b, line...), '\n'), nil
}

// DecodeEvent reads a line that AppendEvent wrote.
func DecodeEvent(line []byte) (time.Duration, Event, error) {
	var l logLine
	if err := json.Unmarshal(line, &l); err != nil {
		return 0, nil, fmt.Errorf("reading an event: %w", err)
	}
	make, ok := eventKinds[l.Kind]
	if !ok {
		return 0, nil, fmt.Errorf("reading an event: there is no kind %q", l.Kind)
	}
	ev := make()
	if len(l.Event) > 0 {
		if err := json.Unmarshal(l.Event, ev); err != nil {
			return 0, nil, fmt.Errorf("reading event %q: %w", l.Kind, err)
		}
	}
	return l.Now, ev, nil
}

// Replay feeds a log to a fresh core and tells each what it did. The events
// that name pools by number (Offer) rely on the pools having been interned in
// the same order: the log of a run whose pools first appeared in AddLane
// replays as it is.
func Replay(cfg Config, log io.Reader, each func(now time.Duration, ev Event, acts []Action) error) (*Core, error) {
	c := New(cfg)
	r := bufio.NewReader(log)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			now, ev, err := DecodeEvent(line)
			if err != nil {
				return c, fmt.Errorf("line %d of the event log: %w", n, err)
			}
			if err := each(now, ev, c.Step(now, ev)); err != nil {
				return c, err
			}
		}
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return c, fmt.Errorf("reading the event log: %w", err)
		}
	}
}

// AppendActions appends the actions of one Step to b, each as a line of JSON
// with its time and kind, for traces and comparisons.
func AppendActions(b []byte, now time.Duration, acts []Action) ([]byte, error) {
	for _, a := range acts {
		line, err := json.Marshal(struct {
			Now    time.Duration `json:"t"`
			Kind   string        `json:"k"`
			Action Action        `json:"a"`
		}{now, actionKind(a), a})
		if err != nil {
			return b, fmt.Errorf("writing action %T: %w", a, err)
		}
		b = append(append(b, line...), '\n')
	}
	return b, nil
}

func actionKind(a Action) string {
	switch a.(type) {
	case *Persist:
		return "persist"
	case *Send:
		return "send"
	case *Abort:
		return "abort"
	case *Settle:
		return "settle"
	case *Want:
		return "want"
	case *Note:
		return "note"
	}
	return batchActionKind(a)
}
