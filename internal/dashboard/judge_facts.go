package dashboard

import (
	"context"
	"errors"
	"os"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// addFacts reads names, groups and labels of the rows that are not in the book
// yet. Without them verdicts are summed up all the same, without groups.
func (k *verdictBook) addFacts(ctx context.Context, v *jobView, info *journal.JobInfo) {
	reader, missing := v.text.rows()
	calls, ok := reader.(job.CallReader)
	if !ok {
		k.lack(missing)
		return
	}
	per := k.bench.perRow()
	n := min(reader.Len(), info.N) / per
	ready := make([]factTexts, 0, chunk)
	for from := len(k.facts); from < n && ctx.Err() == nil; from += len(ready) {
		ready = ready[:0]
		for row := from; row < min(n, from+chunk); row++ {
			f, err := k.bench.factsOf(calls, row*per)
			if errors.Is(err, os.ErrClosed) {
				return // its run has just ended: the next request reads its inputs
			}
			ready = append(ready, f)
		}
		k.keepFacts(ready)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.named, k.missing = ctx.Err() == nil, ""
}

func (k *verdictBook) lack(why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.named {
		k.missing = why
	}
}

type factTexts struct{ id, group, label string }

func (k *verdictBook) keepFacts(list []factTexts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range list {
		k.facts = append(k.facts, rowFacts{f.id, k.words.number(f.group), k.words.number(f.label)})
	}
	k.version++
}

// factsOf reads the row of a call. One that cannot be read has its name alone,
// and the error says why.
func (b *bench) factsOf(rows job.CallReader, call int) (f factTexts, err error) {
	f.id = rows.ID(call)
	c, err := rows.Call(call)
	if err != nil {
		return f, err
	}
	f.group, f.label = c.Row.Plain(b.by), c.Row.Plain(b.label)
	return f, nil
}
