package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// listedExperiment is one line of measure list.
type listedExperiment struct {
	Experiment string           `json:"experiment"`
	Question   string           `json:"question"`
	Measured   []listedMeasured `json:"measured"` // newest of each window
}

type listedMeasured struct {
	Window   string    `json:"window"`
	Ended    time.Time `json:"ended"`
	Emulated string    `json:"emulated,omitempty"`
	Verdict  string    `json:"verdict"`
}

// list names the experiments, and when each was carried out.
func (f *measureFlags) list(cmd *cobra.Command) error {
	known, err := lab.ReadAll(f.results)
	if err != nil {
		warn(cmd.ErrOrStderr(), err.Error())
	}
	var lines []listedExperiment
	for _, x := range lab.All() {
		l := listedExperiment{Experiment: x.Name(), Question: x.Question(), Measured: []listedMeasured{}}
		for _, r := range slices.Backward(known) {
			if r.Experiment == x.Name() {
				l.Measured = append(l.Measured, listedMeasured{r.Window, r.Ended, r.Emulated, r.Verdict})
			}
		}
		lines = append(lines, l)
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), lines)
	}
	return printList(cmd.OutOrStdout(), lines)
}

func printList(w io.Writer, lines []listedExperiment) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "experiment\tanswers\tmeasured")
	for _, l := range lines {
		var when []string
		for _, m := range l.Measured {
			text := m.Ended.Local().Format(time.DateOnly) + " (" + m.Window + ")"
			if m.Emulated != "" {
				text = "emulator " + m.Emulated + " (" + m.Window + ")"
			}
			when = append(when, text)
		}
		if len(when) == 0 {
			when = []string{"-"}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.Experiment, l.Question, strings.Join(when, ", "))
	}
	return errors.Join(t.Flush())
}
