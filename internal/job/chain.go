package job

import (
	"context"
	"slices"

	"github.com/flotilla-llm/flotilla"
)

// chain is how a call came to its newest answer: by which bodies after its
// row's own. A call with one answer, to that, has none.
type chain struct {
	tried []string       // why each body before the newest was asked anew
	hash  [16]byte       // of the newest body
	short uint64         // … without provider, version and betas
	cost  flotilla.Money // of the answers before the newest
	body  []byte         // the newest body, while earlier runs are gone through; nil: the row's own
}

// chains are those of all calls that have one. A call with --dedupe has that of
// the call whose answer it shares.
type chains map[int]*chain

// settled notes that an answer to what again sent has come.
func (c chains) settled(x *index, call int, again *resend) {
	if again.cost == 0 && again.tried == nil && again.grow == nil && c[call] == nil {
		return
	}
	one := c[call]
	if one == nil {
		one = &chain{}
		c[call] = one
	}
	one.tried, one.cost = again.tried, one.cost+again.cost
	one.hash, one.short = x.row(call).key, x.row(call).body
	if again.grow != nil {
		one.hash, one.short = again.grow.facts.Hash, first8(again.grow.facts.Body)
	}
}

// follow goes through the answers of earlier runs that do not stand, so that the
// bodies are known which calls were sent with since.
func (r *Run) follow(ctx context.Context, standing Standing) error {
	r.chains = chains{}
	if r.x.build.craft == nil {
		return nil
	}
	for _, at := range standing.Superseded() {
		a, err := r.book.Answer(ctx, at)
		if err != nil {
			return err
		}
		if !r.x.holds(a.Row) || a.Outcome == Succeeded && a.Emulated != r.cfg.Emulated {
			continue
		}
		if err := r.pass(&a); err != nil {
			return err
		}
	}
	for call := range r.chains {
		a, err := r.book.Answer(ctx, standing.At(call))
		if err == nil {
			a.Row = call
			err = r.match(&a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pass takes an answer that a later one has taken the place of.
func (r *Run) pass(a *Answer) error {
	if r.chains[a.Row] == nil {
		e := r.x.row(a.Row)
		r.chains[a.Row] = &chain{hash: e.key, short: e.body}
	}
	if err := r.match(a); err != nil {
		return err
	}
	c := r.chains[a.Row]
	c.cost += a.Cost
	next, err := r.anew(a, c.body)
	if err == nil && next != nil {
		c.tried, c.body = next.tried, next.grow.body
		c.hash, c.short = next.grow.facts.Hash, first8(next.grow.facts.Body)
	}
	return err
}

// match finds the body that an answer is to: the one that was to be sent; the
// row's own, where --retry began anew; or one with more room.
func (r *Run) match(a *Answer) error {
	c, e := r.chains[a.Row], r.x.row(a.Row)
	switch a.Hash {
	case c.hash, [16]byte{}: // a canceled call says no body
		return nil
	case e.key:
		c.tried, c.body, c.hash, c.short = nil, nil, e.key, e.body
		return nil
	}
	body, err := r.bodyOf(a.Row, c.body)
	if err != nil {
		return err
	}
	return r.x.growthOf(body, func(g grownBody) bool {
		if g.facts.Hash != a.Hash {
			return true
		}
		c.tried, c.body = append(slices.Clone(c.tried), "truncated"), g.body
		c.hash, c.short = g.facts.Hash, first8(g.facts.Body)
		return false
	})
}

// bodyOf is a body that is at hand, or else the row's own.
func (r *Run) bodyOf(call int, body []byte) ([]byte, error) {
	if body != nil {
		return body, nil
	}
	var rec record
	if err := r.x.read(call/r.x.repeats, &rec); err != nil {
		return nil, err
	}
	return r.x.build.body(nil, &rec, r.x.ask(call))
}

// anew is how a call is asked again by its craft, once it had an answer to body;
// nil: it is not.
func (r *Run) anew(a *Answer, body []byte) (*resend, error) {
	if r.x.build.craft == nil {
		return nil, nil
	}
	var tried []string
	if c := r.chains.of(r.x, a.Row); c != nil {
		tried = c.tried
	}
	return r.anewAfter(a, body, tried)
}

// anewAfter is anew where it is told why the bodies before were asked anew.
func (r *Run) anewAfter(a *Answer, body []byte, tried []string) (*resend, error) {
	craft := r.x.build.craft
	if a.Outcome != Succeeded || r.x.told(a.Row) || craft.Kind(r.x.ask(a.Row), a) == "" {
		return nil, nil
	}
	body, err := r.bodyOf(a.Row, body)
	if err != nil {
		return nil, err
	}
	next, why, err := craft.Again(r.x.ask(a.Row), body, a.Body, tried)
	if err != nil || next == nil {
		return nil, err
	}
	g := grownBody{body: next}
	if g.facts, err = r.x.weigh.Weigh(next); err != nil {
		return nil, err
	}
	g.facts.Size = len(next)
	return &resend{craft: true, grow: &g, cost: a.Cost, tried: append(slices.Clone(tried), why)}, nil
}

// of is the chain of a call, or of the one whose answer it shares.
func (c chains) of(x *index, call int) *chain {
	if one := c[call]; one != nil || len(c) == 0 || !x.follows(call) {
		return one
	}
	return c[x.leader(call)]
}

// doubtful says that the line of an answer which does not stand looks like that of
// the one which does: both are to one body.
func (c chains) doubtful(a *Answer) bool {
	one := c[a.Row]
	return one == nil || one.hash == a.Hash
}

// nextOf is how a call of an earlier run is asked anew; nil: it is not.
func (r *Run) nextOf(a *Answer) (*resend, error) {
	var body []byte
	if c := r.chains.of(r.x, a.Row); c != nil {
		body = c.body
	}
	return r.anew(a, body)
}

// kindOf is the word of --retry for an answer; empty: none sends it again.
func (r *Run) kindOf(a *Answer) string { return r.x.build.retryOf(r.x.ask(a.Row), a) }

func (b *builder) retryOf(ask int, a *Answer) string {
	if b.craft == nil {
		return retryOf(a)
	}
	return b.craft.Kind(ask, a)
}

// resendAs is resend for a craft's call: cut answers get more room, what failed
// goes again as it was, and the rest begins anew. What a row brings with it does
// not change.
func (r *Run) resendAs(a *Answer, again resend) (resend, bool, error) {
	if r.x.told(a.Row) {
		return again, false, nil
	}
	c := r.chains.of(r.x, a.Row)
	if c == nil {
		c = &chain{}
	}
	switch {
	case again.why == "truncated":
		body, err := r.bodyOf(a.Row, c.body)
		if err != nil {
			return again, false, err
		}
		err = r.x.growthOf(body, func(g grownBody) bool {
			again.grow, again.tried = &g, append(slices.Clone(c.tried), again.why)
			return false
		})
		return again, again.grow != nil, err
	case a.Outcome != Succeeded && c.body != nil:
		f, err := r.x.weigh.Weigh(c.body)
		f.Size = len(c.body)
		again.grow, again.tried = &grownBody{c.body, f}, c.tried
		return again, true, err
	}
	return again, true, nil
}

// forget lets go of bodies that were needed to go through earlier runs.
func (c chains) forget() {
	for _, one := range c {
		one.body = nil
	}
}
