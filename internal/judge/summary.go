package judge

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// Mark is one verdict, as statistics read it.
type Mark struct {
	Row     int    // number of the row: verdicts of one row have one
	ID      string // the row's custom_id
	Group   string // value of the --by field; empty: none
	Label   string // the row's own label, by --label; empty: none
	Pair    int    // which of SummaryOptions.Judges gave it
	Repeat  int    // 0, or from 1 with --repeats
	Swapped bool   // the two completions changed places; Reading is as the judge gave it
	Reading
}

// SummaryOptions say what marks are of.
type SummaryOptions struct {
	Judges  []*Rubric // each rubric with its model; Mark.Pair is an index
	By      string    // field of Group; empty: no groups
	Label   string    // field of Label; empty: no agreement
	Draw    Bootstrap
	Largest int // disagreements that are listed; 0: ten
}

// Summary is what the verdicts of a job amount to.
type Summary struct {
	Rows        int            `json:"rows"`
	By          string         `json:"by,omitempty"`
	Label       string         `json:"label,omitempty"`
	Seed        uint64         `json:"seed"`
	Resamples   int            `json:"resamples"`
	Judges      []JudgeSummary `json:"judges"`
	Comparisons []Comparison   `json:"comparisons,omitempty"` // every two judges whose verdicts compare
}

// JudgeSummary is what one rubric said by one model.
type JudgeSummary struct {
	Rubric    string          `json:"rubric"`
	Version   string          `json:"rubric_version"`
	SHA256    string          `json:"rubric_sha256"`
	Model     string          `json:"model"`
	MaxTokens int             `json:"max_tokens"`
	Params    json.RawMessage `json:"params,omitempty"`
	Form      string          `json:"form"`
	Scale     *[2]float64     `json:"scale,omitempty"`

	Total     Cell       `json:"total"`
	Groups    []Cell     `json:"groups,omitempty"` // by name
	Agreement *Agreement `json:"agreement,omitempty"`
	Repeats   *Spread    `json:"repeats,omitempty"`
	Swap      *Swap      `json:"swap,omitempty"`
}

// Counts are verdicts by status; they add up to all verdicts of their cell.
type Counts struct {
	Scored     int `json:"scored"`
	Truncated  int `json:"truncated"`
	Refused    int `json:"refused"`
	Unparsable int `json:"unparsable"`
	Failed     int `json:"failed"`
}

func (c *Counts) add(status string) {
	switch status {
	case Scored:
		c.Scored++
	case Truncated:
		c.Truncated++
	case Refused:
		c.Refused++
	case Unparsable:
		c.Unparsable++
	default:
		c.Failed++
	}
}

// Total is the sum of all statuses.
func (c Counts) Total() int { return c.Scored + c.Truncated + c.Refused + c.Unparsable + c.Failed }

// judged is what one judge said of one row.
type judged struct {
	row              int
	id, group, label string
	verdicts         []verdict
}

// verdict is one reading: as the judge gave it, and of the row as it is.
type verdict struct {
	repeat  int
	swapped bool
	shown   Reading
	Reading
}

// score is the mean of the row's scores, each of its scored verdicts once.
func (j *judged) score() (float64, bool) {
	sum, n := 0.0, 0
	for i := range j.verdicts {
		if v := j.verdicts[i].Score; v != nil {
			sum += *v
			n++
		}
	}
	return sum / float64(max(n, 1)), n > 0
}

// labelShare is the share of the row's labels that are this one.
func (j *judged) labelShare(label string) (float64, bool) {
	hits, n := 0, 0
	for i := range j.verdicts {
		if l := j.verdicts[i].Reading.Label; l != nil {
			n++
			if *l == label {
				hits++
			}
		}
	}
	return float64(hits) / float64(max(n, 1)), n > 0
}

// Summarize makes the statistics of all verdicts of a job (docs/judge.md,
// "Statistics"). Only scored verdicts enter means; rows, not verdicts, are what
// intervals are over; the counts of all statuses stand beside every mean. The
// order of the marks does not matter.
func Summarize(marks []Mark, opt SummaryOptions) *Summary {
	if opt.Draw.Resamples <= 0 {
		opt.Draw.Resamples = DefaultResamples
	}
	if opt.Largest <= 0 {
		opt.Largest = 10
	}
	s := &Summary{By: opt.By, Label: opt.Label, Seed: opt.Draw.Seed, Resamples: opt.Draw.Resamples}
	byJudge := gather(marks, opt.Judges)
	rows := map[int]bool{}
	for i := range marks {
		rows[marks[i].Row] = true
	}
	s.Rows = len(rows)
	for i, r := range opt.Judges {
		s.Judges = append(s.Judges, judgeSummary(r, byJudge[i], opt))
	}
	for i := range opt.Judges {
		for j := i + 1; j < len(opt.Judges); j++ {
			if c := compare(opt.Judges, byJudge, i, j, opt); c != nil {
				s.Comparisons = append(s.Comparisons, *c)
			}
		}
	}
	return s
}

func judgeSummary(r *Rubric, rows []*judged, opt SummaryOptions) JudgeSummary {
	out := JudgeSummary{
		Rubric: r.Name, Version: r.Version, SHA256: r.SHA256, Model: r.Model, MaxTokens: r.MaxTokens,
		Params: withoutSecrets(r.Params), Form: r.Verdict.Form, Total: cellOf(r, "", rows, opt.Draw),
	}
	if r.ranged() {
		out.Scale = &[2]float64{r.Verdict.Min, r.Verdict.Max}
	}
	if opt.By != "" {
		out.Groups = groups(r, rows, opt.Draw)
	}
	if opt.Label != "" {
		out.Agreement = agreement(r, rows, opt.Draw)
	}
	out.Repeats, out.Swap = spreadOf(rows), swapOf(r, rows, opt.Draw)
	return out
}

// withoutSecrets are parameters as they may be told.
func withoutSecrets(params json.RawMessage) json.RawMessage {
	if len(params) == 0 {
		return nil
	}
	return json.RawMessage(job.WithoutSecrets(string(params)))
}

// gather puts marks together by judge and row, in the order of rows; repeats in
// theirs, so that nothing hangs on the order in which calls ended.
func gather(marks []Mark, judges []*Rubric) [][]*judged {
	out := make([][]*judged, len(judges))
	at := make([]map[int]*judged, len(judges))
	for i := range at {
		at[i] = map[int]*judged{}
	}
	for i := range marks {
		m := &marks[i]
		j := at[m.Pair][m.Row]
		if j == nil {
			j = &judged{row: m.Row, id: m.ID, group: m.Group, label: m.Label}
			at[m.Pair][m.Row] = j
			out[m.Pair] = append(out[m.Pair], j)
		}
		v := verdict{m.Repeat, m.Swapped, m.Reading, m.Reading}
		if m.Swapped {
			v.Reading = judges[m.Pair].Unswap(m.Reading)
		}
		j.verdicts = append(j.verdicts, v)
	}
	for _, rows := range out {
		slices.SortFunc(rows, func(a, b *judged) int { return cmp.Compare(a.row, b.row) })
		for _, j := range rows {
			slices.SortFunc(j.verdicts, func(a, b verdict) int {
				if c := cmp.Compare(a.repeat, b.repeat); c != 0 || a.swapped == b.swapped {
					return c
				}
				if b.swapped {
					return -1
				}
				return 1
			})
		}
	}
	return out
}
