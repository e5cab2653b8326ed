package lab

import (
	"fmt"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

// footOf says where the numbers come from: who answered, when, how many calls
// at which cost, what could not be shown.
func footOf(windows []*Result) string {
	var said, left []string
	for _, r := range windows {
		said = append(said, r.provenance())
		for _, s := range r.NotShown {
			if len(windows) > 1 {
				s = r.Window + ": " + s
			}
			left = append(left, s)
		}
	}
	if len(windows) == 1 {
		said = append(said, "Provisional: from one window")
	}
	const most, long = 3, 110 // the rest is in the file
	for i, s := range left {
		s = sentence(s)
		left[i] = s
		if r := []rune(s); len(r) > long {
			left[i] = string(r[:long]) + "…"
		}
	}
	switch n := len(left) - most; {
	case len(left) > most:
		left = append(left[:most], fmt.Sprintf("and %d more in the file", n))
		fallthrough
	case len(left) > 0:
		said = append(said, "Not shown: "+strings.Join(left, "; "))
	}
	return strings.Join(said, ". ") + "."
}

// provenance names the source of a result, in a sentence without its full stop.
func (r *Result) provenance() string {
	who := "Measured at " + r.BaseURL
	if r.Emulated != "" {
		who = "Measured on the emulator, not on the provider: scenario and seed " + r.Emulated
	}
	s := fmt.Sprintf("%s; window %s, %s to %s UTC", who, r.Window, r.Started.UTC().Format("2006-01-02 15:04"), r.Ended.UTC().Format("15:04"))
	if r.Ended.Sub(r.Started).Hours() >= 24 {
		s = fmt.Sprintf("%s; window %s, %s to %s", who, r.Window, r.Started.UTC().Format("2006-01-02"), r.Ended.UTC().Format("2006-01-02"))
	}
	s += fmt.Sprintf("; %s calls, %s; seed %d; flotilla %s; from %s-%s.json", plot.Plain.Format(float64(r.Totals.Calls)), dollars(float64(r.Cost.Total)/1e9), r.Seed, r.Versions.Flotilla, r.Experiment, r.Window)
	if r.Stopped != "" {
		s += ". Ended early: " + r.Stopped
	}
	return s
}

func dollars(v float64) string { return plot.Dollars.Format(v) }
