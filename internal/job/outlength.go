package job

import (
	"context"
	"slices"
)

// OutSource is where the expected length of answers comes from.
type OutSource string

// Sources, the better ones first (docs/plan.md): what the user says, answers
// to the same template and model, the first answers of the job itself; where
// there are none, an upper bound.
const (
	OutGiven   OutSource = "--out-tokens"
	OutJournal OutSource = "journal"
	OutJob     OutSource = "job"
	OutBound   OutSource = "max_tokens"
)

// enoughAnswers is how many answers of the same template and model the journal
// must have to go by, and firstAnswers how many of a job's own: with the spread
// of lengths that is usual (a factor of 1.35), 30 tell the mean to 6 % and 200 to
// 2 %.
const (
	enoughAnswers = 30
	firstAnswers  = 200
)

// length is how long answers are expected to be, in tokens.
type length struct {
	mean, p95 float64
	rows      int64 // answers it goes by
	source    OutSource
}

// lengths are what is known of the answers of each model; a model that is
// missing is not known.
type lengths struct {
	given   length // by --out-tokens; mean 0: not given
	byModel map[string]length
}

// of is what an answer of a model is expected to have, with so much room.
func (l *lengths) of(model string, room float64) length {
	known, ok := l.byModel[model]
	if l.given.mean > 0 {
		known, ok = l.given, true
	}
	if !ok {
		return length{mean: room, source: OutBound}
	}
	known.mean = min(known.mean, room)
	return known
}

// learn finds out how long answers were, in earlier jobs and in this one. The
// scheduler is told too: the kinds of the index carry the mean.
func (r *Run) learn(ctx context.Context, standing Standing) error {
	if r.cfg.OutTokens > 0 {
		return nil
	}
	models := r.unsettled(standing)
	for model := range models {
		n, mean, p95, err := r.book.OutStats(ctx, model)
		if err != nil {
			return err
		}
		if n >= enoughAnswers {
			r.lengths.byModel[model] = length{mean, p95, n, OutJournal}
		}
	}
	if err := r.learnFromJob(ctx, standing, models); err != nil {
		return err
	}
	for i := range r.x.kinds {
		k := &r.x.kinds[i]
		if l, ok := r.lengths.byModel[k.model]; ok {
			k.out = int(l.mean + .5)
		}
	}
	return nil
}

// unsettled are the models that calls without an outcome are to.
func (r *Run) unsettled(standing Standing) map[string]bool {
	kinds := make([]bool, len(r.x.kinds))
	for call := range r.limit {
		if r.x.holds(call) && standing.Outcome(call) == Pending {
			kinds[r.x.row(call).kind] = true
		}
	}
	models := map[string]bool{}
	for i, k := range r.x.kinds {
		if kinds[i] {
			models[k.model] = true
		}
	}
	return models
}

// learnFromJob reads the first answers of the job itself, of models that nothing
// else is known of and that have enough of them.
func (r *Run) learnFromJob(ctx context.Context, standing Standing, models map[string]bool) error {
	for model := range models {
		if _, known := r.lengths.byModel[model]; known {
			delete(models, model)
		}
	}
	if len(models) == 0 {
		return nil
	}
	settled := make([]int, len(r.x.kinds))
	for call := range r.x.calls() {
		if r.x.holds(call) && standing.Outcome(call) == Succeeded {
			settled[r.x.row(call).kind]++
		}
	}
	byModel := map[string]int{}
	for i, k := range r.x.kinds {
		byModel[k.model] += settled[i]
	}
	missing := 0
	for model := range models {
		if byModel[model] >= firstAnswers {
			r.sample[model], missing = nil, missing+1
		}
	}
	if missing == 0 {
		return nil
	}
	for a, err := range r.book.Answers(ctx) {
		if err != nil {
			return err
		}
		if a.Outcome != Succeeded || !r.x.holds(a.Row) {
			continue
		}
		if r.sampled(&a); len(r.sample) == 0 {
			break
		}
	}
	clear(r.sample)
	return nil
}

// sampled takes in an answer while its model's length is being learned.
func (r *Run) sampled(a *Answer) (learned string) {
	model := r.x.kinds[r.x.row(a.Row).kind].model
	outs, learning := r.sample[model]
	out := outputTokens(a.Body)
	if !learning || out <= 0 {
		return ""
	}
	outs = append(outs, out)
	r.sample[model] = outs
	if len(outs) < firstAnswers {
		return ""
	}
	delete(r.sample, model)
	r.lengths.byModel[model] = lengthOf(outs)
	return model
}

func lengthOf(outs []int64) length {
	slices.Sort(outs)
	sum := int64(0)
	for _, out := range outs {
		sum += out
	}
	n := len(outs)
	return length{float64(sum) / float64(n), float64(outs[(n*95+99)/100-1]), int64(n), OutJob}
}

// watch has the lengths learned that are not known, from the answers to come.
func (r *Run) watch() {
	if r.cfg.OutTokens > 0 || r.cfg.Learned == nil {
		return
	}
	for i := range r.plan.Classes {
		if c := &r.plan.Classes[i]; c.OutSource == OutBound {
			r.sample[c.Model] = nil
		}
	}
}

// settledLength takes in an answer of this run.
func (r *Run) settledLength(a *Answer) {
	if a.Outcome != Succeeded || len(r.sample) == 0 {
		return
	}
	if model := r.sampled(a); model != "" {
		l := r.lengths.byModel[model]
		r.cfg.Learned(model, l.mean, l.p95)
	}
}
