package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
)

// rowsJSON is a page of a job's rows.
type rowsJSON struct {
	Total    int       `json:"total"`
	Matched  int       `json:"matched"`
	TookMS   float64   `json:"took_ms"`  // of the search
	Searched *string   `json:"searched"` // what the words were looked for in; null: there were none
	Indexed  float64   `json:"indexed"`  // how much of it has been made searchable, 0 to 1
	Rows     []rowJSON `json:"rows"`
}

type rowJSON struct {
	Row        int             `json:"row"`
	ID         *string         `json:"id"` // null: the inputs are gone
	Status     string          `json:"status"`
	StopReason *string         `json:"stop_reason"`
	Org        *string         `json:"org"`
	Pool       *string         `json:"pool"`
	Tier       *string         `json:"tier"`
	Model      *string         `json:"model"`
	CostUSD    *flotilla.Money `json:"cost_usd"`
	LatencyMS  *float64        `json:"latency_ms"`
	Attempts   *int            `json:"attempts"`
	HTTPStatus *int            `json:"http_status"` // of an error
	Cached     bool            `json:"cached"`      // another job's answer
	At         *time.Time      `json:"at"`          // settled, on the provider's clock
	Snippet    string          `json:"snippet"`
}

// rowDetail is a row with its prompt and its answer.
type rowDetail struct {
	rowJSON
	Body        json.RawMessage `json:"body"`
	BodyMissing *string         `json:"body_missing"`
	Message     json.RawMessage `json:"message"`
	Error       json.RawMessage `json:"error"`
}

// pageMost is how many rows one answer has at most.
const pageMost = 500

// maxTerms bounds what one search costs.
const maxTerms = 16

// indexWait is how long a request waits for rows that settled since the last one
// to become searchable.
const indexWait = 100 * time.Millisecond

func (d *Dashboard) serveRows(w http.ResponseWriter, r *http.Request) {
	info, ok := d.find(w, r)
	if !ok {
		return
	}
	offset, err1 := number(r, "offset", 0, 0, 1<<31-1)
	limit, err2 := number(r, "limit", 100, 0, pageMost)
	if err := errors.Join(err1, err2); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	words := terms(r.FormValue("q"))
	if len(words) > maxTerms {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("at most %d words are searched for", maxTerms))
		return
	}
	v := d.jobs.rowsView(&info, d.cfg.Now())
	if err := v.tally.catchUp(r.Context(), d.cfg.Journal, &info); err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	set, err := v.tally.filter(strings.FieldsFunc(r.FormValue("status"), func(c rune) bool { return c == ',' || c == ' ' }))
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	v.text.update(d.jobs, info, indexWait)
	out := d.search(v, set, words)
	if out.Rows, err = d.page(r.Context(), v, set.page(offset, limit), words); err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, out)
}

// search narrows a set of rows to those that have all words.
func (d *Dashboard) search(v *jobView, set rowSet, words [][]byte) rowsJSON {
	began := time.Now()
	c := v.tally.counted()
	out := rowsJSON{}
	for _, n := range c {
		out.Total += n
	}
	f := v.text.search(words, out.Total, out.Total-c[journal.Pending])
	out.Indexed = f.indexed
	if len(words) > 0 {
		set.and(f.rows)
		out.Searched = &f.searched
	}
	out.Matched = set.count()
	out.TookMS = float64(time.Since(began).Microseconds()) / 1000
	return out
}

// page reads the rows of a page.
func (d *Dashboard) page(ctx context.Context, v *jobView, rows []int, words [][]byte) ([]rowJSON, error) {
	out := make([]rowJSON, 0, len(rows))
	for _, row := range rows {
		one, err := d.row(ctx, v, row, words)
		if err != nil {
			return nil, err
		}
		out = append(out, one.rowJSON)
	}
	return out, nil
}

// row is everything about one row.
func (d *Dashboard) row(ctx context.Context, v *jobView, row int, words [][]byte) (*rowDetail, error) {
	outcome, _, at := v.tally.standing(row)
	out := &rowDetail{rowJSON: rowJSON{Row: row, Status: outcome.String()}}
	if outcome == journal.Pending {
		out.Status = "pending"
	}
	if at > 0 {
		a, err := d.cfg.Journal.Answer(ctx, at)
		if err != nil {
			return nil, err
		}
		out.answered(&a)
	}
	reader, missing := v.text.rows()
	switch {
	case reader == nil:
		out.BodyMissing = some(missing)
	case row >= reader.Len():
		out.BodyMissing = some("the input has no such row any more")
	default:
		out.ID = some(reader.ID(row))
		body, err := reader.Body(row)
		if err != nil {
			out.BodyMissing = some(err.Error())
		} else {
			out.Body = body
		}
	}
	answer := out.Message
	if answer == nil {
		answer = out.Error
	}
	out.Snippet = snippet(words, answer, out.Body)
	return out, nil
}

func (out *rowDetail) answered(a *journal.Answer) {
	out.StopReason, out.Org, out.Pool, out.Tier, out.Model = some(a.StopReason), some(a.Org), some(a.Pool), some(a.Tier), some(a.Model)
	out.CostUSD, out.LatencyMS, out.Attempts, out.HTTPStatus = &a.Cost, millis(a.Latency), some(a.Attempts), some(a.Status)
	out.Cached, out.At = a.Cached, someTime(a.At)
	switch {
	case !json.Valid(a.Body):
	case a.Type == journal.Succeeded:
		out.Message = a.Body
	default:
		out.Error = a.Body
	}
}

func (d *Dashboard) serveRow(w http.ResponseWriter, r *http.Request) {
	info, ok := d.find(w, r)
	if !ok {
		return
	}
	v := d.jobs.rowsView(&info, d.cfg.Now())
	if err := v.tally.catchUp(r.Context(), d.cfg.Journal, &info); err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	n := 0
	for _, c := range v.tally.counted() {
		n += c
	}
	row, err := strconv.Atoi(r.PathValue("row"))
	if err != nil || row < 0 || row >= n {
		writeError(w, http.StatusNotFound, "the job has no such row; they count from 0")
		return
	}
	v.text.update(d.jobs, info, indexWait)
	out, err := d.row(r.Context(), v, row, nil)
	if err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, out)
}

// rowsView is the view of a job whose rows somebody looks at.
func (d *jobDesk) rowsView(info *journal.JobInfo, now time.Time) *jobView {
	v := d.view(info.ID, now)
	d.mu.Lock()
	defer d.mu.Unlock()
	v.text.used = now
	return v
}

// liveRows are the rows of a job that runs in this process; nil: it does not.
func (d *jobDesk) liveRows(info *journal.JobInfo) job.RowReader {
	if d.live == nil {
		return nil
	}
	r, ok := d.live(info.Key)
	if !ok {
		return nil
	}
	return r
}

// keptRows makes the rows of a job again from its inputs; nil: why that cannot be
// done.
func (d *jobDesk) keptRows(ctx context.Context, info *journal.JobInfo) (*job.KeptRows, string) {
	if info.Kind == journal.KindServe {
		return nil, "calls of a gateway are kept without their prompts"
	}
	rows, _, err := judge.OpenRows(ctx, info.Shape, filepath.Dir(d.journal.Path())) // of other jobs too
	if err != nil {
		return nil, err.Error()
	}
	return rows, ""
}
