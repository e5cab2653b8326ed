package job

import (
	"strconv"

	"github.com/tidwall/sjson"

	"github.com/flotilla-llm/flotilla"
)

// grownBody is a row's body with more room for its answer: a new body with a
// hash of its own, made by --retry truncated.
type grownBody struct {
	body  []byte
	facts flotilla.Facts
}

// growth yields the row's body with its max_tokens doubled, doubled again, and
// so on up to the model's bound.
func (x *index) growth(r *record, yield func(grownBody) bool) error {
	body, err := x.build.body(nil, r, 0)
	if err != nil {
		return err
	}
	return x.growthOf(body, yield)
}

// growthOf is growth of a body that is at hand.
func (x *index) growthOf(body []byte, yield func(grownBody) bool) error {
	f, err := x.weigh.Weigh(body)
	if err != nil {
		return err
	}
	bound := 1 << 20 // of a model that the table does not bound
	if m, ok := x.prices.Lookup(f.Model); ok && m.MaxOutput > 0 {
		bound = int(m.MaxOutput)
	}
	for room := f.MaxTokens; room > 0 && room < bound; {
		room = min(2*room, bound)
		g := grownBody{}
		if g.body, err = sjson.SetRawBytes(body, "max_tokens", strconv.AppendInt(nil, int64(room), 10)); err != nil {
			return err
		}
		if g.facts, err = x.weigh.Weigh(g.body); err != nil {
			return err
		}
		g.facts.Size = len(g.body)
		if !yield(g) {
			return nil
		}
	}
	return nil
}

// grownTo is the grown body of that hash; ok is false where no growth has it.
func (x *index) grownTo(r *record, hash [16]byte) (found grownBody, ok bool, err error) {
	err = x.growth(r, func(g grownBody) bool {
		found, ok = g, g.facts.Hash == hash
		return !ok
	})
	return found, ok, err
}

// grownBeyond is the next growth after the body of that hash; ok is false where
// the model gives no more room.
func (x *index) grownBeyond(r *record, hash [16]byte, own bool) (next grownBody, ok bool, err error) {
	passed := own // the answer was to the row's own body
	err = x.growth(r, func(g grownBody) bool {
		if passed {
			next, ok = g, true
			return false
		}
		passed = g.facts.Hash == hash
		return true
	})
	return next, ok, err
}
