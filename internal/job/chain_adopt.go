package job

import (
	"context"
	"fmt"
	"slices"
)

// adoptAnew settles calls that are asked anew by answers of other jobs to these
// very bodies, one body after the other.
func (r *Run) adoptAnew(ctx context.Context) error {
	for !r.cfg.NoCache {
		var calls []int
		for call, again := range r.src.again {
			if again.craft && call < r.limit {
				calls = append(calls, call)
			}
		}
		slices.Sort(calls)
		found, err := r.book.Cached(ctx, len(calls), func(i int) ([16]byte, int) {
			return r.src.again[calls[i]].grow.facts.Hash, r.x.nth(calls[i])
		})
		if err != nil {
			return err
		}
		var list []Adoption
		for i, call := range calls {
			if found[i] != 0 {
				list = append(list, Adoption{call, found[i], r.x.nth(call)})
			}
		}
		if len(list) == 0 {
			return nil
		}
		if err := r.adoptList(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// chaser follows calls that have answers of other jobs from body to body, as
// adoptAnew will: a line that is there may be of any of them. It looks when it is
// first asked, at all calls at once.
type chaser struct {
	r      *Run
	at     func(call int) int64 // where the answer to the row's own body is; 0: there is none
	bodies map[int][]uint64     // nil: not looked yet
}

// of are the bodies behind a call's own.
func (c *chaser) of(ctx context.Context, call int) ([]uint64, error) {
	if c.bodies == nil {
		if err := c.look(ctx); err != nil {
			return nil, err
		}
	}
	return c.bodies[call], nil
}

// chased is a call on its way through its bodies.
type chased struct {
	call int
	next *resend
}

func (c *chaser) look(ctx context.Context) error {
	c.bodies = map[int][]uint64{}
	var out []chased
	for call := range c.r.limit {
		if at := c.at(call); at > 0 && c.r.x.holds(call) {
			next, err := c.step(ctx, call, at, nil)
			if err != nil {
				return err
			}
			out = append(out, next...)
		}
	}
	for len(out) > 0 {
		found, err := c.r.book.Cached(ctx, len(out), func(i int) ([16]byte, int) { return out[i].next.grow.facts.Hash, c.r.x.nth(out[i].call) })
		if err != nil {
			return err
		}
		var further []chased
		for i, one := range out {
			if found[i] == 0 {
				continue
			}
			next, err := c.step(ctx, one.call, found[i], one.next)
			if err != nil {
				return err
			}
			further = append(further, next...)
		}
		out = further
	}
	return nil
}

// step reads the answer to a body, and notes the one behind it, if there is one.
func (c *chaser) step(ctx context.Context, call int, at int64, last *resend) ([]chased, error) {
	a, err := c.r.book.Answer(ctx, at)
	if err != nil {
		return nil, err
	}
	a.Row = call
	var body []byte
	var tried []string
	if last != nil {
		body, tried = last.grow.body, last.tried
	}
	next, err := c.r.anewAfter(&a, body, tried)
	if next == nil || err != nil {
		return nil, err
	}
	c.bodies[call] = append(c.bodies[call], first8(next.grow.facts.Body))
	return []chased{{call, next}}, nil
}

// adoptList takes answers over, and their calls as settled or asked anew again.
func (r *Run) adoptList(ctx context.Context, list []Adoption) error {
	if err := r.book.Adopt(ctx, list); err != nil {
		return fmt.Errorf("take over answers of other jobs: %w", err)
	}
	standing, err := r.book.Standing(ctx)
	if err != nil {
		return err
	}
	r.src.standing, r.w.standing = standing, standing
	for _, one := range list {
		again := r.src.again[one.Row]
		delete(r.src.again, one.Row)
		r.chains.settled(r.x, one.Row, &again)
		a, err := r.book.Answer(ctx, standing.At(one.Row))
		if err != nil {
			return err
		}
		a.Row = one.Row
		next, err := r.anew(&a, again.grow.body)
		switch {
		case err != nil:
			return err
		case next != nil:
			r.src.again[a.Row] = *next
			continue
		}
		r.tally.add(&a, func() string { return r.idOf(a.Row) })
		if r.w.needs(a.Row) {
			if err := r.w.write(&a); err != nil {
				return err
			}
		}
	}
	return nil
}
