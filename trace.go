package flotilla

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// tracer writes what the core was told and what it decided, as JSON lines: one
// with the configuration, then each event (member "e") followed by the actions
// it led to (member "a"). The events alone, fed to a fresh core, give the same
// actions (sched.Replay).
type tracer struct {
	w   *bufio.Writer
	buf []byte
	err error // the trace is given up after it: a run must not fail for its trace
}

// newTracer begins a trace; nil where w is.
func newTracer(w io.Writer, cfg sched.Config) *tracer {
	if w == nil {
		return nil
	}
	t := &tracer{w: bufio.NewWriterSize(w, 64<<10)}
	line, err := json.Marshal(struct {
		Kind   string       `json:"k"`
		Config sched.Config `json:"c"`
	}{"config", cfg})
	t.err = err
	t.write(append(line, '\n'))
	return t
}

// event records what the core is about to be told.
func (t *tracer) event(now time.Duration, ev sched.Event) {
	if t == nil || t.err != nil {
		return
	}
	t.buf, t.err = sched.AppendEvent(t.buf[:0], now, ev)
	t.write(t.buf)
}

// actions records what it answered.
func (t *tracer) actions(now time.Duration, actions []sched.Action) {
	if t == nil || t.err != nil || len(actions) == 0 {
		return
	}
	t.buf, t.err = sched.AppendActions(t.buf[:0], now, actions)
	t.write(t.buf)
}

func (t *tracer) write(b []byte) {
	if t.err == nil {
		_, t.err = t.w.Write(b)
	}
}

func (t *tracer) close() {
	if t != nil && t.err == nil {
		t.err = t.w.Flush()
	}
}
