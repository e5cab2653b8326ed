package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/flotilla-llm/flotilla"
)

// batchNoticeKinds name notices about batches for programs.
var batchNoticeKinds = map[flotilla.NoticeKind]string{
	flotilla.BatchPlaced: "batch_made", flotilla.BatchFound: "batch_found", flotilla.BatchEnded: "batch_ended", flotilla.BatchCanceled: "batch_canceled",
	flotilla.BatchStalled: "batch_stalled", flotilla.BatchGone: "batch_lost", flotilla.BatchOrphaned: "batch_orphaned",
	flotilla.BatchStrange: "batch_strange", flotilla.StrangeResult: "strange_result", flotilla.QueueFull: "queue_full",
	flotilla.BatchesProceed: "batches_proceed", flotilla.Rescue: "rescue", flotilla.BatchRefused: "batch_refused",
	flotilla.BatchUnseen: "batch_unseen",
}

// batchNoticeText is a notice about a batch for people; empty: not worth a line.
// That one was made is none: its end is.
func batchNoticeText(n *flotilla.Notice) string {
	org, rows, id := title(n.Org), plural(int(n.Value), "row"), n.BatchID
	if id == "" {
		id = "a batch"
	}
	switch n.Kind {
	case flotilla.BatchEnded:
		return fmt.Sprintf("%s: a batch of %s ended after %s", org, rows, span(n.Took))
	case flotilla.BatchFound:
		return fmt.Sprintf("%s: %s of %s is taken for one whose create got no answer, until its results prove it", org, id, rows)
	case flotilla.BatchCanceled:
		return fmt.Sprintf("%s: canceling %s of %s, %s old%s; its answers are collected, %s", org, id, rows, span(n.Took), cancelTexts[n.Class], restOf(n.Class))
	case flotilla.BatchStalled:
		return fmt.Sprintf("%s: %s of %s is overdue: its batches may not proceed, and nothing new goes into its queue", org, id, rows)
	case flotilla.BatchUnseen:
		return fmt.Sprintf("%s: %s of %s, %s old, is not found there: its rows wait for it until it must have expired, a day after its create", org, id, rows, span(n.Took))
	case flotilla.BatchGone:
		return fmt.Sprintf("%s: %s can no longer be asked for: its %s go again, its dollars stay in doubt", org, id, rows)
	case flotilla.BatchOrphaned:
		return fmt.Sprintf("%s: %s of %s waits for the key of the org that made it", org, id, rows)
	case flotilla.BatchStrange:
		return fmt.Sprintf("%s: %s is another's, and is left alone", org, id)
	case flotilla.StrangeResult:
		return fmt.Sprintf("%s: %s has a result for a row that is not in it, or has one already: it is left out", org, id)
	case flotilla.QueueFull:
		return fmt.Sprintf("%s: its batch queue has no room for %s", org, rows)
	case flotilla.BatchRefused:
		return fmt.Sprintf("%s: a batch of %s is refused, and no more go there: %s", org, rows, oneLine(n.Says))
	case flotilla.BatchesProceed:
		return fmt.Sprintf("%s: its batches proceed again, at about %.1f rows/s each", org, n.Value)
	case flotilla.Rescue:
		return fmt.Sprintf("rescue: sync takes what batches will not have answered in time; %s left", rows)
	}
	return ""
}

// cancelTexts say why a batch is canceled, by Notice.Class.
var cancelTexts = map[string]string{
	flotilla.CancelDeadline: " (rescue for the deadline)", flotilla.CancelSooner: " (sync will be sooner)",
	flotilla.CancelStalled: " (it is overdue, or as others are)", flotilla.CancelAsked: " (the job is canceled)",
}

// restOf says what becomes of the rows of a canceled batch that have no answer.
func restOf(class string) string {
	if class == flotilla.CancelAsked {
		return "the rest is not sent"
	}
	return "the rest goes again"
}

// mostSaid is how much of an API's words a line of ours has, in bytes.
const mostSaid = 200

// oneLine is what an API says as part of a line of ours.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) > mostSaid {
		text = strings.ToValidUTF8(text[:mostSaid], "") + "…"
	}
	return text
}
