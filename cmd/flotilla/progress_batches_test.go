package main

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// The rest of a batch whose job is canceled does not go again.
func TestNoticeOfACanceledJob(t *testing.T) {
	n := flotilla.Notice{Kind: flotilla.BatchCanceled, Class: flotilla.CancelAsked, Org: "high", BatchID: "msgbatch_1", Value: 500, Took: 5 * time.Minute}
	want := "high: canceling msgbatch_1 of 500 rows, 5 min old (the job is canceled); its answers are collected, the rest is not sent"
	if got := noticeText(&n); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	k := gatheredEvent{event: event{kind: "batch_canceled", org: "high", class: flotilla.CancelAsked, value: 900}, n: 2}
	if got := k.line(); got != "high: 2 batches of 900 rows are being canceled (the job is canceled); their answers are collected, the rest is not sent" {
		t.Errorf("gathered: %q", got)
	}
}

// Every notice about a batch has a name for programs, and all but its making a
// line for people.
func TestBatchNotices(t *testing.T) {
	for kind, want := range map[flotilla.NoticeKind]string{
		flotilla.BatchPlaced:    "",
		flotilla.BatchEnded:     "org batch: a batch of 500 rows ended after 5 min",
		flotilla.BatchFound:     "org batch: msgbatch_1 of 500 rows is taken for one whose create got no answer, until its results prove it",
		flotilla.BatchCanceled:  "org batch: canceling msgbatch_1 of 500 rows, 5 min old (sync will be sooner); its answers are collected, the rest goes again",
		flotilla.BatchStalled:   "org batch: msgbatch_1 of 500 rows is overdue: its batches may not proceed, and nothing new goes into its queue",
		flotilla.BatchGone:      "org batch: msgbatch_1 can no longer be asked for: its 500 rows go again, its dollars stay in doubt",
		flotilla.BatchUnseen:    "org batch: msgbatch_1 of 500 rows, 5 min old, is not found there: its rows wait for it until it must have expired, a day after its create",
		flotilla.BatchOrphaned:  "org batch: msgbatch_1 of 500 rows waits for the key of the org that made it",
		flotilla.BatchStrange:   "org batch: msgbatch_1 is another's, and is left alone",
		flotilla.StrangeResult:  "org batch: msgbatch_1 has a result for a row that is not in it, or has one already: it is left out",
		flotilla.QueueFull:      "org batch: its batch queue has no room for 500 rows",
		flotilla.BatchesProceed: "org batch: its batches proceed again, at about 500.0 rows/s each",
		flotilla.BatchRefused:   "org batch: a batch of 500 rows is refused, and no more go there: not allowed: here",
		flotilla.Rescue:         "rescue: sync takes what batches will not have answered in time; 500 rows left",
	} {
		n := flotilla.Notice{Kind: kind, Class: flotilla.CancelSooner, Org: "batch", BatchID: "msgbatch_1", Value: 500, Took: 5 * time.Minute, Says: "not allowed:\n\x1b here"}
		if got := noticeText(&n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if nameOf(kind) == "" {
			t.Errorf("kind %d has no name", kind)
		}
	}
}
