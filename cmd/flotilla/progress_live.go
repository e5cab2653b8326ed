package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// liveView is a block of lines at the foot of a terminal, redrawn in place. It
// reads nothing from the terminal and changes none of its modes, so that Ctrl-C
// is what it always is; a "^C" that the terminal echoes is wiped by the next
// drawing.
type liveView struct {
	w     io.Writer
	term  *terminal
	style styles

	mu    sync.Mutex
	drawn []int // widths of the lines on the screen
	last  *standing
}

func newLiveView(w io.Writer, t *terminal, color bool) *liveView {
	return &liveView{w: w, term: t, style: newStyles(color)}
}

// styles are the few ways in which the block sets text apart.
type styles struct{ strong, faint, warn lipgloss.Style }

func newStyles(color bool) styles {
	s := styles{strong: lipgloss.NewStyle(), faint: lipgloss.NewStyle(), warn: lipgloss.NewStyle()}
	if color {
		s.strong = s.strong.Bold(true)
		s.faint = s.faint.Faint(true)
		s.warn = s.warn.Foreground(lipgloss.Yellow)
	}
	return s
}

func (v *liveView) show(s *standing) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = s
	v.draw("")
}

// event goes above the block and stays.
func (v *liveView) event(e *event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.draw(e.text + "\n")
}

// end takes the block away.
func (v *liveView) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = nil
	v.draw("")
}

// Write puts text above the block: whole lines, from whoever else writes to
// this terminal.
func (v *liveView) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.draw(string(p))
	return len(p), nil
}

// draw writes everything in one piece: wipe the block, the text above it, the
// block anew.
func (v *liveView) draw(above string) {
	var b strings.Builder
	width, height := v.term.size()
	if up := v.rows(width); up > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA\x1b[J", up)
	}
	b.WriteString(above)
	v.drawn = v.drawn[:0]
	if v.last != nil {
		for _, line := range v.lines(v.last, width, height) {
			// One column less than there is, so that no terminal wraps it.
			line = ansi.Truncate(line, max(width-1, 1), "…")
			v.drawn = append(v.drawn, ansi.StringWidth(line))
			b.WriteString(line + "\n")
		}
	}
	if b.Len() > 0 {
		_, _ = io.WriteString(v.w, b.String())
	}
}

// rows is how many rows of the screen the block takes now: a terminal that was
// made narrower has wrapped its lines.
func (v *liveView) rows(width int) int {
	n := 0
	for _, w := range v.drawn {
		n += max(1, (w+width-1)/width)
	}
	return n
}

// lines is the block. What does not fit on the screen is left out, lanes first.
func (v *liveView) lines(s *standing, width, height int) []string {
	out := []string{v.head(s, width), v.flow(s)}
	name := 0
	for i := range s.lanes {
		name = max(name, len(laneTitle(&s.lanes[i])))
	}
	for i := range s.lanes {
		if len(out) >= height-2 {
			break
		}
		out = append(out, v.lane(&s.lanes[i], name))
	}
	return out
}

// barWidth is the width of the bar in a terminal that has room for it.
const barWidth = 24

func (v *liveView) head(s *standing, width int) string {
	text := fmt.Sprintf("%s  %s/%s  %s", v.style.strong.Render(s.job), whole(s.counts.done), whole(s.counts.rows), s.percent())
	if width >= 100 && s.counts.rows > 0 {
		full := barWidth * s.counts.done / s.counts.rows
		text += "  " + strings.Repeat("█", full) + v.style.faint.Render(strings.Repeat("░", barWidth-full))
	}
	if !s.eta.IsZero() {
		text += "  ETA " + clockTime(s.eta, s.at)
	}
	if s.limit != "" {
		text += "  limit: " + s.limit
	}
	return text
}

func (v *liveView) flow(s *standing) string {
	text := fmt.Sprintf("  %s calls/min  %s in + %s out tokens/min  %s", whole(int(round(s.rates.calls))), brief(s.rates.in), brief(s.rates.out), s.money())
	if at := s.batches.text(); at != "" {
		text += "  " + at
	}
	for _, bad := range []struct {
		n    int64
		what string
	}{{s.refuse, "rate-limited"}, {s.over, "overloaded"}, {int64(s.counts.errored), "errored"}} {
		if bad.n > 0 {
			text += "  " + v.style.warn.Render(fmt.Sprintf("%s %s", whole(int(bad.n)), bad.what))
		}
	}
	return text
}

// laneTitle names a lane; those of the sync tier need no tier.
func laneTitle(l *flotilla.LaneState) string {
	text := title(l.Org) + " " + l.Pool
	if l.Tier == tierNameBatch {
		text += " batches"
	}
	return text
}

func (v *liveView) lane(l *flotilla.LaneState, name int) string {
	text := fmt.Sprintf("  %-*s %4d/%-4.0f ", name, laneTitle(l), l.InFlight, l.Window)
	if l.Closed {
		why := job.ClosedWords(l.Class)
		if !l.Reopens.IsZero() {
			why += ", until about " + l.Reopens.Local().Format("15:04")
		}
		return text + v.style.warn.Render(why)
	}
	what := strings.TrimPrefix(limitText(l.Waiting, l), title(l.Org)+": ")
	if l.Tier == tierNameBatch {
		what = joined("; ", queueText(l), what)
	}
	return text + v.style.faint.Render(what)
}

// queueText is what is in the batch queue of a lane's org; empty: nothing is.
func queueText(l *flotilla.LaneState) string {
	if l.Queued+l.QueuedByOthers == 0 {
		return ""
	}
	text := whole(int(l.Queued+l.QueuedByOthers)) + " rows queued"
	if l.QueuedByOthers > 0 {
		text += fmt.Sprintf(", %s of others", whole(int(l.QueuedByOthers)))
	}
	return text
}
