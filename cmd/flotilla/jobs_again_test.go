package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla/journal"
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

// A cancel that was interrupted can be asked for again: the command that it
// leaves in the journal is the one that it found there.
func TestRunAgainKeepsTheCommand(t *testing.T) {
	const line = "flotilla run rows.jsonl --model claude-haiku-4-5 --prompt '{{.question}} twice' --tier batch"
	_, again, inputs, err := runAgain(&cobra.Command{}, &journal.JobInfo{Key: "7f3a", Command: line})
	if err != nil {
		t.Fatal(err)
	}
	if got := commandLine(again, inputs); got != line {
		t.Errorf("%s, was %s", got, line)
	}
}
