package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/price"
)

// start says what is about to happen (interface.md, "Starting, running,
// ending"), whatever --progress says.
func (r *runner) start(mark string) {
	for _, w := range r.plan.Warnings {
		warn(r.err, w)
	}
	for _, line := range r.startLines(mark) {
		_, _ = fmt.Fprintln(r.err, "flotilla: "+line)
	}
	if hint := r.report.CachingHint; hint != "" && r.plan.Pending > 0 {
		say(r.err, "hint", hint)
	}
}

func (r *runner) startLines(mark string) []string {
	p := &r.plan
	lines := append([]string{fmt.Sprintf("job %s: %s", p.Job, r.whatText())}, r.judgesText()...)
	lines = append(lines,
		joined("; ", orgsText(r.infos)+emulatedText(mark), r.capText(), r.profileText(), "journal "+r.journal.Path()))
	if p.Pending == 0 {
		return append(lines, "nothing is left to send")
	}
	lines = append(lines, r.routeText())
	for _, more := range []string{r.boundText(), r.report.Feasibility, r.report.Slow, r.report.Caching, r.report.keptText()} {
		if more != "" {
			lines = append(lines, more)
		}
	}
	return lines
}

// profileText says whether what was measured is gone by; empty: there is nothing
// to go anywhere.
func (r *runner) profileText() string {
	if r.plan.Pending == 0 {
		return ""
	}
	return r.profile.said
}

// whatText is what a job consists of.
func (r *runner) whatText() string {
	p := &r.plan
	return joined("; ", joined(", ", rowsText(p), strings.Join(p.Models, ", ")), "prices of "+p.Priced)
}

// joined joins the parts that say something: a job without rows has no model
// and no cap.
func joined(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), sep)
}

// rowsText counts what is done and what is to do.
func rowsText(p *job.Plan) string {
	text := fmt.Sprintf("%s, %s cached, %s equal", plural(p.Rows, "row"), whole(p.Cached), whole(p.Equal))
	if p.Settled > 0 {
		text += fmt.Sprintf(", %s done before", whole(p.Settled))
	}
	if p.Told > 0 {
		text += fmt.Sprintf(", %s without a completion to judge", whole(p.Told))
	}
	if p.Rejected > 0 {
		text += fmt.Sprintf(", %s set aside", whole(p.Rejected))
	}
	if p.InDoubt > 0 {
		text += fmt.Sprintf(", %s in doubt", whole(p.InDoubt))
	}
	return text
}

func emulatedText(mark string) string {
	if mark == "" {
		return ""
	}
	return " (emulated: " + mark + ")"
}

// capText is the cap on calls in flight of each family, and who set it.
func (r *runner) capText() string {
	var parts []string
	for _, family := range r.families() {
		parts = append(parts, fmt.Sprintf("%d calls per key (%s, %s)", r.settings.capOf(family), family, r.capFrom(family)))
	}
	return strings.Join(parts, ", ")
}

// families are those of the job's models.
func (r *runner) families() []string {
	var out []string
	for _, m := range r.plan.Models {
		if f := price.FamilyOf(m); !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

func (r *runner) capFrom(family string) string {
	name := concPrefix + strings.ToUpper(family)
	_, set := r.settings.Conc[family]
	switch {
	case r.flags.conc[family] > 0:
		return "--conc"
	case r.settings.Env.get(name) != "":
		return name
	case set:
		return "caps of a configuration file"
	}
	return "default"
}

// routeText is the way the job goes, what it costs and when it ends.
func (r *runner) routeText() string {
	c, open := r.report.chosen(), r.openText()
	if c == nil {
		return open
	}
	now := r.now()()
	text := fmt.Sprintf("%s over %s: %s to send, %s expected, at most %s; ends %s",
		c.Name, plural(r.orgsFor(c.route), "org"), whole(r.plan.Pending-r.plan.Batched), c.dollars(), c.WorstUSD, c.ends(now))
	text = joined("; ", text, open)
	if !r.deadline.IsZero() {
		text += "; deadline " + r.deadline.Local().Format("2006-01-02 15:04:05 MST")
		if !r.deadline.After(now) {
			return text + " has passed: nothing is sent"
		}
	}
	return text + "; " + c.needs()
}

// boundText says that the length of answers is not known; empty: it is.
func (r *runner) boundText() string {
	if !slices.ContainsFunc(r.plan.Classes, func(c job.Class) bool { return c.OutSource == job.OutBound }) {
		return ""
	}
	return "answers are taken to be as long as max_tokens at most: the first ones will tell, or --out-tokens"
}

// openText says what an earlier run left at the provider; empty: nothing.
func (r *runner) openText() string {
	if len(r.plan.Open) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of earlier runs to collect, with %s", batchesText(len(r.plan.Open)), plural(r.plan.Batched, "row"))
}

// needs says what a route needs of this process.
func (c *planRoute) needs() string {
	switch {
	case !c.route.Batch:
		return "needs this process"
	case c.route.NoSync:
		return "batches go on without this process, which makes and collects them"
	}
	return "needs this process; batches go on without it"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return whole(n) + " " + what + "s"
}

// usable are the orgs in use.
func (r *runner) usable() []OrgSetting {
	var out []OrgSetting
	for _, o := range r.settings.Orgs {
		i := slices.IndexFunc(r.infos, func(info flotilla.OrgInfo) bool { return info.Name == o.Name })
		if i < 0 || r.infos[i].Usable() {
			out = append(out, o)
		}
	}
	return out
}

// orgsFor counts the orgs whose tiers a route takes.
func (r *runner) orgsFor(route flotilla.Route) (n int) {
	for _, o := range r.usable() {
		if !o.NoSync && !(route.Batch && route.NoSync) || !o.NoBatch && route.Batch {
			n++
		}
	}
	return n
}

// now is the clock that the run is on.
func (r *runner) now() func() time.Time {
	if r.fleet != nil && r.infos != nil {
		return r.fleet.Now
	}
	return time.Now
}
