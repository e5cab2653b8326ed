package main

import (
	"context"
	"iter"
	"slices"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// beside is how many experiments may go on at once, each on an emulator of its
// own: most of their time they wait, and what several need at one moment two
// processors still give.
const beside = 3

// alone are experiments that nothing goes on beside: limits is what the others
// start from, and refill reads levels so finely that whatever else the machine
// does shows in them.
var alone = []string{"limits", "refill"}

// needs is how many of the places an experiment takes.
func needs(x lab.Experiment) int {
	if slices.Contains(alone, x.Name()) {
		return beside
	}
	return 1
}

// sideBySide carries experiments out several at a time. The lines come in order.
func (m *measuring) sideBySide(ctx context.Context, xs []lab.Experiment) iter.Seq2[*measuredLine, error] {
	type done struct {
		line *measuredLine
		err  error
	}
	return func(yield func(*measuredLine, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ends, places := make([]chan done, len(xs)), make(chan struct{}, beside)
		for i := range xs {
			ends[i] = make(chan done, 1)
		}
		carry := func(i int) {
			l, err := m.one(ctx, xs[i], 0)
			for range needs(xs[i]) {
				<-places
			}
			ends[i] <- done{l, err}
		}
		go func() {
			for i := range xs {
				for range needs(xs[i]) {
					places <- struct{}{}
				}
				go carry(i)
			}
		}()
		for i := range xs {
			d := <-ends[i]
			if yield(d.line, d.err) && d.err == nil {
				continue
			}
			cancel()
			for _, e := range ends[i+1:] {
				<-e // nothing goes on behind an error
			}
			return
		}
	}
}

// learn keeps a result for the experiments that follow.
func (m *measuring) learn(r *lab.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.base.Known = append(slices.DeleteFunc(slices.Clone(m.base.Known), func(o *lab.Result) bool {
		return o.Experiment == r.Experiment && o.Window == r.Window
	}), r)
}

// known are the results there are so far.
func (m *measuring) known() []*lab.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.base.Known
}
