package main

import (
	"fmt"

	"github.com/flotilla-llm/flotilla/plan"
	"github.com/flotilla-llm/flotilla/price"
)

// explain writes down how an arm's figures come about.
func (a *arm) explain(t *table) {
	a.Arithmetic = append([]string(nil), a.Told...)
	say := func(format string, args ...any) { a.Arithmetic = append(a.Arithmetic, fmt.Sprintf(format, args...)) }
	if s := t.script(a.Over); s != nil && s != a {
		if s.Succeeded == a.Succeeded {
			say("times (a): %s s ÷ %s s = %s", seconds(s.WallS), seconds(a.WallS), times(a.Faster))
		} else {
			say("times (a): %s s × %s ÷ %s rows ÷ %s s = %s", seconds(s.WallS), grouped(a.Succeeded), grouped(s.Succeeded), seconds(a.WallS), times(a.Faster))
		}
	}
	if a.OwnS > 0 {
		say("wall-clock: %s s for its processes from start to exit; the last of them counts %s s from its first call to its last answer", seconds(a.WallS), seconds(a.OwnS))
	}
	if a.BoundS > 0 {
		say("share of the bound: %s s ÷ %s s = %s; with manners %s s ÷ %s s = %s",
			seconds(a.BoundS), seconds(a.WallS), share(a.Share), seconds(a.PoliteS), seconds(a.WallS), share(a.Polite))
	}
	say("dollars: %s rows by sync %s + %s rows by batch %s = %s billed; by our account %s",
		grouped(a.SyncRows), dollars(a.SyncUSD), grouped(a.BatchRows), dollars(a.BatchUSD), dollars(a.Billed), dollars(a.USD))
	if a.Cap > 0 {
		say("cap: %s billed of %s: %s over it", dollars(a.Billed), dollars(a.Cap), dollars(a.OverCap))
	}
	left := ""
	if a.Pending > 0 {
		left = fmt.Sprintf(" − %s left by the cap", grouped(a.Pending))
	}
	say("rows: %s − %s succeeded%s = %s lost; %s with two results", grouped(a.Rows), grouped(a.Succeeded), left, grouped(a.Lost), grouped(a.Doubled))
	if a.PaidTwice > 0 {
		say("answers paid for beyond one a row: %s (%s hedges, %s in doubt after a crash)", grouped(a.PaidTwice), grouped(a.Hedges), grouped(a.InDoubt))
	}
	if a.Adopted > 0 {
		say("batches taken over after the crash: %d", a.Adopted)
	}
}

// priced is what all rows cost, as arithmetic.
func (t *table) priced() (sync, batch price.Nanos, text string) {
	m, ok := price.Published().Lookup(t.Work.Model)
	if !ok {
		return 0, 0, ""
	}
	u := price.Usage{Input: t.Work.InputTokens, Output: t.Work.OutputTokens}
	const mtok = 1_000_000
	in, out := m.Cost(price.Usage{Input: mtok}), m.Cost(price.Usage{Output: mtok})
	sync = m.Cost(u)
	batch = sync.ByBatch()
	return sync, batch, fmt.Sprintf("%s input tokens × %s/M + %s output tokens × %s/M = %s by sync, half of it, %s, by batch",
		grouped(int(u.Input)), dollars(in), grouped(int(u.Output)), dollars(out), dollars(sync), dollars(batch))
}

// routeText is the arm's route and, where both tiers take part, how rows went.
func (a *arm) routeText() string {
	if a.Route == plan.BatchName || a.Route == plan.SyncName {
		return a.Route
	}
	return fmt.Sprintf("%s, %.0f %% by batch", a.Route, 100*float64(a.BatchRows)/float64(max(1, a.SyncRows+a.BatchRows)))
}
