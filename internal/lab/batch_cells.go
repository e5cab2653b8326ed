package lab

import (
	"fmt"
	"strings"
	"time"
)

// The cells of facts/control.md E.3: at each of four hours of two days, three
// arms on queues that are empty. All lots are canceled at one age, so that
// starving ones show what they did, on the same footing as the others, and
// each cell ends in a quarter of an hour.
const (
	horizon = 10 * time.Minute

	bigRows    = 8000 // arm A: one batch,
	behindAt   = 2 * time.Minute
	canaryRows = 200 // and a canary behind it;
	manyRows   = 500 // arm B: the same depth in small batches;
	manyLots   = bigRows / manyRows
	idleLots   = 4 // arm C: canaries on an idle org,
	oneRowLots = 3 // and batches of one row, which show the overhead

	days = 2
)

// cellHours are hours of the day, UTC, so far apart that of any stretch of 9 to
// 12 hours in which everything is slow some lie within and some without.
var cellHours = []int{3, 11, 14, 21}

// names of lots begin with their arm.
const (
	armBig    = "big"
	armBehind = "behind"
	armMany   = "many"
	armIdle   = "idle"
	armOne    = "one row"
)

// cell is one of them.
type cell struct {
	Hour, Day int
	nth       int // of all, in the order of hours and days: turns the roles
	try       int // how often an interruption fell into it
}

func (c cell) name() string {
	return fmt.Sprintf("%02d h, day %d%s", c.Hour, c.Day+1, strings.Repeat(" again", c.try))
}

func cells() []cell {
	var all []cell
	for day := range days {
		for _, h := range cellHours {
			all = append(all, cell{Hour: h, Day: day, nth: len(all)})
		}
	}
	return all
}

func big(org string) []lot {
	return []lot{
		{Name: armBig, Org: org, Rows: bigRows, Cut: horizon, Looked: true},
		{Name: armBehind, Org: org, Rows: canaryRows, At: behindAt, Cut: horizon - behindAt, Looked: true},
	}
}

func many(org string) []lot {
	var lots []lot
	for i := range manyLots {
		lots = append(lots, lot{Name: fmt.Sprintf("%s %d", armMany, i), Org: org, Rows: manyRows, Cut: horizon, Looked: true})
	}
	return lots
}

func idle(org string) []lot {
	var lots []lot
	for i := range idleLots {
		lots = append(lots, lot{Name: fmt.Sprintf("%s %d", armIdle, i), Org: org, Rows: canaryRows, Cut: horizon, Looked: true})
	}
	for i := range oneRowLots {
		lots = append(lots, lot{Name: fmt.Sprintf("%s %d", armOne, i), Org: org, Rows: 1, Cut: horizon, Looked: true})
	}
	return lots
}

// rounds gives the arms to orgs, other ones in each cell: all at once where
// there are three orgs, one after another, on queues that are empty again, where
// there are fewer.
func (c cell) rounds(orgs []string) []round {
	arms := []func(string) []lot{big, many, idle}
	k := min(len(orgs), len(arms))
	var all []round
	for i := range arms {
		at := i + c.nth
		if i%k == 0 {
			all = append(all, round{Name: fmt.Sprintf("%s, %d", c.name(), i/k+1)})
		}
		r := &all[len(all)-1]
		r.Lots = append(r.Lots, arms[at%len(arms)](orgs[(i+c.nth/len(arms))%len(orgs)])...)
	}
	return all
}
