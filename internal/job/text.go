package job

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Line is a line for people about how a run ended. The program puts its name
// before it, and "error" or "hint" where it is one.
type Line struct {
	Kind string // "", "error" or "hint"
	Text string
}

// Ending words how a run ended: why it stopped, what is left, what to do
// (interface.md, "Texts" and "Exit codes"). Errors are the caller's to print.
func (s *Summary) Ending(report *flotilla.Report) (lines []Line) {
	say := func(kind, format string, args ...any) {
		lines = append(lines, Line{kind, fmt.Sprintf(format, args...)})
	}
	if s.Pending > 0 {
		s.sayPending(report, say)
	}
	if s.Truncated+s.RefusedByModel > 0 && s.Judge == nil {
		s.sayCut(say)
	}
	if s.Rejected > 0 {
		say("", "%s set aside", rows(s.Rejected))
	}
	if failed := s.Errored + s.Expired + s.Canceled; failed > 0 {
		s.sayErrors(say)
		s.sayRetry(say)
	}
	s.sayRunning(say)
	if s.InDoubt > 0 {
		say("", "%s in doubt: may have been answered and billed; the worst case counts as spent", counted(s.InDoubt, "attempt"))
	}
	return lines
}

// sayRetry names --retry where it may help: a request that the API calls
// invalid would be refused again.
func (s *Summary) sayRetry(say func(kind, format string, args ...any)) {
	invalid := 0
	for _, g := range s.Errors {
		if g.Type == "invalid_request_error" {
			invalid += g.N
		}
	}
	if invalid == s.Errored+s.Expired+s.Canceled {
		say("hint", "the API calls these requests invalid: correct the rows; --retry errored would have them refused again")
		return
	}
	say("hint", "--retry %s sends these rows again", strings.Join(s.failedWords(), ","))
}

func (s *Summary) sayPending(report *flotilla.Report, say func(kind, format string, args ...any)) {
	done := fmt.Sprintf("%s of %s done, %s pending", grouped(s.done()), rows(s.N), grouped(s.Pending))
	switch report.Cause {
	case flotilla.CapReached:
		s.sayCap(report.Budget, done, say)
	case flotilla.DeadlinePassed:
		say("", "the deadline has passed; %s", done)
		say("hint", "the same command with a later --deadline, or without one, goes on")
	case flotilla.LanesClosed:
		if s.lacking() >= s.Pending {
			say("", "what is left is in batches that only another key can ask for; %s", done)
			return // which key, is told with the batches
		}
		if len(report.Closed) == 0 {
			say("", "no org takes what is left; %s", done)
			say("hint", "where batches are refused, --tier auto sends the rows by sync")
			return
		}
		say("", "every lane is closed for longer than --max-wait; %s", done)
		for _, c := range closedOrgs(report.Closed) {
			say("", "%s: %s%s", title(c.Org), ClosedWords(c.Class), reopening(&c))
		}
		say("hint", "the same command goes on once a lane is open again")
	case flotilla.Interrupted:
		say("", "interrupted; %s", done)
		say("hint", "everything done is kept; the same command goes on")
	default:
		say("", "stopped; %s", done)
	}
}

// sayCap tells of a cap, and of one that would be enough.
func (s *Summary) sayCap(b *flotilla.BudgetExceededError, done string, say func(kind, format string, args ...any)) {
	if b == nil {
		say("", "stopped at the cap; %s", done)
		return
	}
	if b.Per > 0 {
		say("", "stopped at the cap for today: %s of %s; %s", b.Spent, b.Cap, done)
		say("hint", "the same command goes on after local midnight, or with a larger cap")
		return
	}
	say("", "stopped at the cap: %s of %s; %s", b.Spent, b.Cap, done)
	more := max(s.moreNeeded(), b.Needs)
	say("hint", "the same command with --max-spend %s finishes (about %s more)", enough((s.CostUSD+more).Float()*1.05+b.Needs.Float()), more)
}

// moreNeeded is what the rows that are left will cost, by what the answers so
// far did: rows that are to be asked anew were answered, and paid for, without
// being done. Those in batches are reserved for already, at their worst.
func (s *Summary) moreNeeded() flotilla.Money {
	left, spent := s.Pending, s.CostUSD
	for _, b := range s.RunningBatches {
		left, spent = left-b.Rows, spent-b.WorstUSD
	}
	answered := 0 // in this run; done counts earlier ones too
	for i := range s.ByLane {
		answered += s.ByLane[i].Succeeded
	}
	if answered = max(answered, s.done()); answered == 0 {
		return s.ExpectedUSD - spent
	}
	return flotilla.Money(float64(max(spent, 0)) / float64(answered) * float64(max(left, 0)))
}

// enough rounds dollars up: to whole ones from ten on, else to cents.
func enough(dollars float64) string {
	if dollars >= 10 {
		return fmt.Sprintf("%.0f", math.Ceil(dollars))
	}
	return fmt.Sprintf("%.2f", math.Ceil(dollars*100)/100)
}

// sayCut counts aloud answers that are results and yet not what was asked for.
func (s *Summary) sayCut(say func(kind, format string, args ...any)) {
	var words, retry []string
	if s.Truncated > 0 {
		words, retry = append(words, grouped(s.Truncated)+" cut by max_tokens"), append(retry, "truncated")
	}
	if s.RefusedByModel > 0 {
		words, retry = append(words, grouped(s.RefusedByModel)+" refused by the model"), append(retry, "refused")
	}
	say("", "answers: %s", strings.Join(words, ", "))
	more := ""
	if s.Truncated > 0 {
		more = ", those cut with twice the room: the same command, --max-tokens as it was"
	}
	say("hint", "--retry %s sends only these rows again%s", strings.Join(retry, ","), more)
}

// errorsShown is how many kinds of error the text lists; the summary has all.
const errorsShown = 5

func (s *Summary) sayErrors(say func(kind, format string, args ...any)) {
	for i, g := range s.Errors {
		if i == errorsShown {
			say("", "and %s of error", counted(len(s.Errors)-i, "more kind"))
			return
		}
		say("", "%s: %s: %s (such as row %q)", rows(g.N), g.Type, clip(g.Message), g.ExampleID)
	}
	if s.Expired > 0 {
		say("", "%s expired", rows(s.Expired))
	}
	if s.Canceled > 0 {
		say("", "%s canceled", rows(s.Canceled))
	}
}

// failedWords are the words of --retry for what has failed.
func (s *Summary) failedWords() (words []string) {
	for _, f := range []struct {
		n int
		o Outcome
	}{{s.Errored, Errored}, {s.Expired, Expired}, {s.Canceled, Canceled}} {
		if f.n > 0 {
			words = append(words, f.o.String())
		}
	}
	return words
}

// Text is the summary for people: what came of the rows, how long it took and
// what it cost, lane by lane, and what it waited for.
func (s *Summary) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: %s\n", grouped(s.done()), rows(s.N), strings.Join(s.parts(), ", "))
	if s.Attempts > 0 {
		fmt.Fprintf(&b, "%s, %s calls/min%s; %d rate-limited, %d overloaded, %s\n",
			seconds(s.WallS), grouped(int(s.CallsPerMin+.5)), s.latencyText(), s.RateLimited.Total(), s.Overloaded, counted(s.TransportErrors, "transport error"))
		if s.BoundS > 0 {
			fmt.Fprintf(&b, "fastest possible %s, with our manners %s: %.0f %% of the fastest\n", seconds(s.BoundS), seconds(s.PoliteBoundS), 100*s.Efficiency)
		}
	}
	fmt.Fprintf(&b, "%s%s\n", s.CostUSD, s.costWords())
	b.WriteString(s.forecastText())
	s.lanesText(&b)
	b.WriteString(bindingText(s.Binding))
	return b.String()
}

// latencyText is ", p50 812 ms, p95 6.7 s"; empty where no call by sync was
// answered: only these have a latency.
func (s *Summary) latencyText() string {
	if s.P95MS == 0 {
		return ""
	}
	return fmt.Sprintf(", p50 %s, p95 %s", millis(s.P50MS), millis(s.P95MS))
}

func (s *Summary) parts() (out []string) {
	for _, p := range []struct {
		n    int
		word string
	}{
		{s.Succeeded, "succeeded"},
		{s.Errored, "errored"},
		{s.Expired, "expired"},
		{s.Canceled, "canceled"},
		{s.Pending, "pending"},
		{s.Cached, "cached"},
		{s.Resumed, "from earlier runs"},
	} {
		if p.n > 0 || p.word == "succeeded" {
			out = append(out, grouped(p.n)+" "+p.word)
		}
	}
	if s.InDoubt > 0 {
		out = append(out, counted(s.InDoubt, "attempt")+" in doubt")
	}
	return out
}

// counted is "1 attempt" or "2 attempts".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}

func (s *Summary) costWords() string {
	var words []string
	if s.CapUSD != nil {
		words = append(words, "cap "+s.CapUSD.String())
	}
	if held := s.held(); held > 0 {
		words = append(words, held.String()+" of it at most, for batches left running")
	}
	if s.FailedUSD > 0 {
		words = append(words, s.FailedUSD.String()+" for attempts without an answer")
	}
	if s.Hedges > 0 {
		words = append(words, fmt.Sprintf("%s for %s", s.HedgeUSD, counted(s.Hedges, "hedge")))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

func (s *Summary) lanesText(b *strings.Builder) {
	used := slices.DeleteFunc(slices.Clone(s.ByLane), func(l LaneSummary) bool { return l.Attempts == 0 })
	if len(used) == 0 {
		return
	}
	tiers := slices.ContainsFunc(used, func(l LaneSummary) bool { return l.Tier != used[0].Tier || l.Tier == "batch" })
	row := func(org, pool, tier, rest string, args ...any) {
		if tiers {
			pool = fmt.Sprintf("%-12s %-5s", pool, tier)
		}
		fmt.Fprintf(b, "%-9s %-12s "+rest+"\n", append([]any{org, pool}, args...)...)
	}
	row("org", "pool", "tier", "%9s %9s %12s %8s %8s %8s %10s", "done", "attempts", "rate-limited", "peak", "p50", "p95", "cost")
	for _, l := range used {
		row(title(l.Org), l.Pool, l.Tier, "%9s %9s %12s %8d %8s %8s %10s", grouped(l.Succeeded), grouped(l.Attempts), grouped(l.RateLimited),
			l.PeakInFlight, millis(l.P50MS), millis(l.P95MS), l.CostUSD)
	}
}

// title is how texts name an org: "org batch", since batch is a tier too.
func title(org string) string { return flotilla.Org{Name: org}.Title() }

// seconds is a time for people.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func millis(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms >= 600_000: // a batch's
		return seconds(float64(ms) / 1000)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}
