package judge

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// Summarize implements job.Craft.
func (p *Panel) Summarize(all iter.Seq2[*job.Done, error]) (json.RawMessage, error) {
	var marks []Mark
	words, lacking := map[string]string{}, map[string]int{}
	for d, err := range all {
		if err != nil {
			return nil, fmt.Errorf("reading the verdicts: %w", err)
		}
		m := p.mark(d, words)
		if m.Status != Scored && !d.Told {
			lacking[m.Status]++
		}
		marks = append(marks, m)
	}
	s := Summarize(marks, SummaryOptions{Judges: p.Judges(), By: p.set.By, Label: p.set.Label, Draw: p.set.Draw})
	p.mu.Lock()
	p.summary, p.lacking = s, lacking
	p.mu.Unlock()
	return json.Marshal(s)
}

// mark is what statistics need of a verdict. Texts of groups and labels are kept
// once.
func (p *Panel) mark(d *job.Done, words map[string]string) Mark {
	once := func(name string) string {
		text := d.Row.Plain(name)
		if kept, ok := words[text]; ok {
			return kept
		}
		words[text] = text
		return text
	}
	_, swapped := p.seat(d.Ask)
	m := Mark{
		Row: d.Record, ID: strings.Clone(d.ID), Group: once(p.set.By), Label: once(p.set.Label),
		Pair: d.Ask / p.orders(), Repeat: d.Repeat, Swapped: swapped, Reading: p.reading(d.Ask, d.Answer, d.Told),
	}
	m.Raw, m.Why = "", ""
	return m
}

// Retry are the words of --retry that send some rows of the job again: those by
// which judges gave no verdict. What failed is the job's own to name.
func (p *Panel) Retry() (kinds []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, status := range []string{Truncated, Refused, Unparsable} {
		if p.lacking[status] > 0 {
			kinds = append(kinds, status)
		}
	}
	return kinds
}

// Summary is what the verdicts of the job amount to, once it has been summed up;
// nil: not yet.
func (p *Panel) Summary() *Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.summary
}
