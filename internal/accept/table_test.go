package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each thing that must be zero is a target that can be missed, and so is each
// speed.
func TestTargetsCanBeMissed(t *testing.T) {
	good := func() *table {
		return &table{Rows: 100, Arms: []*arm{
			{ID: "a", Over: overVirtual, Rows: 100, Succeeded: 100, WallS: 1_000},
			{ID: "b", Over: overVirtual, Rows: 100, Succeeded: 100, WallS: 50},
			{ID: "c-fast", Over: overVirtual, Rows: 100, Succeeded: 100, WallS: 10},
			{ID: "d1", Over: overVirtual, Rows: 100, Succeeded: 60, Lost: 40, WallS: 10}, // nobody promised anything
		}}
	}
	for what, spoil := range map[string]func(b, c *arm){
		"":                     func(_, _ *arm) {},
		"rows lost":            func(b, _ *arm) { b.Lost = 1 },
		"rows doubled":         func(_, c *arm) { c.Doubled = 1 },
		"dollars over the cap": func(b, _ *arm) { b.OverCap = 1 },
		"over the cap per key": func(_, c *arm) { c.OverSlots = 1 },
		"(b) by batch":         func(b, _ *arm) { b.WallS = 70 },
		"(c) fast":             func(_, c *arm) { c.WallS = 17 },
	} {
		tb := good()
		spoil(tb.Arms[1], tb.Arms[2])
		tb.compare()
		err := tb.judge(false)
		if what == "" && err != nil || what != "" && (err == nil || !strings.Contains(err.Error(), what)) {
			t.Errorf("%q: %v", what, err)
		}
	}
	tb := good()
	tb.Arms[1].WallS = 70
	tb.compare()
	if err := tb.judge(true); err != nil {
		t.Errorf("of few rows: %v", err)
	}
}

// A fewer rows' arm is compared row for row.
func TestTimesTheScript(t *testing.T) {
	tb := &table{Rows: 200, Arms: []*arm{
		{ID: "a", Over: overHTTP, Rows: 200, Succeeded: 200, WallS: 2_000},
		{ID: "c-fast", Over: overHTTP, Rows: 100, Succeeded: 50, WallS: 10},
	}}
	tb.compare()
	if got := tb.Arms[1].Faster; got != 50 {
		t.Errorf("%v times as fast, want 50", got)
	}
}

// docs/acceptance.md is what docs/acceptance.json says, and no target is missed
// in it.
func TestPageIsOfItsData(t *testing.T) {
	tb, err := readTable("../../docs/" + dataName)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/" + pageName)
	if err != nil {
		t.Fatal(err)
	}
	tb.compare()
	var got bytes.Buffer
	tb.page(&got)
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("go run ./internal/accept -page writes it anew (-file +data):\n%s", diff)
	}
	if err := tb.judge(false); err != nil {
		t.Error(err)
	}
	if tb.Rows != whole.rows {
		t.Errorf("it is of %d rows", tb.Rows)
	}
}
