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
	words := map[string]string{}
	for d, err := range all {
		if err != nil {
			return nil, fmt.Errorf("reading the verdicts: %w", err)
		}
		marks = append(marks, p.mark(d, words))
	}
	s := Summarize(marks, SummaryOptions{Judges: p.Judges(), By: p.set.By, Label: p.set.Label, Draw: p.set.Draw})
	p.mu.Lock()
	p.summary = s
	p.mu.Unlock()
	return json.Marshal(s)
}

// mark is what statistics need of a verdict. Texts of groups and labels are kept
// once.
func (p *Panel) mark(d *job.Done, words map[string]string) Mark {
	once := func(name string) string {
		text := fieldText(d.Row, name)
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

// Summary is what the verdicts of the job amount to, once it has been summed up;
// nil: not yet.
func (p *Panel) Summary() *Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.summary
}
