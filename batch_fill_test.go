package flotilla

import (
	"testing"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// far is a Deque of which only the far end is looked at.
type far struct {
	Deque
	left []Backlog
}

func (d *far) Backlog() []Backlog { return d.left }

// What the core gathered it has counted by itself. Where as many rows came back
// in the same turn the source is as it was, and the core must be told all the
// same: else it takes the last rows for gone, and they are never sent.
func TestBacklogIsToldAfterEachGather(t *testing.T) {
	f := &Fleet{core: sched.New(sched.Config{}), pools: map[string]*poolState{}}
	src := &far{left: []Backlog{{Pool: "p", Family: "f", Rows: 7}}}
	s := &stream{deque: src}
	told := func() (rows []int64) {
		for _, b := range f.backlogs(0, s) {
			rows = append(rows, b.Rows)
		}
		return rows
	}
	if got := told(); len(got) != 1 || got[0] != 7 {
		t.Errorf("at first %v", got)
	}
	if got := told(); len(got) != 0 {
		t.Errorf("nothing changed, and it is told of %v", got)
	}
	s.tellAnew("p")
	if got := told(); len(got) != 1 || got[0] != 7 {
		t.Errorf("after a gather that other rows made up for: %v", got)
	}
	s.tellAnew("p")
	src.left = nil
	if got := told(); len(got) != 1 || got[0] != 0 {
		t.Errorf("after the last gather: %v", got)
	}
	if got := told(); len(got) != 0 {
		t.Errorf("nothing is left, and it is told of %v", got)
	}
}
