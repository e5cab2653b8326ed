package dashboard

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
)

// Summing up 141,600 rows takes a second: while a job runs it is done again only
// when so many times that has gone by, and this at least.
const (
	sumShare = 12
	sumEvery = 2 * time.Second
)

// mostGroups are told apart; a field of more values makes no groups.
const mostGroups = 400

// bookSum is the last summary of a book, and what it is of.
type bookSum struct {
	version  int
	summary  *judge.Summary // nil: none yet
	verdicts int            // in it
	rows     int            // whose groups and labels were known
	leftOut  int            // groups, where there are more than mostGroups
	again    time.Time      // not before this
}

// sumUp starts to make the summary anew where it is out of date, and waits for it
// for a while.
func (k *verdictBook) sumUp(d *jobDesk, info *journal.JobInfo, wait time.Duration) {
	running, draw := info.Holder != nil, drawOf(info)
	if !k.due(running, time.Now()) {
		return
	}
	k.summing.run(d, wait, func(context.Context) {
		began := time.Now()
		if !k.due(running, began) {
			return
		}
		next, opt, marks := k.toSum()
		opt.Draw = draw
		next.summary = judge.Summarize(marks, opt)
		next.again = began.Add(max(sumEvery, sumShare*time.Since(began)))
		k.mu.Lock()
		defer k.mu.Unlock()
		k.sum = next
	})
}

// due says whether there is more to sum up than was, and all of what a summary
// reads is there.
func (k *verdictBook) due(running bool, now time.Time) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	switch {
	case k.read == 0 || !k.caught || k.version == k.sum.version:
		return false
	case k.bench.grouped() && k.missing == "" && !k.named:
		return false
	}
	return !running || !now.Before(k.sum.again)
}

// toSum is what the next summary is made of.
func (k *verdictBook) toSum() (next bookSum, opt judge.SummaryOptions, marks []judge.Mark) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	next = bookSum{version: k.version, verdicts: k.read, rows: len(k.facts)}
	opt.Judges = k.bench.judges
	if len(k.facts) > 0 {
		opt.By, opt.Label = k.bench.by, k.bench.label
	}
	if n := k.groups(); n > mostGroups {
		opt.By, next.leftOut = "", n
	}
	return next, opt, k.marks()
}

// groups counts those of the rows in the book.
func (k *verdictBook) groups() int {
	seen := map[int32]bool{}
	for i := range k.facts {
		seen[k.facts[i].group] = true
	}
	return len(seen)
}

// marks are the verdicts of the book as statistics read them.
func (k *verdictBook) marks() []judge.Mark {
	marks := make([]judge.Mark, 0, k.read)
	scores := make([]float64, 0, k.read)
	for call := range k.said {
		v := &k.said[call]
		if v.status == 0 {
			continue
		}
		row, ask, repeat := k.bench.place(call)
		m := judge.Mark{Row: row, Repeat: repeat, Reading: judge.Reading{Status: statusOrder[v.status-1]}}
		m.Pair, m.Swapped = k.bench.seat(ask)
		if row < len(k.facts) {
			f := &k.facts[row]
			m.ID, m.Group, m.Label = f.id, k.words.all[f.group], k.words.all[f.label]
		}
		if !math.IsNaN(v.score) {
			scores = append(scores, v.score)
			m.Score = &scores[len(scores)-1]
		}
		if v.label >= 0 {
			m.Reading.Label = &k.labels.all[v.label]
		}
		marks = append(marks, m)
	}
	return marks
}

// summaryOf is what the last run of a job left of its verdicts; nil: nothing.
func summaryOf(info *journal.JobInfo) *judge.Summary {
	var t struct {
		Judge *judge.Summary `json:"judge"`
	}
	if len(info.Totals) == 0 || json.Unmarshal(info.Totals, &t) != nil {
		return nil
	}
	return t.Judge
}

// drawOf resamples as the job's own summary did, so that intervals are the same
// to the last digit.
func drawOf(info *journal.JobInfo) judge.Bootstrap {
	if s := summaryOf(info); s != nil {
		return judge.Bootstrap{Seed: s.Seed, Resamples: s.Resamples}
	}
	return judge.Bootstrap{}
}
