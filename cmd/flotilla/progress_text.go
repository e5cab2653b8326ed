package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
)

// standing is a job as it stands, ready to be shown.
type standing struct {
	at      time.Time
	job     string
	counts  counts
	cap     flotilla.Money // on the job; 0: none
	rates   rates
	eta     time.Time // zero: unknown
	limit   string    // what binds, for people
	bound   holder    // the same for programs
	lanes   []flotilla.LaneState
	batches inBatches
	refuse  int64 // attempts that limits refused, in this run
	over    int64 // attempts that met an overloaded provider
}

// line is the plain form (interface.md, "Texts").
func (s *standing) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s/%s %s", isoTime(s.at), s.job, whole(s.counts.done), whole(s.counts.rows), s.percent())
	if s.rates.calls > 0 {
		fmt.Fprintf(&b, "  %s/min", whole(int(round(s.rates.calls))))
	}
	if text := s.batches.text(); text != "" {
		fmt.Fprintf(&b, "  %s", text)
	}
	fmt.Fprintf(&b, "  %s", s.money())
	fmt.Fprintf(&b, "  %s rate-limited", whole(int(s.refuse)))
	if s.over > 0 {
		fmt.Fprintf(&b, "  %s overloaded", whole(int(s.over)))
	}
	if s.counts.errored > 0 {
		fmt.Fprintf(&b, "  %s errored", whole(s.counts.errored))
	}
	if !s.eta.IsZero() {
		fmt.Fprintf(&b, "  ETA %s", clockTime(s.eta, s.at))
	}
	if s.limit != "" {
		fmt.Fprintf(&b, "  limit: %s", s.limit)
	}
	return b.String()
}

func (s *standing) percent() string {
	if s.counts.rows == 0 {
		return "100 %"
	}
	// Down, so that 100 % is said of a whole job alone.
	return fmt.Sprintf("%d %%", 100*int64(s.counts.done)/int64(s.counts.rows))
}

func (s *standing) money() string {
	if s.cap > 0 {
		return fmt.Sprintf("%s of %s", s.counts.spent, dollars(s.cap))
	}
	return s.counts.spent.String()
}

// dollars leaves out cents that are none: "$310".
func dollars(m flotilla.Money) string { return strings.TrimSuffix(m.String(), ".00") }

// isoTime is local time to the second, without its zone.
func isoTime(t time.Time) string { return t.Local().Format("2006-01-02T15:04:05") }

// clockTime is the time of the day, with the day where it is another one.
func clockTime(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04")
	}
	return t.Format("Jan 2 15:04")
}

// whole is a whole number with separators.
func whole(n int) string {
	digits, sign := strconv.Itoa(n), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// brief is a number of tokens in few characters: 950, 12 k, 3.4 M.
func brief(v float64) string {
	switch {
	case v >= 9.95e6:
		return fmt.Sprintf("%.0f M", v/1e6)
	case v >= 1e6:
		return fmt.Sprintf("%.1f M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0f k", v/1e3)
	}
	return strconv.Itoa(int(math.Round(v)))
}

// title is how texts name an org: "batch" is a tier too.
func title(org string) string { return flotilla.Org{Name: org}.Title() }

// limitText says what a limit is, for people, and whose.
func limitText(limit string, l *flotilla.LaneState) string {
	org := title(l.Org)
	switch limit {
	case "retry_after":
		if l.Closed {
			return fmt.Sprintf("%s: %s", org, job.ClosedWords(l.Class))
		}
	case "overload":
		if l.Overloaded == 0 { // 5xx, pages of a proxy, broken connections
			return "trouble on the way (5xx, resets)"
		}
	case "cap":
		return fmt.Sprintf("%d per key", l.Cap)
	case "rpm":
		return fmt.Sprintf("%s: %s requests/min", org, count(l.Limits.Requests))
	case "itpm":
		return fmt.Sprintf("%s: %s input tokens/min", org, count(l.Limits.Input))
	case "otpm":
		return fmt.Sprintf("%s: %s output tokens/min", org, count(l.Limits.Output))
	case "tpm":
		return org + ": tokens/min of its workspace"
	case "aimd":
		if l.Tier == tierNameBatch { // nothing was refused: it opens with each that ends in time
			return org + ": our window of batches"
		}
	case "":
		return ""
	}
	if text := limitTexts[limit]; text != "" {
		return strings.ReplaceAll(text, "ORG", org)
	}
	return org + ": " + limit
}

// sharedText leaves out whose limit it is where every open lane waits for its
// own of that kind.
func sharedText(limit string, l *flotilla.LaneState, lanes []flotilla.LaneState) string {
	text := limitText(limit, l)
	if len(lanes) < 2 || limitTexts[limit] == "" {
		return text
	}
	for i := range lanes {
		if !lanes[i].Closed && lanes[i].Waiting != limit {
			return text
		}
	}
	return strings.TrimPrefix(text, title(l.Org)+": ")
}

// closedText says that no lane takes calls, and why where all have one reason;
// empty: some lane does.
func closedText(lanes []flotilla.LaneState) string {
	for i := range lanes {
		if !lanes[i].Closed {
			return ""
		}
	}
	if len(lanes) == 0 {
		return ""
	}
	for i := range lanes {
		if lanes[i].Class != lanes[0].Class {
			return "every lane is closed"
		}
	}
	return fmt.Sprintf("every lane is closed, %s", job.ClosedWords(lanes[0].Class))
}

// limitTexts are the limits that have no figure to tell.
var limitTexts = map[string]string{
	"tpd":          "ORG: tokens of a day",
	"little":       "ORG: its limits are met with fewer calls",
	"ramp":         "ORG: warming up",
	"aimd":         "ORG: backing off after a 429",
	"overload":     "Anthropic overloaded (529)",
	"retry_after":  "ORG: told to wait",
	"retry_budget": "retries of the last minute",
	"acceleration": "ORG: acceleration limit",
	"concurrency":  "ORG: concurrent connections",
	"hidden":       "ORG: a limit its headers do not show",
	"hard_floor":   "ORG: what is left is for others",
	"soft_floor":   "ORG: keeps room for others",
	"budget":       "the cap on money",
	"batch_queue":  "ORG: its batch queue is full",
	"batch_rpm":    "ORG: batch requests/min",
	"work":         "every row is started",
	"latency":      "time an answer takes",
}

// dimTexts are what colleagues use, by Notice.Limit.
var dimTexts = map[string]string{"rpm": "requests", "itpm": "input tokens", "otpm": "output tokens", "tpm": "tokens"}

// noticeText is a Notice for people; empty: not worth a line.
func noticeText(n *flotilla.Notice) string {
	org := title(n.Org)
	switch n.Kind {
	case flotilla.LaneParked:
		why := job.ClosedWords(n.Class)
		if n.Until.IsZero() {
			return fmt.Sprintf("%s: parked, %s", org, why)
		}
		return fmt.Sprintf("%s: parked until about %s, %s", org, clockTime(n.Until, n.At), why)
	case flotilla.LaneReopened:
		return fmt.Sprintf("%s: takes calls again", org)
	case flotilla.ColleagueSeen:
		if n.Value < 0.05 {
			return fmt.Sprintf("%s: others no longer use %s", org, cmp.Or(dimTexts[n.Limit], "it"))
		}
		return fmt.Sprintf("%s: others now use ~%.0f %% of %s", org, 100*n.Value, cmp.Or(dimTexts[n.Limit], "it"))
	case flotilla.CeilingChosen:
		if n.Value < 1 {
			return fmt.Sprintf("%s: other flotilla processes hold every call that may be in flight (%s); they give up a share", org, n.Pool)
		}
		return fmt.Sprintf("%s: at most %.0f calls in flight (%s)", org, n.Value, n.Pool)
	case flotilla.WindowChanged:
		return fmt.Sprintf("%s: %s; now at most %.0f in flight", org, job.ClosedWords(n.Class), n.Value)
	case flotilla.DailyLearned:
		return fmt.Sprintf("%s: gives about %s tokens a day", org, brief(n.Value))
	case flotilla.MachineSlept:
		return "this machine slept: connections are made anew, the deadline stays"
	case flotilla.StoreFailed:
		return "the journal cannot be written: nothing more is sent"
	case flotilla.UsageBeyond:
		return fmt.Sprintf("%s: an answer says that it used tokens for $%.2f, more than its request can cost: its worst case is booked", org, n.Value)
	}
	return batchNoticeText(n)
}
