package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// jobDetail is everything the journal says of a job.
type jobDetail struct {
	jobLine
	Provider string          `json:"provider"`
	Inputs   []string        `json:"inputs"`
	Outputs  []string        `json:"outputs"`
	Runs     int             `json:"runs"`    // invocations
	Batches  []batchLine     `json:"batches"` // at the provider
	PID      int             `json:"pid,omitempty"`
	Host     string          `json:"host,omitempty"`
	Summary  json.RawMessage `json:"summary"` // of the last invocation that came to its end
}

// batchesShown is how many of a job's batches people are shown.
const batchesShown = 20

func newJobsShowCmd() *cobra.Command {
	var flags jobsFlags
	var follow bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one job, or follow it until it ends",
		Example: "  flotilla jobs show 7f3a --follow",
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.show(cmd, args[0], follow)
		},
	}
	flags.add(cmd)
	addFollow(cmd, &follow)
	return cmd
}

func addFollow(cmd *cobra.Command, follow *bool) {
	cmd.Flags().BoolVar(follow, "follow", false, "first show on standard error how far it is, until nothing runs any more")
}

func (f *jobsFlags) show(cmd *cobra.Command, id string, follow bool) error {
	return f.withJob(cmd, id, func(j *journal.Journal, info *journal.JobInfo) error {
		if follow {
			if err := followJob(cmd.Context(), j, info, cmd.ErrOrStderr()); err != nil {
				return err
			}
		}
		return showJob(cmd, j, info, f.json)
	})
}

func showJob(cmd *cobra.Command, j *journal.Journal, info *journal.JobInfo, asJSON bool) error {
	line, err := lineOf(cmd.Context(), j, info)
	if err != nil {
		return err
	}
	d := jobDetail{jobLine: line, Provider: info.Realm.Provider, Inputs: info.Inputs, Outputs: []string{}, Runs: info.Runs, Summary: info.Totals}
	if d.Batches, err = batchesOf(cmd.Context(), j, info.ID); err != nil {
		return err
	}
	for _, o := range info.Outs {
		d.Outputs = append(d.Outputs, o.Path)
	}
	if info.Holder != nil {
		d.PID, d.Host = info.Holder.PID, info.Holder.Host
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), d)
	}
	return d.print(cmd.OutOrStdout())
}

func (d *jobDetail) print(w io.Writer) error {
	p := &fieldPrinter{w: w}
	p.field("job", d.ID)
	state := d.State
	if d.PID > 0 {
		state += fmt.Sprintf(", by process %d on %s", d.PID, d.Host)
	}
	p.field("state", state)
	if d.Kind != journal.KindRun {
		p.field("kind", d.Kind)
	}
	p.field("client", d.Client)
	p.field("command", d.Command)
	p.field("provider", d.Provider)
	if d.Emulated != "" {
		p.field("emulated", d.Emulated)
	}
	for _, in := range d.Inputs {
		p.field("input", in)
	}
	for _, out := range d.Outputs {
		p.field("output", out)
	}
	r := &d.Rows
	p.field("rows", fmt.Sprintf("%s: %s succeeded, %s errored, %s expired, %s canceled, %s pending",
		whole(r.N), whole(r.Succeeded), whole(r.Errored), whole(r.Expired), whole(r.Canceled), whole(r.Pending)))
	if r.InDoubt > 0 {
		p.field("in doubt", fmt.Sprintf("%s attempts; flotilla jobs audit %s lists them", whole(r.InDoubt), d.ID))
	}
	for i := range d.Batches {
		if i == batchesShown {
			p.field("batch", fmt.Sprintf("and %s more; --json has all", whole(len(d.Batches)-i)))
			break
		}
		p.field("batch", d.Batches[i].text())
	}
	p.field("spent", d.SpentUSD.String())
	if d.CapUSD != nil {
		p.field("cap", capText(*d.CapUSD)+", set while it ran")
	}
	p.field("begun", d.Created.Local().Format(time.DateTime))
	if d.Ended != nil {
		p.field("ended", d.Ended.Local().Format(time.DateTime))
	}
	p.field("invocations", whole(d.Runs))
	return p.err
}

// capText is a cap for people.
func capText(limit flotilla.Money) string {
	switch {
	case limit == 0:
		return "none"
	case limit < 0:
		return "nothing more"
	}
	return limit.String()
}

// fieldPrinter prints names and values in two columns.
type fieldPrinter struct {
	w   io.Writer
	err error
}

func (p *fieldPrinter) field(name, value string) {
	if p.err == nil && value != "" {
		_, p.err = fmt.Fprintf(p.w, "%-12s %s\n", name, value)
	}
}
