package main

import (
	"testing"

	"github.com/flotilla-llm/flotilla"
)

// A fleet that begins beside others on one journal may have no place at all at
// first; "at most 0 calls in flight" reads like a fault.
func TestCeilingNotice(t *testing.T) {
	for value, want := range map[float64]string{
		100: "org batch: at most 100 calls in flight (sonnet)",
		0:   "org batch: other flotilla processes hold every call that may be in flight (sonnet); they give up a share",
	} {
		if got := noticeText(&flotilla.Notice{Kind: flotilla.CeilingChosen, Org: "batch", Pool: "sonnet", Value: value}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
