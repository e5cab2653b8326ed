package journaltest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// slow is a journal of one job by the obvious means: it keeps all records and
// reads them all for every question.
type slow struct {
	runs [][]flotilla.Record
}

// charge is what an attempt counts: its charge when it ended, its worst case
// while it has not, in doubt when its run ended first.
func (s *slow) spent() (spent, doubt flotilla.Money, doubts int) {
	for i, run := range s.runs {
		for _, intent := range run {
			if intent.Kind != flotilla.IntentRecord {
				continue
			}
			charged, dubious := intent.Worst, i < len(s.runs)-1
			for _, r := range run {
				if r.Kind != flotilla.IntentRecord && r.Attempt == intent.Attempt {
					charged, dubious = r.Charged, r.InDoubt
				}
			}
			spent += charged
			if dubious {
				doubt += charged
				doubts++
			}
		}
	}
	return spent, doubt, doubts
}

func (s *slow) row(row int) (kind string, body string) {
	for _, run := range s.runs {
		for _, r := range run {
			if r.Kind == flotilla.OutcomeRecord && r.Row == row {
				kind, body = r.Type, string(r.Answer)
			}
		}
	}
	return kind, body
}

// twin appends random records in random groups, with runs that end at any
// moment, and compares every answer with the slow journal's.
func twin(t *testing.T, b Book) {
	jobs := 0
	rapid.Check(t, func(rt *rapid.T) {
		jobs++
		const rows = 6
		spec := Spec(fmt.Sprintf("twin %d", jobs), rows)
		job := begin(t, b, spec)
		s := &slow{runs: [][]flotilla.Record{nil}}
		var open []flotilla.Record
		attempt := int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "groups") {
			var group []flotilla.Record
			for range rapid.IntRange(1, 5).Draw(rt, "records") {
				if len(open) == 0 || rapid.Bool().Draw(rt, "send") {
					attempt++
					r := Intent(job.Number(), rapid.IntRange(0, rows-1).Draw(rt, "row"), attempt, flotilla.Money(rapid.IntRange(1, 1000).Draw(rt, "worst")))
					open, group = append(open, r), append(group, r)
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				group = append(group, ending(rt, open[i]))
				open = append(open[:i], open[i+1:]...)
			}
			if err := b.Append(group); err != nil {
				rt.Fatal(err)
			}
			last := len(s.runs) - 1
			s.runs[last] = append(s.runs[last], group...)
			if rapid.IntRange(0, 6).Draw(rt, "end") == 0 {
				end(t, job, journal.Stopped)
				job = begin(t, b, spec)
				s.runs, open, attempt = append(s.runs, nil), nil, 0
			}
			s.compare(rt, t, job)
		}
		end(t, job, journal.Stopped)
	})
}

// ending draws how an attempt ends.
func ending(rt *rapid.T, intent flotilla.Record) flotilla.Record {
	charged := flotilla.Money(rapid.Int64Range(0, int64(intent.Worst)).Draw(rt, "charged"))
	switch rapid.IntRange(0, 3).Draw(rt, "ending") {
	case 0:
		return Ended(intent.Job, intent.Row, intent.Attempt, 0, false)
	case 1:
		return Ended(intent.Job, intent.Row, intent.Attempt, intent.Worst, true)
	case 2:
		return Settled(intent.Job, intent.Row, intent.Attempt, "errored", charged)
	}
	r := Settled(intent.Job, intent.Row, intent.Attempt, "succeeded", charged)
	r.StopReason = rapid.SampledFrom([]string{"end_turn", "max_tokens", "refusal", ""}).Draw(rt, "stop")
	return r
}

func (s *slow) compare(rt *rapid.T, t *testing.T, job Job) {
	st := state(t, job)
	spent, doubt, doubts := s.spent()
	if st.Spent != spent || st.Doubt != doubt || st.Doubts != doubts {
		rt.Fatalf("%v spent, %d in doubt with %v; want %v, %d, %v", st.Spent, st.Doubts, st.Doubt, spent, doubts, doubt)
	}
	bodies, stops := map[int]string{}, map[int]string{}
	var past []int64
	for _, a := range answers(t, job, 0) {
		if st.Stands(&a) {
			bodies[a.Row], stops[a.Row] = string(a.Body), a.StopReason
		} else {
			past = append(past, a.ID)
		}
	}
	if !slices.Equal(st.Superseded(), past) {
		rt.Fatalf("superseded %v, want %v", st.Superseded(), past)
	}
	for row := range st.Rows() {
		kind, body := s.row(row)
		if kind == "" {
			kind = "pending"
		}
		if st.Stop(row) != stops[row] {
			rt.Fatalf("row %d stopped by %q, want %q", row, st.Stop(row), stops[row])
		}
		if st.Outcome(row).String() != kind || bodies[row] != body {
			rt.Fatalf("row %d is %v with %s; want %s with %s", row, st.Outcome(row), bodies[row], kind, body)
		}
	}
}
