package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What commandLine writes, commandWords reads.
func TestCommandWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringOf(rapid.RuneFrom([]rune(`ab'"\ $-=\n{}é`))), 1, 6).Draw(t, "words")
		var quoted []string
		for _, w := range want {
			quoted = append(quoted, shellQuote(w))
		}
		got, err := commandWords(strings.Join(quoted, " "))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
	if _, err := commandWords("flotilla run 'a"); err == nil {
		t.Error("an open quotation passes")
	}
}
