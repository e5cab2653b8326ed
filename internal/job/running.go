package job

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// RunningBatch is a batch that was left at the provider at the end of a run, as
// the summary has it. The next run of the job collects it.
type RunningBatch struct {
	Org       string      `json:"org"`
	ID        string      `json:"id"` // empty: its create was in doubt, it will be looked for
	Number    int64       `json:"number"`
	Rows      int         `json:"rows"` // without an answer so far
	AgeS      float64     `json:"age_s"`
	WorstUSD  price.Nanos `json:"worst_usd"` // reserved for them
	Canceling bool        `json:"canceling"` // its end was asked for
	KeyLacks  bool        `json:"key_lacks"` // this run has not the key of the org that made it
	Variable  string      `json:"key_variable,omitempty"`
}

// leave notes the batches that stay at the provider.
func (s *Summary) leave(open []flotilla.OpenBatch, report *flotilla.Report, now time.Time, variable func(org string) string) {
	s.RunningBatches = []RunningBatch{}
	for _, b := range open {
		one := RunningBatch{
			Org: b.Org, ID: b.ID, Number: b.Number, Rows: len(b.Rows), AgeS: max(now.Sub(b.At), 0).Seconds(), WorstUSD: b.Worst, Canceling: b.Canceling,
			KeyLacks: slices.ContainsFunc(report.Orphans, func(o flotilla.OpenBatch) bool { return o.Number == b.Number }),
		}
		if variable != nil {
			one.Variable = variable(b.Org)
		}
		s.RunningBatches = append(s.RunningBatches, one)
	}
	slices.SortFunc(s.RunningBatches, func(a, b RunningBatch) int {
		return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.Number, b.Number))
	})
}

// lacking is how many calls are in batches of orgs whose keys are not at hand.
func (s *Summary) lacking() (calls int) {
	for _, b := range s.RunningBatches {
		if b.KeyLacks {
			calls += b.Rows
		}
	}
	return calls
}

// held is what is reserved for the batches that stay at the provider.
func (s *Summary) held() (sum price.Nanos) {
	for i := range s.RunningBatches {
		sum += s.RunningBatches[i].WorstUSD
	}
	return sum
}

// runningShown is how many batches the text names; the summary has all.
const runningShown = 10

// sayRunning names what was left at the provider, and what becomes of it.
func (s *Summary) sayRunning(say func(kind, format string, args ...any)) {
	n, ending, calls, worst := 0, 0, 0, flotilla.Money(0)
	var lacking []RunningBatch
	for _, b := range s.RunningBatches {
		n, calls, worst = n+1, calls+b.Rows, worst+b.WorstUSD
		if b.Canceling {
			ending++
		}
		if b.KeyLacks && !slices.ContainsFunc(lacking, func(l RunningBatch) bool { return l.Org == b.Org }) {
			lacking = append(lacking, b)
		}
	}
	if n == 0 {
		return
	}
	say("", "%s left %s at the provider, with %s, %s at most", countedAs(n, "batch", "batches"), leftText(n, ending), rows(calls), worst)
	for i, b := range s.RunningBatches {
		if i == runningShown {
			say("", "and %s more", grouped(n-i))
			break
		}
		canceling := ""
		if b.Canceling {
			canceling = ", being canceled"
		}
		say("", "  %s %s: %s, %s old, %s at most%s", title(b.Org), cmp.Or(b.ID, "(to be looked for)"), rows(b.Rows), seconds(b.AgeS), b.WorstUSD, canceling)
	}
	for _, b := range lacking {
		say("", "%s: the key of the org that made them is not at hand", title(b.Org))
		say("hint", "set %s and run the same command: batches are only ever asked for with the key of the org that made them", cmp.Or(b.Variable, "its key"))
	}
	if len(lacking) == 0 {
		say("hint", "the same command collects them; flotilla jobs cancel %s cancels them", s.JobID)
	}
}

// leftText says how batches are left of which some are being canceled.
func leftText(n, ending int) string {
	switch ending {
	case 0:
		return "running"
	case n:
		return "being canceled"
	}
	return fmt.Sprintf("running (%s of them being canceled)", grouped(ending))
}

// countedAs is counted for a word with a plural of its own.
func countedAs(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}
