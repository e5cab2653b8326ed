package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files that the run writes.
const (
	pageName = "acceptance.md"
	dataName = "acceptance.json"
)

// note stands above all figures.
const note = "All figures come from the emulator's model of the Claude API, not from Anthropic: its limits, latencies and the pace of its batches are what is published or was reported, and assumptions where neither is so. They compare ways of carrying the same rows in the same world."

// write writes both files.
func (t *table) write(dir string) error {
	t.Note, t.Rubric = note, "trait"
	data, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	var page bytes.Buffer
	t.page(&page)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, dataName), append(data, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, pageName), page.Bytes(), 0o644),
	)
}

// page is acceptance.md.
func (t *table) page(w io.Writer) {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	p("# The acceptance run\n\nWritten by `go run ./internal/accept`; [%s](%s) has every figure.\n\n%s\n\n", dataName, dataName, note)
	p("%s rows (%s) are judged by the rubric `%s` with %s: %s different bodies, %.0f MB. ",
		grouped(t.Rows), t.Input, t.Rubric, t.Work.Model, grouped(t.Work.Distinct), float64(t.Work.Bytes)/1e6)
	p("The emulator's scenario is `%s`, seed %d, its judge answers `{\"score\": N}`.\n\n", t.Scenario, t.Seed)
	if t.Unfinished != "" {
		p("**This run did not finish: %s**\n\n", t.Unfinished)
	}
	t.targets(p)
	t.factors(p)
	for _, over := range []string{overVirtual, overHTTP} {
		t.arms(p, over)
	}
	t.columns(p)
	t.measuredText(p)
	t.workings(p)
}

type printer func(format string, args ...any)

func (t *table) targets(p printer) {
	p("## Targets\n\n| what | want | is | |\n|---|---|---|---|\n")
	for _, x := range t.Targets {
		verdict := "met"
		if !x.Met {
			verdict = "**missed**"
		}
		p("| %s | %s | %s | %s |\n", x.What, x.Want, strings.TrimSuffix(fmt.Sprintf("%.1f", x.Got), ".0"), verdict)
	}
	p("\n")
}

// factors takes the gain over the script apart.
func (t *table) factors(p printer) {
	a, one, b, fast := t.find("a", overVirtual), t.find("b1", overVirtual), t.find("b", overVirtual), t.find("c-fast", overVirtual)
	if a == nil || one == nil || b == nil || fast == nil {
		return
	}
	p("Where it comes from, on virtual time: batches side by side on the script's one org, × %s (%s to %s); over three orgs, a further × %s (%s); with the sync tier beside them, a further × %s (%s), for %s instead of %s.\n\n",
		times(a.WallS/one.WallS), span(a.wall()), span(one.wall()), times(one.WallS/b.WallS), span(b.wall()), times(b.WallS/fast.WallS), span(fast.wall()), dollars(fast.Billed), dollars(b.Billed))
	if storm, calm := t.find("d2", overVirtual), t.find("s2", overVirtual); storm != nil && calm != nil {
		p("Where a limit binds, a semaphore with an SDK's retries storms: in `%s` %s refusals and %s of %s rows lost; the dispatcher on the same org %s and %s, in the %s that the limit asks for.\n\n",
			storm.Scenario, grouped(storm.Refused), grouped(storm.Lost), grouped(storm.Rows), grouped(calm.Refused), grouped(calm.Lost), span(calm.wall()))
	}
}

// media say what an arm over each of them is.
var media = map[string]string{
	overVirtual: "The scheduler that live runs use, and plain scripts beside it, against the emulator's model by a heap of events: no machine, no network. Equal runs give equal figures, given the profile.",
	overHTTP:    "The program itself, in processes of its own with journal and files, and plain scripts beside it, against the emulator over HTTP. Its clock runs faster than the machine's; what a client itself needs, and what else the machine does, counts so many times over in the times below.",
}

func (t *table) arms(p printer, over string) {
	if !slices.ContainsFunc(t.Arms, func(a *arm) bool { return a.Over == over }) {
		return
	}
	p("## Over %s\n\n%s\n\n", over, media[over])
	p("| arm | | rows | wall-clock | × (a) | dollars | 429s | share of bound | lost | doubled | over the cap |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, a := range t.Arms {
		if a.Over != over {
			continue
		}
		name := a.Name
		if a.Scenario != t.Scenario {
			name += ", in `" + a.Scenario + "`"
		}
		if a.Speed > 0 {
			name += fmt.Sprintf(" (speed %.0f)", a.Speed)
		}
		p("| %s | %s: %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", a.ID, name, a.routeText(), a.rowsText(), span(a.wall()), times(a.Faster),
			dollars(a.Billed), grouped(a.Refused), share(a.Share), grouped(a.Lost), grouped(a.Doubled), a.overText())
	}
	p("\n")
}

// rowsText is how many rows there were, and how many are left where a cap ended
// the arm.
func (a *arm) rowsText() string {
	if a.Pending > 0 {
		return fmt.Sprintf("%s of %s", grouped(a.Succeeded), grouped(a.Rows))
	}
	return grouped(a.Rows)
}

func (a *arm) overText() string {
	if a.Cap == 0 {
		return "no cap"
	}
	return fmt.Sprintf("%s of %s", dollars(a.OverCap), dollars(a.Cap))
}

func (t *table) columns(p printer) {
	_, _, text := t.priced()
	p(`## The columns

- **wall-clock**: from the start to the last result, on the emulator's clock.
- **× (a)**: how many times as fast as the script, row for row; over HTTP, as the
  quicker of the script's two runs, which is that on virtual time where the machine
  was slow.
- **dollars**: what the emulator billed, exactly. All rows: %s. Hedges and
  answers that nobody was there to hear cost extra.
- **429s**: attempts and batch calls that a limit refused.
- **share of bound**: the least time in which the orgs and tiers that the arm uses
  could carry so many rows, by a linear program over org × tier, over the time
  taken. It knows limits and caps per key, no ramp and no floors; the arithmetic
  below has the share of the bound with those manners too. What a script leaves
  unused shows here, and so does a preference that is meant to be slow: thrift is
  held against both tiers at full. The bound of batches takes the model's mean pace
  for granted, and a sync arm that lost rows is held against those it answered.
- **lost**: rows without a result that nobody will send again: calls that the SDK's
  retries gave up. Rows that a cap left are pending in the journal, not lost: the
  same command with a higher cap sends them.
- **doubled**: rows with two results.
- **over the cap**: billed beyond --max-spend. Where no other cap is named, it is
  the most that all rows could cost. Near a cap a job slows down, since each call in
  flight is held at the most that it can cost, which is several times what it does.

`, text)
}

func (t *table) measuredText(p printer) {
	p("## What was measured\n\n`flotilla measure all` against the emulator (%s) gave the profile that arms with `-p` go by; the others know only what answers tell them, and forecasts assume.\n\n", t.Profile.Emulated)
	p("First token after %.2f s, %.0f tokens a second.\n\n", t.Profile.First, t.Profile.PerSec)
	p("| org | requests/min | input/min | output/min | batch queue | a batch begins after | rows/s of a batch | batches at once |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, name := range allOrgs {
		o := t.Profile.Orgs[name]
		p("| %s | %.0f | %.0f | %.0f | %d | %.0f s | %.2f | %d |\n", name, o.Requests, o.Input, o.Output, o.Queue, o.OverheadS, o.RowRate, o.Parallel)
	}
	p("\n")
}

func (t *table) workings(p printer) {
	p("## The arithmetic\n\n")
	for _, a := range t.Arms {
		p("**%s**, over %s: %s\n\n", a.ID, a.Over, a.Name)
		for _, line := range a.Arithmetic {
			p("- %s\n", line)
		}
		p("\n")
	}
}
