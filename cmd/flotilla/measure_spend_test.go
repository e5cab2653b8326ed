package main

import (
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// What may have been billed unseen counts against the cap of the command, and is
// said.
func TestMoneyInDoubtIsTaken(t *testing.T) {
	var l measuredLine
	l.take(&lab.Result{Verdict: "so", Cost: lab.Bill{Total: 2e9, InDoubt: 1e9}}, "x.json")
	var out strings.Builder
	if err := l.print(&out); err != nil || !strings.Contains(out.String(), "$2.00 (up to $1.00 more may have been billed unseen) in") {
		t.Errorf("%q, %v", out.String(), err)
	}
	if got := leftAfter(10e9, &l); got != 7e9 {
		t.Errorf("%s are left of $10", got)
	}
	if got := leftAfter(3e9, &l); got != 1 {
		t.Errorf("%s are left of $3: none at all is not no cap", got)
	}
}
