package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// screen is as much of a terminal as the block needs: lines, a cursor, and
// wiping from the cursor on.
type screen struct {
	lines []string
	row   int
}

func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\r\x1b["):
			up := 0
			rest := strings.TrimPrefix(text, "\r\x1b[")
			for rest[0] >= '0' && rest[0] <= '9' {
				up, rest = up*10+int(rest[0]-'0'), rest[1:]
			}
			text = strings.TrimPrefix(strings.TrimPrefix(rest, "A"), "\x1b[J")
			s.row -= up
			s.lines = s.lines[:s.row]
		default:
			line, rest, ok := strings.Cut(text, "\n")
			s.lines = append(s.lines[:s.row], ansi.Strip(line))
			text = rest
			if ok {
				s.row++
			}
		}
	}
	return len(p), nil
}

func (s *screen) text() string { return strings.Join(s.lines, "\n") }

func fixed(w, h int) *terminal { return &terminal{size: func() (int, int) { return w, h }} }

func liveStanding() *standing {
	return &standing{
		at: noon, job: "7f3a", counts: counts{rows: 141600, done: 48210, spent: price.USD(101.22), errored: 2},
		rates: rates{calls: 8941, in: 3.4e6, out: 520e3}, cap: 310 * price.Dollar, limit: "100 per key", refuse: 1,
		lanes: []flotilla.LaneState{
			{Org: "high", Pool: "sonnet-4.x", InFlight: 100, Window: 100, Cap: 100, Waiting: "cap"},
			{Org: "batch", Pool: "sonnet-4.x", InFlight: 0, Window: 25, Closed: true, Class: "auth"},
		},
	}
}

func TestLiveBlockIsRedrawnInPlace(t *testing.T) {
	s := &screen{}
	v := newLiveView(s, fixed(120, 40), false)
	v.show(liveStanding())
	first := s.text()
	v.event(&event{text: "high: takes calls again"})
	v.show(liveStanding())
	if got, want := s.text(), "high: takes calls again\n"+first; got != want {
		t.Errorf("the screen is\n%s\nwant\n%s", got, want)
	}
	for _, want := range []string{
		"7f3a  48,210/141,600  34 %  ████████░░░", "limit: 100 per key",
		"8,940 calls/min  3.4 M in + 520 k out tokens/min  $101.22 of $310  1 rate-limited  2 errored",
		"high sonnet-4.x       100/100  100 per key",
		"org batch sonnet-4.x    0/25   its key is not accepted",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is not in the block:\n%s", want, first)
		}
	}
	v.end()
	if got := s.text(); got != "high: takes calls again" {
		t.Errorf("at the end the screen has %q", got)
	}
}

func TestLiveBlockFitsTheTerminal(t *testing.T) {
	var out bytes.Buffer
	v := newLiveView(&out, fixed(30, 5), true)
	v.show(liveStanding())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) > 4 {
		t.Errorf("%d lines in a terminal of 5", len(lines))
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > 29 {
			t.Errorf("a line of %d columns in a terminal of 30: %q", w, l)
		}
	}
}

// TestNarrowedTerminal sees that wrapped lines are wiped too.
func TestNarrowedTerminal(t *testing.T) {
	width := 100
	var out bytes.Buffer
	v := newLiveView(&out, &terminal{size: func() (int, int) { return width, 40 }}, false)
	v.show(liveStanding())
	widest := 0
	rows := 0
	for _, w := range v.drawn {
		widest = max(widest, w)
		rows += (w + 49) / 50
	}
	if widest <= 50 {
		t.Fatalf("the test needs a line over 50 columns, the widest has %d", widest)
	}
	width = 50
	if got := v.rows(width); got != rows {
		t.Errorf("%d rows are wiped, %d are taken", got, rows)
	}
}

func TestNoColorWritesNone(t *testing.T) {
	var out bytes.Buffer
	v := newLiveView(&out, fixed(120, 40), false)
	v.show(liveStanding())
	if strings.Contains(out.String(), "\x1b[") {
		t.Errorf("%q", out.String())
	}
}

func TestSharedLimitNamesNoOrg(t *testing.T) {
	lanes := []flotilla.LaneState{{Org: "high", Waiting: "ramp"}, {Org: "low", Waiting: "ramp"}, {Org: "batch", Waiting: "work", Closed: true}}
	if got := sharedText("ramp", &lanes[0], lanes); got != "warming up" {
		t.Errorf("all lanes: %q", got)
	}
	lanes[1].Waiting = "cap"
	if got := sharedText("ramp", &lanes[0], lanes); got != "high: warming up" {
		t.Errorf("one lane: %q", got)
	}
}
