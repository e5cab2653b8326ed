package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// batchLine is a batch that a job has at the provider.
type batchLine struct {
	Org       string         `json:"org"`
	Pool      string         `json:"pool"`
	ID        string         `json:"id"`   // empty: its create was in doubt, it will be looked for
	Rows      int            `json:"rows"` // that have not come back
	Made      time.Time      `json:"made"`
	AgeS      float64        `json:"age_s"`
	WorstUSD  flotilla.Money `json:"worst_usd"` // reserved for them
	Sure      bool           `json:"sure"`      // proven ours
	Canceling bool           `json:"canceling"`
}

// batchesOf are the open batches of one job, the oldest first.
func batchesOf(ctx context.Context, j *journal.Journal, job int64) ([]batchLine, error) {
	lines := []batchLine{}
	all, err := j.OpenBatches(ctx)
	for i := range all {
		if all[i].Job == job {
			lines = append(lines, batchLineOf(&all[i], time.Now()))
		}
	}
	return lines, err
}

func batchLineOf(b *journal.BatchInfo, now time.Time) batchLine {
	return batchLine{
		Org: b.Org, Pool: b.Pool, ID: b.ID, Rows: b.Rows, Made: b.At, AgeS: max(now.Sub(b.At), 0).Seconds(),
		WorstUSD: b.Worst, Sure: b.Sure, Canceling: b.Canceling,
	}
}

func (b *batchLine) text() string {
	text := fmt.Sprintf("%s %s: %s", title(b.Org), cmp.Or(b.ID, "(to be looked for)"), plural(b.Rows, "row"))
	if b.AgeS > 0 { // one made on an emulator's clock may be ahead of ours
		text += fmt.Sprintf(", %s old", span(seconds(b.AgeS)))
	}
	text += fmt.Sprintf(", %s at most", b.WorstUSD)
	if b.Canceling {
		text += ", canceling"
	}
	return text
}

// forgotten are the open batches of one job that nobody looks after.
type forgotten struct {
	job     string
	batches int
	rows    int
	oldest  time.Time
	gateway bool // it is of a gateway's client
	worst   flotilla.Money
}

// forgottenBatches are those of jobs other than ours in a realm that no process
// carries now.
func forgottenBatches(ctx context.Context, j *journal.Journal, realm journal.Realm, ours int64) ([]forgotten, error) {
	all, err := j.OpenBatches(ctx)
	if err != nil {
		return nil, err
	}
	var out []forgotten
	index := map[int64]int{}
	for i := range all {
		b := &all[i]
		if b.Job == ours || b.Realm != realm {
			continue
		}
		at, seen := index[b.Job]
		if !seen {
			info, err := j.Find(ctx, b.Key)
			if err != nil {
				return nil, err
			}
			at = -1
			if info.Holder == nil {
				at = len(out)
				out = append(out, forgotten{job: b.Key, oldest: b.At, gateway: gatewayJob(&info)})
			}
			index[b.Job] = at
		}
		if at >= 0 {
			f := &out[at]
			f.batches, f.rows, f.worst = f.batches+1, f.rows+b.Rows, f.worst+b.Worst
		}
	}
	return out, nil
}

func (f *forgotten) text(now time.Time) string {
	way := "its command collects them, flotilla jobs cancel " + f.job + " cancels them"
	if f.gateway {
		way = "flotilla serve collects them"
	}
	return fmt.Sprintf("job %s has %s at the provider that nobody collects: %s, up to %s old, %s at most; %s",
		f.job, batchesText(f.batches), plural(f.rows, "row"), span(max(now.Sub(f.oldest), 0)), f.worst, way)
}

// batchesText counts batches.
func batchesText(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return whole(n) + " batches"
}

// sayForgotten announces them.
func (r *runner) sayForgotten(ctx context.Context) error {
	all, err := forgottenBatches(ctx, r.journal, r.shares.realm, r.book.ID())
	for i := range all {
		warn(r.err, all[i].text(r.now()()))
	}
	return err
}
