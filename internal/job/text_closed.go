package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// ClosedWords says for people why a lane takes no calls, by the class of a
// ClosedLane, a LaneState or a Notice; of an unknown class it is the class.
func ClosedWords(class string) string { return cmp.Or(closedWords[class], class) }

var closedWords = map[string]string{
	"steady":       "its limits are used up",
	"acceleration": "its use grew too fast",
	"concurrency":  "too many connections",
	"daily":        "its tokens of the day are used up",
	"spend":        "its spend limit is reached",
	"auth":         "its key is not accepted",
	"permission":   "its key may not do this",
	"credit":       "its credit is used up",
	"hold":         "the organisation is on hold",
	"model":        "it does not have the model",
	"queue_full":   "its batch queue is full",
	"overloaded":   "the provider is overloaded",
	"server":       "the provider answers with errors",
}

// personal are the classes that a person must mend: a time there is that of the
// next try, and not one at which anything opens.
var personal = []string{"auth", "permission", "credit", "hold"}

// reopening says when a closed lane takes calls again.
func reopening(c *flotilla.ClosedLane) string {
	switch {
	case c.Reopens.IsZero() && slices.Contains(personal, c.Class):
		return "; it stays so until somebody mends it"
	case c.Reopens.IsZero():
		return "; not known when it reopens"
	case slices.Contains(personal, c.Class):
		return "; next try " + minuteText(c.Reopens)
	}
	return "; reopens " + minuteText(c.Reopens)
}

func minuteText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// closedOrgs keeps one closed lane an org: the one that opens last.
func closedOrgs(closed []flotilla.ClosedLane) []flotilla.ClosedLane {
	var out []flotilla.ClosedLane
	for _, c := range closed {
		i := slices.IndexFunc(out, func(o flotilla.ClosedLane) bool { return o.Org == c.Org })
		switch {
		case i < 0:
			out = append(out, c)
		case c.Reopens.After(out[i].Reopens):
			out[i] = c
		}
	}
	slices.SortFunc(out, func(a, b flotilla.ClosedLane) int { return cmp.Compare(a.Org, b.Org) })
	return out
}

// closedFor is why a lane was closed at the end for a person to mend; empty: it
// was not.
func closedFor(r *flotilla.Report, org, pool string) string {
	for _, c := range r.Closed {
		if c.Org == org && c.Pool == pool && slices.Contains(personal, c.Class) {
			return ClosedWords(c.Class)
		}
	}
	return ""
}
