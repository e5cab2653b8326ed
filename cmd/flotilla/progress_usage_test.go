package main

import (
	"testing"

	"github.com/flotilla-llm/flotilla"
)

func TestNoticeOfUsageBeyond(t *testing.T) {
	got := noticeText(&flotilla.Notice{Kind: flotilla.UsageBeyond, Org: "batch", Pool: "haiku", Value: 1e6})
	const want = "org batch: an answer says that it used tokens for $1000000.00, more than its request can cost: its worst case is booked"
	if got != want || nameOf(flotilla.UsageBeyond) != "usage_beyond" {
		t.Errorf("%q, %s", got, nameOf(flotilla.UsageBeyond))
	}
}
