package flotilla

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func newAffinities() *affinities {
	a := &affinities{}
	a.init()
	return a
}

// conversation is a request after so many turns; marked says which blocks have a
// mark.
func conversation(name string, turns int, marked func(i int) bool) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, `{"model":"claude-haiku-4-5","max_tokens":20,"system":%q,"messages":[`, name)
	for i := range turns {
		if i > 0 {
			b.WriteByte(',')
		}
		mark := ""
		if marked(i) {
			mark = `,"cache_control":{"type":"ephemeral"}`
		}
		_, _ = fmt.Fprintf(&b, `{"role":%q,"content":[{"type":"text","text":"%s %d"%s}]}`, []string{"user", "assistant"}[i%2], name, i, mark)
	}
	b.WriteString("]}")
	return b.String()
}

func last(turns int) func(int) bool { return func(i int) bool { return i == turns-1 } }

// The turns of a conversation belong together, though the mark moves to the end
// of each; other conversations do not belong to them.
func TestAffinityOfAConversation(t *testing.T) {
	a := newAffinities()
	first := a.of([]byte(conversation("x", 1, last(1))), 0)
	other := a.of([]byte(conversation("y", 1, last(1))), 0)
	if first == 0 || other == 0 || first == other {
		t.Fatalf("%d and %d", first, other)
	}
	for turns := 3; turns < 40; turns += 2 {
		if n := a.of([]byte(conversation("x", turns, last(turns))), time.Duration(turns)*time.Minute); n != first {
			t.Fatalf("after %d turns: %d, want %d", turns, n, first)
		}
	}
}

// The provider looks back twenty blocks for what it keeps; beyond that nothing
// is read, so the call belongs nowhere.
func TestAffinityLooksBackAsFarAsTheProvider(t *testing.T) {
	a := newAffinities()
	first := a.of([]byte(conversation("x", 1, last(1))), 0)
	if n := a.of([]byte(conversation("x", 1+lookback, last(1+lookback))), 0); n != first {
		t.Errorf("%d blocks on: %d, want %d", lookback, n, first)
	}
	b := newAffinities()
	first = b.of([]byte(conversation("x", 1, last(1))), 0)
	if n := b.of([]byte(conversation("x", 2+lookback, last(2+lookback))), 0); n == first {
		t.Errorf("%d blocks on it is still %d", lookback+1, n)
	}
}

// Calls that mark nothing belong nowhere, even where the words occur.
func TestAffinityNeedsAMark(t *testing.T) {
	a := newAffinities()
	for _, body := range []string{
		conversation("x", 1, func(int) bool { return false }),
		conversation(`"cache_control"`, 1, func(int) bool { return false }),
		`{"cache_control":null,"messages":[{"role":"user","content":"a"}]}`,
	} {
		if n := a.of([]byte(body), 0); n != 0 {
			t.Errorf("%s: %d", body, n)
		}
	}
}

// What is remembered is bounded, and what was used within the hour is kept.
func TestAffinityForgets(t *testing.T) {
	a := newAffinities()
	mark := func(name string, at time.Duration) uint32 { return a.of([]byte(conversation(name, 1, last(1))), at) }
	kept := mark("kept", 0)
	for i := range 3 * maxMarks {
		mark(fmt.Sprint(i), 0)
		if i%1000 == 0 && mark("kept", 0) != kept {
			t.Fatalf("forgotten after %d", i)
		}
	}
	if n := len(a.young) + len(a.old); n > 2*maxMarks {
		t.Errorf("%d marks are remembered", n)
	}
	if mark("kept", 3*markLife); mark("other", 6*markLife) == kept {
		t.Error("another prompt has the number of one long gone")
	}
}
