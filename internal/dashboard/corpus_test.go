package dashboard

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The search finds what a look at every text finds, whatever took the place of
// what, and wherever segments end.
func TestSearchAgainstALookAtEveryText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "rows")
		word := rapid.StringOfN(rapid.RuneFrom([]rune("aäBß Δ\t\n")), 0, 12, -1)
		c := &corpus{}
		prompts, answers := make([]string, n), make([]string, n)
		for range rapid.IntRange(0, 400).Draw(t, "puts") {
			row, answer, text := rapid.IntRange(0, n-1).Draw(t, "row"), rapid.Bool().Draw(t, "answer"), word.Draw(t, "text")
			if rapid.IntRange(0, 20).Draw(t, "asked meanwhile") == 0 {
				c.search(terms(word.Draw(t, "earlier query")), rapid.IntRange(1, n).Draw(t, "rows then"))
			}
			if rapid.IntRange(0, 60).Draw(t, "long") == 0 {
				text += strings.Repeat("x", segmentSize/40)
			}
			c.put(row, answer, fold(nil, text))
			if answer {
				answers[row] = text
			} else {
				prompts[row] = text
			}
		}
		query := word.Draw(t, "query")
		words := terms(query)
		var want []int
		for row := range n {
			has := true
			for _, w := range words {
				has = has && (strings.Contains(string(fold(nil, prompts[row])), string(w)) || strings.Contains(string(fold(nil, answers[row])), string(w)))
			}
			if has {
				want = append(want, row)
			}
		}
		if diff := cmp.Diff(want, c.search(words, n).page(0, n), emptyIsNil); diff != "" {
			t.Fatalf("searching %q (-want +got):\n%s", query, diff)
		}
	})
}

var emptyIsNil = cmp.Transformer("empty", func(v []int) []int {
	if len(v) == 0 {
		return nil
	}
	return append([]int{-1}, v...)
})

func TestACorpusIsBounded(t *testing.T) {
	c := &corpus{}
	long := []byte(strings.Repeat("word ", maxDocument))
	c.put(0, false, long)
	if !c.cut || c.bytes != maxDocument+1 {
		t.Errorf("a text of %d bytes took %d, cut %v", len(long), c.bytes, c.cut)
	}
	for row := 1; row < maxCorpus/maxDocument+100; row++ {
		c.put(row, true, long)
	}
	if c.bytes > maxCorpus+200 {
		t.Errorf("the corpus took %d bytes; at most %d are meant", c.bytes, maxCorpus)
	}
	if got := c.search(terms("word"), 10).count(); got != 10 {
		t.Errorf("of the first ten rows %d are found", got)
	}
}

func TestRowSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		rows := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n, rapid.ID).Draw(t, "rows")
		s := newRowSet(n)
		in := make([]bool, n)
		for _, row := range rows {
			s.add(row)
			in[row] = true
		}
		var all []int
		for row, has := range in {
			if has {
				all = append(all, row)
			}
		}
		if s.count() != len(all) {
			t.Fatalf("%d rows are counted, there are %d", s.count(), len(all))
		}
		offset, limit := rapid.IntRange(0, n+5).Draw(t, "offset"), rapid.IntRange(0, n+5).Draw(t, "limit")
		want := all[min(offset, len(all)):]
		want = want[:min(limit, len(want))]
		if diff := cmp.Diff(want, s.page(offset, limit), emptyIsNil); diff != "" {
			t.Fatalf("page %d, %d (-want +got):\n%s", offset, limit, diff)
		}
		full := newRowSet(n)
		full.fill(n)
		full.and(s)
		if diff := cmp.Diff(s, full); full.count() != len(all) {
			t.Fatal("all rows, and these:", diff)
		}
	})
}
