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
func (r *runner) boundConns(c *flotilla.Config, limit uint64) {
	need := uint64(r.widestCap() * len(c.Orgs))
	if limit >= need+filesAside || len(c.Orgs) == 0 {
		return
	}
	c.MaxConns = 1
	if limit > filesAside {
		c.MaxConns = max(int(limit-filesAside)/len(c.Orgs), 1)
	}
	warn(r.err, fmt.Sprintf("the limit of %d open files leaves %s per key; ulimit -n %d is enough for the caps",
		limit, plural(c.MaxConns, "connection"), need+filesAside))
}

// widestCap is the most calls that may be in flight on one key: of --model's
// family, else of any.
func (r *runner) widestCap() int {
	if r.flags.model != "" {
		return r.settings.capOf(price.FamilyOf(r.flags.model))
	}
	widest := 0
	for _, family := range families() {
		widest = max(widest, r.settings.capOf(family))
	}
	return widest
}
