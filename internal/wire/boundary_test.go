package wire

import (
	"hash/maphash"
	"testing"
)

var boundarySeed = maphash.MakeSeed()

func boundariesOf(body string) []Boundary { return Boundaries(nil, boundarySeed, []byte(body)) }

// The next turn of a conversation begins with the boundaries of this one, though
// its marks have moved on and its members come in another order.
func TestBoundariesOfTheNextTurn(t *testing.T) {
	turn := boundariesOf(`{"model":"m","system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],"messages":[
		{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`)
	next := boundariesOf(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"b"},
		{"role":"user","content":[{"cache_control":{"type":"ephemeral"},"type":"text","text":"c"}]}],
		"model":"m","system":[{"type":"text", "text":"S"}]}`)
	if len(turn) != 2 || len(next) != 4 {
		t.Fatalf("%d and %d boundaries", len(turn), len(next))
	}
	for i := range turn {
		if turn[i].Hash != next[i].Hash || turn[i].Bytes != next[i].Bytes {
			t.Errorf("boundary %d: %+v, then %+v", i, turn[i], next[i])
		}
	}
	if !turn[0].Marked || !turn[1].Marked || next[0].Marked || next[1].Marked || next[2].Marked || !next[3].Marked {
		t.Errorf("marks %+v, then %+v", turn, next)
	}
}

// What differs by model, role or text is another prompt.
func TestBoundariesTellPromptsApart(t *testing.T) {
	seen := map[uint64]string{}
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"a"}]}`,
		`{"model":"n","messages":[{"role":"user","content":"a"}]}`,
		`{"model":"m","messages":[{"role":"assistant","content":"a"}]}`,
		`{"model":"m","messages":[{"role":"user","content":"b"}]}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`,
		`{"model":"m","tools":[{"name":"a"}],"messages":[{"role":"user","content":"a"}]}`,
	} {
		b := boundariesOf(body)
		last := b[len(b)-1].Hash
		if other, ok := seen[last]; ok {
			t.Errorf("%s is taken for %s", body, other)
		}
		seen[last] = body
	}
}

// A mark at the top level is one on the last block; null is none.
func TestBoundariesMarkedAtTheTop(t *testing.T) {
	for body, want := range map[string]bool{
		`{"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`: true,
		`{"cache_control":null,"messages":[{"role":"user","content":"b"}]}`:                                               false,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"b","cache_control":null}]}]}`:                      false,
	} {
		b := boundariesOf(body)
		if got := b[len(b)-1].Marked; got != want {
			t.Errorf("%s: marked %v", body, got)
		}
	}
	if b := boundariesOf(`{"cache_control":{}}`); len(b) != 0 {
		t.Errorf("an empty prompt has %+v", b)
	}
}

func FuzzBoundaries(f *testing.F) {
	f.Add([]byte(`{"model":"m","tools":[{"name":"a","cache_control":{}}],"system":"s","messages":[{"role":"user","content":["x",{"a":[1]}]},null,5]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		last := 0
		for _, b := range Boundaries(nil, boundarySeed, body) {
			if b.Bytes < last || b.Bytes > len(body) {
				t.Fatalf("%+v after %d", b, last)
			}
			last = b.Bytes
		}
	})
}
