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

// sideBySide carries experiments out several at a time, the first one before all
// others: what limits finds is where they start from. The lines come in order.
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
			<-places
			ends[i] <- done{l, err}
		}
		go func() {
			for i := range xs {
				places <- struct{}{}
				if i == 0 {
					carry(i)
				} else {
					go carry(i)
				}
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
