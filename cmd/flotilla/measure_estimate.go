package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/price"
)

// estimateReport is what --estimate prints. Dollars are N × (in × $in + out ×
// $out) over all lines, with a reserve for batches that expire and are sent again.
type estimateReport struct {
	Emulated    string         `json:"emulated,omitempty"`
	Orgs        []string       `json:"orgs"`
	Assumed     []string       `json:"assumed"`
	Prices      string         `json:"prices"`
	Experiments []estimateLine `json:"experiments"`
	Total       estimateLine   `json:"total"`
	// StructuralUSD is for what limits and batches are, not how much they are.
	StructuralUSD flotilla.Money `json:"structural_usd"`
	OpusUSD       flotilla.Money `json:"opus_usd"`
	OpusShare     float64        `json:"opus_share"`
	Warnings      []string       `json:"warnings"`
}

type estimateLine struct {
	Experiment string         `json:"experiment"`
	Calls      int64          `json:"calls"`      // by sync
	BatchRows  int64          `json:"batch_rows"` // calls by batch
	In         int64          `json:"input_tokens"`
	Out        int64          `json:"output_tokens"`
	USD        flotilla.Money `json:"usd"` // the reserve included
	Reserve    flotilla.Money `json:"reserve_usd"`
	TakesS     float64        `json:"takes_s"` // about
	Refused    string         `json:"refused,omitempty"`
	Hint       string         `json:"hint,omitempty"`
	Lines      []lab.Planned  `json:"lines,omitempty"`
}

// estimates prices experiments; nothing is sent.
func (m *measuring) estimates(xs []lab.Experiment) *estimateReport {
	env := m.base
	learnOf(&env)
	p := &estimateReport{Emulated: env.Emulated, Orgs: []string{}, Assumed: m.assumed, Prices: m.settings.Prices.Date.Format(time.DateOnly), Warnings: []string{}, Total: estimateLine{Experiment: "total"}}
	if p.Assumed == nil {
		p.Assumed = []string{}
	}
	for _, o := range env.Distinct() {
		p.Orgs = append(p.Orgs, o.Name)
	}
	for _, x := range xs {
		est := x.Estimate(&env)
		l := estimateOf(x.Name(), &est, m.settings.Prices)
		p.Experiments = append(p.Experiments, l)
		if l.Refused == "" {
			p.add(&l, m.settings.Prices)
		}
		for _, w := range est.Warnings {
			p.Warnings = append(p.Warnings, x.Name()+": "+w)
		}
	}
	if p.Total.USD > 0 {
		p.OpusShare = float64(p.OpusUSD) / float64(p.Total.USD)
	}
	return p
}

func estimateOf(name string, est *lab.Estimate, table *price.Table) estimateLine {
	l := estimateLine{Experiment: name, USD: est.Cost(table), Reserve: est.Reserve, TakesS: est.Takes.Seconds(), Refused: est.Refused, Hint: est.Hint, Lines: est.Lines}
	for _, p := range est.Lines {
		if p.Tier == lab.Batch {
			l.BatchRows += p.Calls
		} else {
			l.Calls += p.Calls
		}
		l.In, l.Out = l.In+p.Calls*p.In, l.Out+p.Calls*p.Out
	}
	return l
}

func (p *estimateReport) add(l *estimateLine, table *price.Table) {
	t := &p.Total
	if structural(l.Experiment) {
		p.StructuralUSD += l.USD
	}
	t.Calls, t.BatchRows, t.In, t.Out = t.Calls+l.Calls, t.BatchRows+l.BatchRows, t.In+l.In, t.Out+l.Out
	t.USD, t.Reserve, t.TakesS = t.USD+l.USD, t.Reserve+l.Reserve, t.TakesS+l.TakesS
	for _, line := range l.Lines {
		if price.FamilyOf(line.Model) == "opus" {
			p.OpusUSD += line.Cost(table)
		}
	}
}

// structural says that an experiment asks how the provider works, not how much it
// gives: such questions are asked once, of the cheapest model.
func structural(experiment string) bool {
	return experiment == "additivity-sync" || experiment == "acceleration" || strings.HasPrefix(experiment, "batch-")
}

func (m *measuring) printEstimates(xs []lab.Experiment) error {
	p := m.estimates(xs)
	if m.flags.json {
		return printJSON(m.out, p)
	}
	if err := p.print(m.out); err != nil {
		return err
	}
	_, err := io.WriteString(m.err, "flotilla: nothing was sent\n")
	return err
}

func (p *estimateReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "experiment\tcalls\tbatch rows\tinput\toutput\tdollars\treserve in it\ttakes about")
	for i := range p.Experiments {
		p.Experiments[i].print(t)
	}
	if len(p.Experiments) > 1 {
		p.Total.print(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	lines := []string{fmt.Sprintf("of %s, %s ask how limits and batches work, %s (%.0f %%) are for Opus models; prices of %s", p.Total.USD, p.StructuralUSD, p.OpusUSD, 100*p.OpusShare, p.Prices)}
	for _, a := range p.Assumed {
		lines = append(lines, "assumed: "+a)
	}
	for i := range p.Experiments {
		if l := &p.Experiments[i]; l.Refused != "" {
			lines = append(lines, fmt.Sprintf("%s cannot run: %s", l.Experiment, l.Refused))
			if l.Hint != "" {
				lines = append(lines, "  "+l.Hint)
			}
		}
	}
	for _, line := range append(lines, p.Warnings...) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (l *estimateLine) print(w io.Writer) {
	if l.Refused != "" {
		fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t-\tcannot run\n", l.Experiment)
		return
	}
	takes := span(seconds(l.TakesS))
	if l.TakesS == 0 {
		takes = "a moment"
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Experiment, whole(int(l.Calls)), whole(int(l.BatchRows)), brief(float64(l.In)), brief(float64(l.Out)), l.USD, l.Reserve, takes)
}
