package judge

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// Columns implements job.Craft: those of a table of verdicts, behind the input's.
func (p *Panel) Columns() []job.Column {
	all := []job.Column{
		{Name: "custom_id"},
		{Name: "status", Telling: true},
		{Name: "score", Number: true},
		{Name: "label"},
		{Name: "raw", Telling: true},
		{Name: "why", Telling: true},
		{Name: "rubric"},
		{Name: "rubric_version"},
		{Name: "rubric_sha256"},
		{Name: "model"},
		{Name: "params"},
		{Name: "attempts", Whole: true},
		{Name: "repeat", Whole: true},
		{Name: "org"},
		{Name: "tier"},
		{Name: "input_tokens", Whole: true},
		{Name: "output_tokens", Whole: true},
		{Name: "cost_usd", Number: true},
		{Name: "latency_ms", Whole: true},
	}
	if p.set.Swap {
		at := slices.IndexFunc(all, func(c job.Column) bool { return c.Name == "org" })
		all = slices.Insert(all, at, job.Column{Name: "swapped"})
	}
	return all
}

// Cells implements job.Craft.
func (p *Panel) Cells(d *job.Done) ([]gjson.Result, error) {
	v := p.lineOf(d)
	a := d.Answer
	var score, label, in, out gjson.Result
	if string(v.Score) != "null" {
		score = gjson.ParseBytes(v.Score)
	}
	if v.Label != nil {
		label = cell(*v.Label)
	}
	if a.Outcome == job.Succeeded {
		m, err := wire.ReadMessage(a.Body)
		if err != nil {
			return nil, err
		}
		u := m.Usage
		in, out = whole(u.Input+u.CacheWrite5m+u.CacheWrite1h+u.CacheRead), whole(u.Output)
	}
	cells := []gjson.Result{
		cell(d.ID), cell(v.Status), score, label, cell(v.Raw), cell(v.Why), cell(v.Rubric), cell(v.Version), cell(v.SHA256),
		cell(v.Model), cell(string(v.Params)), whole(int64(v.Attempts)), whole(int64(v.Repeat)),
	}
	if p.set.Swap {
		cells = append(cells, cell(strconv.FormatBool(v.Swapped)))
	}
	tier := a.Tier
	if d.Told {
		tier = ""
	}
	cost := gjson.Result{Type: gjson.Number, Raw: d.Cost.Exact(), Num: d.Cost.Float()}
	return append(cells, cell(a.Org), cell(tier), in, out, cost, whole(a.Latency.Milliseconds())), nil
}

// WhoseRow implements job.Craft.
func (p *Panel) WhoseRow(row []byte) (job.Whose, bool) { return p.whose(gjson.ParseBytes(row)) }

func cell(s string) gjson.Result { return gjson.Result{Type: gjson.String, Str: s} }

func whole(n int64) gjson.Result {
	return gjson.Result{Type: gjson.Number, Raw: strconv.FormatInt(n, 10), Num: float64(n)}
}
