package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/gateway"
)

// tally counts what a gateway did, for its last words.
type tally struct {
	mu       sync.Mutex
	answered int // calls that succeeded
	refused  int // calls that did not, …
	unpaid   int // … of them, for want of money
	cached   int
	rows     int                       // of batches
	spent    map[string]flotilla.Money // by model
	kept     flotilla.Money            // beyond what was spent, for answers that broke off
	byClient map[string]int64          // calls
	spared   map[string]int            // refusals that no caller saw, by class
}

func newTally() *tally {
	return &tally{spent: map[string]flotilla.Money{}, byClient: map[string]int64{}, spared: map[string]int{}}
}

// told takes in a request that is over.
func (t *tally) told(r *gateway.Record) {
	if r.Route != "messages" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byClient[r.Client]++
	switch {
	case r.Cached:
		t.cached++
	case r.Status == http.StatusOK && r.Kind == "":
		t.answered++
	default:
		t.refused++
		if r.Kind == "billing_error" && r.Org == "" { // ours, of no org
			t.unpaid++
		}
	}
}

// calls are those of each client.
func (t *tally) calls() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.byClient)
}

// observe takes in an attempt that has ended.
func (t *tally) observe(o flotilla.Observation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.Cost != 0 {
		t.spent[o.Model] += o.Cost
	}
	t.kept += o.Kept
	if !o.Line && o.Final && o.Class == "succeeded" { // by batch or by sync
		t.rows++
	}
	if o.Final {
		return
	}
	switch o.Class {
	case "succeeded", "canceled": // the fleet takes rows of batches back by itself, to send them sooner
	case "overloaded":
		t.spared["529"]++
	case "steady", "acceleration", "hidden", "concurrency", "daily", "spend":
		t.spared["429"]++
	default:
		t.spared["other"]++
	}
}

// lines are the last words.
func (t *tally) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := plural(t.answered, "call") + " answered"
	for _, part := range []struct {
		n    int
		text string
	}{
		{t.refused - t.unpaid, "not answered"}, {t.unpaid, "refused by a budget"}, {t.cached, "from the journal"}, {t.rows, "rows of batches"},
	} {
		if part.n > 0 {
			line += fmt.Sprintf(", %s %s", whole(part.n), part.text)
		}
	}
	total := flotilla.Money(0)
	var models []string
	for _, model := range slices.Sorted(maps.Keys(t.spent)) {
		total += t.spent[model]
		models = append(models, fmt.Sprintf("%s %s", model, t.spent[model]))
	}
	lines := []string{joined(": ", line+"; "+total.String(), joined(", ", models...))}
	if t.kept > 0 {
		lines = append(lines, t.kept.String()+" more in doubt, which caps keep: answers that broke off are told by what came of them")
	}
	if n := t.spared["429"] + t.spared["529"] + t.spared["other"]; n > 0 {
		lines = append(lines, fmt.Sprintf("spared its callers %s 429s, %s 529s and %s other failures, which it waited out or sent elsewhere",
			whole(t.spared["429"]), whole(t.spared["529"]), whole(t.spared["other"])))
	}
	return lines
}

// summary says what was served, once it is over.
func (v *server) summary() {
	lines := v.tally.lines()
	if v.pot != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
		defer cancel()
		if text := spentText(ctx, v.pot); text != "" {
			lines = append(lines, text)
		}
	}
	for _, line := range lines {
		_, _ = fmt.Fprintln(v.err, "flotilla: "+line)
	}
}
