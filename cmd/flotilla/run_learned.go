package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/plan"
)

// relearning foretells a job anew while it runs, once its first answers have
// told how long answers are: until then max_tokens was all that was known.
type relearning struct {
	r    *runner
	stop context.CancelFunc
	ctx  context.Context

	mu      sync.Mutex
	classes []job.Class // as known now
	busy    bool        // a rehearsal is under way; what is learned meanwhile waits for the next one
	again   bool
	done    sync.WaitGroup
}

func newRelearning(ctx context.Context, r *runner) *relearning {
	l := &relearning{r: r, classes: append([]job.Class(nil), r.plan.Classes...)}
	l.ctx, l.stop = context.WithCancel(ctx)
	return l
}

// end waits until nothing is foretold any more.
func (l *relearning) end() {
	l.stop()
	l.done.Wait()
}

// learned is told by the job, and does not block it.
func (l *relearning) learned(model string, out, p95 float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.classes {
		if c := &l.classes[i]; c.Model == model {
			c.Out, c.OutP95, c.OutSource = min(out, c.MaxTokens), p95, job.OutJob
		}
	}
	if l.busy {
		l.again = true
		return
	}
	l.busy = true
	l.done.Go(l.foretell)
}

// foretell rehearses what is left, as often as there is more to go by.
func (l *relearning) foretell() {
	for {
		l.mu.Lock()
		classes := append([]job.Class(nil), l.classes...)
		l.again = false
		l.mu.Unlock()
		l.tell(classes)
		l.mu.Lock()
		if !l.again || l.ctx.Err() != nil {
			l.busy = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// tell says what the rest of the job comes to by the route it is on.
func (l *relearning) tell(classes []job.Class) {
	r := l.r
	c := r.counts()
	left := float64(c.rows-c.done) / float64(max(r.plan.Pending, 1))
	for i := range classes {
		classes[i].Rows = int(left * float64(classes[i].Rows))
		classes[i].Alone = int(left * float64(classes[i].Alone))
		classes[i].Worst = 0 // by the price table
	}
	p := *r.report
	p.At = r.now()()
	sup := suppose(r.usable(), r.pools(), &r.profile, r.learned(l.ctx))
	j := r.planJob(l.ctx, &p, &sup)
	j.Classes = planClasses(classes)
	f, err := plan.Foresee(l.ctx, j)
	if err != nil {
		return // the job has ended, or nothing is left of it
	}
	for i := range f.Candidates {
		if f.Candidates[i].Name == r.report.Chosen {
			one := p.routeOf(&f.Candidates[i])
			r.progress.say("forecast", fmt.Sprintf("answers have about %.0f tokens: %s in all, ends %s",
				meanOut(classes), moneyRange(c.spent+one.P5USD, c.spent+one.P95USD), one.ends(p.At)))
		}
	}
}

// meanOut is how many tokens an answer has, over all classes.
func meanOut(classes []job.Class) float64 {
	out, rows := 0.0, 0
	for i := range classes {
		out, rows = out+classes[i].Out*float64(classes[i].Rows), rows+classes[i].Rows
	}
	return out / float64(max(rows, 1))
}
