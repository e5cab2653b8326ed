package main

import (
	"fmt"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// filesAside are the open files that are no connections: journal, inputs, OUT,
// the standard streams and a few to spare.
const filesAside = 40

// boundConns keeps connections within the limit on open files, where that is
// below what the caps may need, and says so: a call that cannot be opened would
// fail as if the network did.
func (c *crew) boundConns(to *flotilla.Config, limit uint64) {
	need := uint64(c.widestCap() * len(to.Orgs))
	if limit >= need+filesAside || len(to.Orgs) == 0 {
		return
	}
	to.MaxConns = 1
	if limit > filesAside {
		to.MaxConns = max(int(limit-filesAside)/len(to.Orgs), 1)
	}
	warn(c.err, fmt.Sprintf("the limit of %d open files leaves %s per key; ulimit -n %d is enough for the caps",
		limit, plural(to.MaxConns, "connection"), need+filesAside))
}

// widestCap is the most calls that may be in flight on one key: of --model's
// family, else of any.
func (c *crew) widestCap() int {
	if c.sends.model != "" {
		return c.settings.capOf(price.FamilyOf(c.sends.model))
	}
	widest := 0
	for _, family := range families() {
		widest = max(widest, c.settings.capOf(family))
	}
	return widest
}
