package main

import (
	"fmt"
	"slices"
	"time"
)

// gathered keeps events of which a large job has hundreds, ends and cancels of
// batches, until it is time for a line about all of them. Programs
// (--progress json) are told of each.
type gathered struct {
	kept []gatheredEvent
	said map[string]bool // kinds of which one was told at once
	at   time.Time       // of the last lines
}

// gatheredEvent is one kind of event in one org, so many times.
type gatheredEvent struct {
	event
	n int
}

// take keeps an event for later. It leaves the first end of a batch, which
// tells how long one takes, and whatever else people should know at once.
func (g *gathered) take(e *event) bool {
	switch e.kind {
	case "batch_ended":
		if !g.said[e.kind] {
			g.said[e.kind] = true
			return false
		}
	case "batch_canceled":
	default:
		return false
	}
	i := slices.IndexFunc(g.kept, func(k gatheredEvent) bool {
		return k.kind == e.kind && k.org == e.org && k.class == e.class
	})
	if i < 0 {
		g.kept = append(g.kept, gatheredEvent{*e, 1})
		return true
	}
	k := &g.kept[i]
	k.n, k.at, k.value = k.n+1, e.at, k.value+e.value
	return true
}

// give hands out what was kept.
func (g *gathered) give(now time.Time, tell func(*event)) {
	for i := range g.kept {
		k := &g.kept[i]
		if k.n > 1 {
			k.text = k.line()
		}
		tell(&k.event)
	}
	g.kept, g.at = g.kept[:0], now
}

func (k *gatheredEvent) line() string {
	line := fmt.Sprintf("%s: %s batches of %s", title(k.org), whole(k.n), plural(int(k.value), "row"))
	if k.kind == "batch_canceled" {
		return line + " are being canceled" + cancelTexts[k.class] + "; their answers are collected, " + restOf(k.class)
	}
	return line + " ended"
}
