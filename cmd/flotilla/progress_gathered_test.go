package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestManyBatchesMakeOneLine(t *testing.T) {
	g := gathered{said: map[string]bool{}}
	var lines []string
	tell := func(e *event) { lines = append(lines, e.text) }
	for _, e := range []event{
		{kind: "batch_ended", org: "high", value: 150, text: "the first"},
		{kind: "batch_ended", org: "high", value: 150, text: "high, second"},
		{kind: "batch_ended", org: "low", value: 140, text: "low, alone"},
		{kind: "batch_ended", org: "high", value: 1500, text: "high, third"},
		{kind: "batch_stalled", org: "high", value: 150, text: "stalled"},
		{kind: "batch_canceled", org: "batch", class: "sooner", value: 10, text: "one"},
		{kind: "batch_canceled", org: "batch", class: "sooner", value: 20, text: "two"},
		{kind: "batch_canceled", org: "batch", class: "stalled", value: 20, text: "for another reason"},
	} {
		if !g.take(&e) {
			tell(&e)
		}
	}
	g.give(time.Time{}, tell)
	g.give(time.Time{}, tell) // nothing is told twice
	want := []string{
		"the first", "stalled",
		"high: 2 batches of 1,650 rows ended", "low, alone",
		"org batch: 2 batches of 30 rows are being canceled (sync will be sooner); their answers are collected, the rest goes again",
		"for another reason",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
