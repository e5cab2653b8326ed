package job

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// BindingTable is what the time of a run goes into, with whose it is to change
// and what one step more would save, as the summary has it and as a table for
// people. Of the report it reads Binding, Lanes, Closed and Cause.
func BindingTable(r *flotilla.Report) ([]BindingSummary, string) {
	lines := bindings(r)
	return lines, bindingText(lines)
}

// bindings is what the waiting was for, a line a lane and limit.
func bindings(r *flotilla.Report) []BindingSummary {
	overloaded := 0
	for i := range r.Lanes {
		overloaded += r.Lanes[i].Overloaded
	}
	out := []BindingSummary{}
	for _, b := range r.Binding {
		line := BindingSummary{Limit: b.Limit, Org: b.Org, Pool: b.Pool, Tier: b.Tier, Share: b.Share, Whose: whose(b.Limit)}
		for _, l := range r.Lanes {
			if b.Limit == "cap" && l.Org == b.Org && l.Pool == b.Pool && l.Tier == b.Tier {
				line.value = l.Cap
			}
		}
		if step := b.OneStep; step != nil {
			line.OneStepMore = oneStepMore(b.Limit, step)
			if b.Limit != "cap" { // a provider's limit is doubled by a step
				line.value = int(step.Value / 2)
			}
		}
		switch {
		case b.Limit == "overload" && overloaded == 0:
			line.words = "trouble on the way (5xx, resets)"
		case b.Limit == "aimd" && b.Tier == "batch":
			line.words, line.Whose = "our window of batches (it grows)", "nobody"
		case b.Limit == "work" && r.Cause == flotilla.CapReached:
			line.words, line.Whose = ourLimits["budget"], whose("budget") // rows are left, and nothing may be spent on them
		case b.Limit == "retry_after":
			if why := closedFor(r, b.Org, b.Pool); why != "" {
				line.words, line.Whose = title(b.Org)+": "+why, "yours"
			}
		}
		out = append(out, line)
	}
	return out
}

// oneStepMore is "150: −4.1 min".
func oneStepMore(limit string, step *flotilla.OneStep) string {
	what := grouped(int(step.Value))
	if limit == "ramp" {
		what = "--ramp fast"
	}
	return what + ": " + saving(step.Saves)
}

func saving(d time.Duration) string {
	switch {
	case d < 500*time.Millisecond:
		return "nothing"
	case d < time.Minute:
		return fmt.Sprintf("−%.0f s", math.Round(d.Seconds()))
	}
	return fmt.Sprintf("−%.1f min", d.Minutes())
}

// bindingText is the table of interface.md, "Texts": what the waiting was for.
// Lanes that wait for the same thing share a line.
func bindingText(all []BindingSummary) string {
	type line struct {
		BindingSummary
		words string
	}
	var lines []line
	for _, l := range all {
		words := limitWords(&l)
		i := slices.IndexFunc(lines, func(o line) bool { return o.words == words && o.Whose == l.Whose })
		if i < 0 {
			lines = append(lines, line{l, words})
			continue
		}
		lines[i].Share += l.Share
		lines[i].OneStepMore = cmp.Or(lines[i].OneStepMore, l.OneStepMore)
	}
	lines = slices.DeleteFunc(lines, func(l line) bool { return l.Share < 0.005 })
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.Share, a.Share) })
	width := len("share of waiting                      ")
	for _, l := range lines {
		width = max(width, len("71 %  ")+len(l.words))
	}
	row := func(share, whose, step string) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s %-22s %s", width, share, whose, step), " ") + "\n")
	}
	row("share of waiting", "whose to change", "one step more")
	for _, l := range lines {
		row(fmt.Sprintf("%2.0f %%  %s", 100*l.Share, l.words), l.Whose, l.OneStepMore)
	}
	return b.String()
}

// LimitWords names a limit of interface.md ("Output") for people, as the table
// of [BindingTable] does where it knows no number; one it does not know is its
// name.
func LimitWords(limit string) string { return limitWords(&BindingSummary{Limit: limit}) }

// limitWords names a limit for people. Ours, and what nobody can change, are
// the same in every org; Anthropic's are each org's own.
func limitWords(l *BindingSummary) string {
	if l.words != "" {
		return l.words
	}
	switch l.Limit {
	case "cap":
		if l.value > 0 {
			return fmt.Sprintf("our cap of %s calls per key", grouped(l.value))
		}
		return "our cap of calls per key"
	case "overload":
		return "Anthropic overloaded (529)"
	}
	if words, ok := ourLimits[l.Limit]; ok {
		return words
	}
	words, ok := theirLimits[l.Limit]
	if !ok {
		words = l.Limit
	}
	if l.value > 0 {
		words = grouped(l.value) + " " + words
	}
	if l.Org == "" {
		return words
	}
	return title(l.Org) + ": " + words
}

var ourLimits = map[string]string{
	"little": "its limits are met with fewer calls", "ramp": "warming up", "retry_budget": "our retry budget", "hard_floor": "our hard floor",
	"soft_floor": "our soft floor", "budget": "the cap on money", "work": "nothing left to send", "latency": "the answers themselves",
}

var theirLimits = map[string]string{
	"rpm": "requests/min", "itpm": "input tokens/min", "otpm": "output tokens/min", "tpm": "tokens/min", "tpd": "tokens a day",
	"aimd": "backing off after refusals", "retry_after": "retry-after", "acceleration": "acceleration limit",
	"concurrency": "concurrent connections", "hidden": "a limit without a header", "batch_queue": "batch queue", "batch_rpm": "batch requests/min",
}
