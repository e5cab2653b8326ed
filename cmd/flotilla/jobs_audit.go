package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// auditReport is what does not add up in a job.
type auditReport struct {
	Job      string         `json:"job"`
	OK       bool           `json:"ok"`
	InDoubt  []doubtLine    `json:"in_doubt"`
	Doubled  []doubledLine  `json:"doubled"` // rows that were paid for more than once
	Drift    []string       `json:"drift"`
	DoubtUSD flotilla.Money `json:"in_doubt_usd"` // counted as spent
	Batches  []batchLine    `json:"open_batches"` // at the provider; what they may cost counts as spent
	Cleared  int            `json:"cleared,omitempty"`
	Notes    []string       `json:"notes,omitempty"` // what could not be compared
}

type doubtLine struct {
	Row      int            `json:"row"`             // from 1; 0: of no row, but of a block
	Block    int64          `json:"block,omitempty"` // of money that a gateway's calls drew on when it died; 0: none
	At       time.Time      `json:"at"`
	Org      string         `json:"org"`
	Model    string         `json:"model"`
	WorstUSD flotilla.Money `json:"worst_usd"`
	Crashed  bool           `json:"crashed"`  // its process died
	Answered bool           `json:"answered"` // another attempt of the row was
}

type doubledLine struct {
	Row     int `json:"row"` // from 1
	Answers int `json:"answers"`
}

func newJobsAuditCmd() *cobra.Command {
	var flags jobsFlags
	var clear bool
	cmd := &cobra.Command{
		Use:   "audit ID",
		Short: "Compare what a job intended, had answered, wrote and paid",
		Long: `Compare intents, answers, the lines of OUT and, with an admin key, the provider's
usage report; list what is in doubt, doubled or adrift. Exit code 2 when there is any.

An attempt in doubt may have been answered and billed without our knowing; it counts
as spent at its worst case. --clear takes it off, for one who has seen that it was not.`,
		Example: "  flotilla jobs audit 7f3a\n  flotilla jobs audit 7f3a --clear",
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.withJob(cmd, args[0], func(j *journal.Journal, info *journal.JobInfo) error {
				r, err := auditJob(cmd.Context(), j, info)
				if err == nil {
					err = r.compareUsage(cmd, j, info)
				}
				if err == nil && clear {
					err = r.clear(cmd.Context(), j, info)
				}
				if err != nil {
					return err
				}
				return r.tell(cmd.OutOrStdout(), flags.json)
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&clear, "clear", false, "take what is in doubt off what counts as spent")
	return cmd
}

func auditJob(ctx context.Context, j *journal.Journal, info *journal.JobInfo) (*auditReport, error) {
	a, err := j.Audit(ctx, info.ID, nil)
	if err != nil {
		return nil, err
	}
	r := &auditReport{Job: info.Key, InDoubt: []doubtLine{}, Doubled: []doubledLine{}, Drift: []string{}}
	for _, d := range a.Doubts {
		r.InDoubt = append(r.InDoubt, doubtLine{d.Row + 1, d.Block, d.At, d.Org, d.Model, d.Worst, d.Crashed, d.Succeeded})
		r.DoubtUSD += d.Worst
	}
	for _, d := range a.Doubled {
		r.Doubled = append(r.Doubled, doubledLine{d.Row + 1, d.Answers})
	}
	if r.Batches, err = batchesOf(ctx, j, info.ID); err != nil {
		return nil, err
	}
	if a.Booked != a.Counted {
		r.drift("the journal's sums say %s, its records %s", a.Booked, a.Counted)
	}
	for _, n := range a.Blocks {
		r.drift("the money of block %d cannot be right", n)
	}
	if a.Open > 0 && info.Holder == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%s counts as spent, which a process that died had reserved: the next command on this journal that sends lists it as in doubt", a.Open))
	}
	for _, o := range info.Outs {
		if err := r.compareOut(ctx, j, info, o.Path); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *auditReport) drift(format string, args ...any) {
	r.Drift = append(r.Drift, fmt.Sprintf(format, args...))
}

// compareOut holds the ids of OUT against those of settled rows.
func (r *auditReport) compareOut(ctx context.Context, j *journal.Journal, info *journal.JobInfo, path string) error {
	if !strings.HasSuffix(path, ".jsonl") {
		r.Notes = append(r.Notes, path+": only .jsonl can be compared line by line")
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		r.drift("%s is gone: the same command writes it again", path)
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	want := &idSet{ids: map[string]int{}}
	if err := exportLines(ctx, j, info, want); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%s was not compared: %s", path, err))
		return nil
	}
	have := &idSet{ids: map[string]int{}}
	if _, err := io.Copy(have, f); err != nil {
		return err
	}
	r.compareIDs(path, want, have)
	return nil
}

// idExamples is how many ids a line of drift names.
const idExamples = 3

func (r *auditReport) compareIDs(path string, want, have *idSet) {
	var missing, extra, twice []string
	for id := range want.ids {
		if have.ids[id] == 0 {
			missing = append(missing, id)
		}
	}
	for id, n := range have.ids {
		if want.ids[id] == 0 {
			extra = append(extra, id)
		}
		if n > 1 {
			twice = append(twice, id)
		}
	}
	for _, d := range []struct {
		ids  []string
		what string
	}{{missing, "lacks %s settled rows (%s): the same command writes them"}, {extra, "has %s lines of rows that are not settled (%s)"}, {twice, "has %s rows more than once (%s)"}} {
		if len(d.ids) > 0 {
			r.drift("%s "+d.what, path, whole(len(d.ids)), examples(d.ids))
		}
	}
	if len(have.rest) > 0 {
		r.drift("%s ends in the middle of a line", path)
	}
}

// examples are a few ids of many, always the same ones.
func examples(ids []string) string {
	slices.Sort(ids)
	if len(ids) > idExamples {
		return strings.Join(ids[:idExamples], ", ") + ", …"
	}
	return strings.Join(ids, ", ")
}

// idSet counts the ids of JSON lines that are written to it.
type idSet struct {
	ids  map[string]int
	rest []byte
}

func (s *idSet) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		line, after, whole := bytes.Cut(s.rest, []byte{'\n'})
		if !whole {
			return len(p), nil
		}
		var v struct {
			ID string `json:"custom_id"`
		}
		if err := json.Unmarshal(line, &v); err != nil {
			return 0, fmt.Errorf("a line that is no result: %w", err)
		}
		s.ids[v.ID]++
		s.rest = append(s.rest[:0], after...)
	}
}

func (r *auditReport) clear(ctx context.Context, j *journal.Journal, info *journal.JobInfo) error {
	c, err := j.ClearDoubt(ctx, info.ID)
	r.Cleared = c.Attempts
	r.InDoubt, r.DoubtUSD = r.InDoubt[:0], 0
	return err
}

// tell prints the report; exit code 2 says that something does not add up.
func (r *auditReport) tell(w io.Writer, asJSON bool) error {
	r.OK = len(r.InDoubt)+len(r.Doubled)+len(r.Drift) == 0
	if asJSON {
		if err := printJSON(w, r); err != nil {
			return err
		}
	} else if err := r.print(w); err != nil {
		return err
	}
	if r.OK {
		return nil
	}
	return exitWith(job.ExitRows, nil)
}

// auditLines bounds each list in print.
const auditLines = 20

func (r *auditReport) print(w io.Writer) error {
	b := bufio.NewWriter(w)
	if r.Cleared > 0 {
		fmt.Fprintf(b, "cleared: %s attempts no longer count as spent\n", whole(r.Cleared))
	}
	fmt.Fprintf(b, "in doubt: %s attempts, %s at worst, counted as spent\n", whole(len(r.InDoubt)), r.DoubtUSD)
	for _, d := range r.InDoubt[:min(len(r.InDoubt), auditLines)] {
		what := "pending"
		if d.Answered {
			what = "answered by another attempt"
		}
		if d.Block != 0 {
			fmt.Fprintf(b, "  calls since %s  %s  reserved ahead for them when their process died\n", d.At.Local().Format(time.DateTime), d.WorstUSD)
			continue
		}
		fmt.Fprintf(b, "  row %s  %s  %s  %s  %s\n", whole(d.Row), d.At.Local().Format(time.DateTime), title(d.Org), d.WorstUSD, what)
	}
	if len(r.Batches) > 0 {
		fmt.Fprintf(b, "open at the provider: %s, counted as spent at worst\n", batchesText(len(r.Batches)))
	}
	for i := range r.Batches[:min(len(r.Batches), auditLines)] {
		fmt.Fprintf(b, "  %s\n", r.Batches[i].text())
	}
	fmt.Fprintf(b, "doubled: %s rows\n", whole(len(r.Doubled)))
	for _, d := range r.Doubled[:min(len(r.Doubled), auditLines)] {
		fmt.Fprintf(b, "  row %s  %d answers\n", whole(d.Row), d.Answers)
	}
	fmt.Fprintf(b, "drift: %s\n", whole(len(r.Drift)))
	for _, d := range append(r.Drift, r.Notes...) {
		fmt.Fprintf(b, "  %s\n", d)
	}
	return b.Flush()
}
