package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// lockedWriter lets progress, warnings and the job write lines to one stream.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// view picks how to show progress. A live block takes the place of standard
// error, so that warnings stay above it; where results go onto the same
// terminal, plain lines disturb less.
func (r *runner) view() (view, bool) {
	t := r.errTerminal
	mode := r.flags.progress
	if mode == progressAuto && r.flags.output == "" && terminalOf(r.out) != nil {
		mode = progressPlain
	}
	if mode == progressTTY && t == nil {
		warn(r.err, "--progress tty: standard error is no terminal")
		mode = progressPlain
	}
	v, live := newView(mode, r.err, t, r.settings.Env.colors(t))
	if lv, ok := v.(*liveView); ok {
		r.err = lv
	}
	return v, live
}

// span is a duration to what matters of it.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
