package dashboard

import (
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
)

// judgeJSON is what the judges of a job have said, as it stands.
type judgeJSON struct {
	Judges  []seatJSON `json:"judges"`
	By      *string    `json:"by"`
	Label   *string    `json:"label"`
	Repeats int        `json:"repeats"` // of each verdict; 1 without --repeats
	Swap    bool       `json:"swap"`

	Calls   int `json:"calls"`   // verdicts that there are to be
	Settled int `json:"settled"` // calls that have ended
	Read    int `json:"read"`    // of those: verdicts that have been read here

	// Of is how many verdicts the summary is of. It is of the job's run where these
	// verdicts are still being read, or its inputs are gone.
	Summary *judge.Summary `json:"summary"` // null: nothing is said yet
	Of      int            `json:"of"`
	Source  *string        `json:"source"` // journal or run
	Ready   bool           `json:"ready"`  // it is of all that has been said

	Named   int     `json:"named"`           // rows whose names, groups and labels are known
	Missing *string `json:"missing"`         // why no more are
	LeftOut *int    `json:"groups_left_out"` // groups are not told apart: there are so many
	Fault   *string `json:"fault"`           // why there are no verdicts to read
}

// seatJSON is one judge.
type seatJSON struct {
	Rubric  string      `json:"rubric"`
	Version string      `json:"rubric_version"`
	Model   string      `json:"model"`
	Form    string      `json:"form"`
	Scale   *[2]float64 `json:"scale"`
	Labels  []string    `json:"labels"`
}

// A request waits so long for verdicts that came since the last one to be read,
// for the rows to be found, and for a summary.
const (
	verdictWait = 100 * time.Millisecond
	rowsWait    = 20 * time.Millisecond
	sumWait     = 300 * time.Millisecond
)

func (d *Dashboard) serveJudge(w http.ResponseWriter, r *http.Request) {
	info, ok := d.find(w, r)
	if !ok {
		return
	}
	v, ok := d.judged(w, r, &info, false)
	if !ok {
		return
	}
	c := v.tally.counted()
	settled := -c[journal.Pending]
	for _, n := range c {
		settled += n
	}
	v.book.sumUp(d.jobs, &info, sumWait)
	out := v.book.page(&info)
	out.Settled = settled
	writeJSON(w, out)
}

// judged is the view of a job of judges with its book as far as it has been
// read; where there is none, that is answered. The text of rows is made searchable
// at once where words are searched for, else in turn.
func (d *Dashboard) judged(w http.ResponseWriter, r *http.Request, info *journal.JobInfo, search bool) (*jobView, bool) {
	if info.Kind != journal.KindJudge {
		writeError(w, http.StatusNotFound, "job "+info.Key+" is no job of judges")
		return nil, false
	}
	v := d.jobs.rowsView(info, d.cfg.Now())
	if err := v.tally.catchUp(r.Context(), d.cfg.Journal, info); err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return nil, false
	}
	if search || v.book.level() {
		v.text.update(d.jobs, *info, rowsWait)
	} else { // making all text searchable would keep the verdicts waiting
		v.text.reach(d.jobs, *info, rowsWait)
	}
	v.book.update(d.jobs, v, *info, verdictWait)
	return v, true
}

// page is the book as the API tells it.
func (k *verdictBook) page(info *journal.JobInfo) judgeJSON {
	k.mu.RLock()
	defer k.mu.RUnlock()
	out := judgeJSON{Judges: []seatJSON{}, Calls: info.N, Repeats: 1, Read: k.read, Named: len(k.facts), Missing: some(k.missing), Fault: some(k.fault)}
	if b := k.bench; b != nil {
		out.By, out.Label, out.Repeats, out.Swap = some(b.by), some(b.label), b.repeats, b.swap
		out.Judges = b.seats()
	}
	k.summary(&out, info)
	return out
}

// summary chooses the book's own, or what the run left where that says more.
func (k *verdictBook) summary(out *judgeJSON, info *journal.JobInfo) {
	own := k.sum.summary
	out.Ready = k.fault != "" || k.caught && (k.named || k.missing != "") && (k.read == 0 || k.version == k.sum.version)
	less := own == nil || k.sum.version != k.version || k.bench.grouped() && k.sum.rows == 0
	if left := summaryOf(info); left != nil && less && info.Holder == nil {
		out.Summary, out.Source = left, some("run")
		for i := range left.Judges {
			out.Of += left.Judges[i].Total.Counts.Total()
		}
		return
	}
	if own != nil {
		out.Summary, out.Source, out.Of, out.LeftOut = own, some("journal"), k.sum.verdicts, some(k.sum.leftOut)
	}
}

// grouped says that a summary needs the rows.
func (b *bench) grouped() bool { return b != nil && (b.by != "" || b.label != "") }

func (b *bench) seats() []seatJSON {
	out := make([]seatJSON, len(b.judges))
	for i, r := range b.judges {
		out[i] = seatJSON{Rubric: r.Name, Version: r.Version, Model: r.Model, Form: r.Verdict.Form, Labels: append([]string{}, r.Verdict.Labels...)}
		if len(r.Verdict.Labels) == 0 && r.Verdict.Max > r.Verdict.Min {
			out[i].Scale = &[2]float64{r.Verdict.Min, r.Verdict.Max}
		}
	}
	return out
}
