package dashboard

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// The index of a job that nobody looks at goes; whoever looks again has it anew.
func TestAnIndexIsForgotten(t *testing.T) {
	s, j := rowsShop(t, texts{"one word", "another"})
	s.settle(j, 0, "an answer", "end_turn")
	search := func() rowsJSON { return read[rowsJSON](s, "jobs/"+j.Key+"/rows?q=word") }
	if r := search(); r.Matched != 1 {
		t.Fatalf("%+v", r)
	}
	v := s.dash.jobs.view(j.ID, time.Now())
	s.dash.jobs.forget(time.Now().Add(indexLife - time.Minute))
	if v.text.corpus.documents() == 0 {
		t.Error("it is forgotten too early")
	}
	s.dash.jobs.forget(time.Now().Add(indexLife + time.Minute))
	if n := v.text.corpus.documents(); n != 0 || len(s.dash.jobs.views) != 0 {
		t.Errorf("%d documents and %d views are kept", n, len(s.dash.jobs.views))
	}
	if r := search(); r.Matched != 1 || r.Indexed != 1 {
		t.Errorf("afterwards: %+v", r)
	}
}

// closing are rows whose files are closed under those who read them, from the
// third on.
type closing struct{ texts }

func (c closing) Body(row int) ([]byte, error) {
	if row < 2 {
		return c.texts.Body(row)
	}
	return nil, fmt.Errorf("read the input again: %w", os.ErrClosed)
}

// A run that ends while its prompts are gone through leaves no holes: they are
// read once there is something to read again.
func TestARunEndsUnderItsIndex(t *testing.T) {
	rows := texts{"a word", "a word", "a word", "a word"}
	var key string
	var live job.RowReader = closing{rows}
	s := newShop(t, func(c *Config) {
		c.Live = func(k string) (job.RowReader, bool) { return live, k == key }
	})
	j := s.begin(len(rows), nil)
	key = j.Key
	if r := read[rowsJSON](s, "jobs/"+key+"/rows?q=word"); r.Indexed == 1 {
		t.Errorf("all is said to be searched: %+v", r)
	}
	live = rows // no request is under way, and so nothing reads it
	if r := read[rowsJSON](s, "jobs/"+key+"/rows?q=word"); r.Matched != 4 || r.Indexed != 1 {
		t.Errorf("later: %+v", r)
	}
}

// Many look at once, while the index is made, used and dropped.
func TestManyLookAtOnce(t *testing.T) {
	s, j := rowsShop(t, make(texts, 2000))
	done := make(chan struct{})
	for range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 30 {
				s.ask("GET", "localhost", "/api/jobs/"+j.Key+"/rows?q=set&limit=5", "")
				s.ask("GET", "localhost", "/api/state", "")
			}
		}()
	}
	for row := range 60 {
		s.settle(j, row, "an answer", "end_turn")
		s.dash.jobs.forget(time.Now().Add(2 * indexLife))
	}
	for range 4 {
		<-done
	}
	r := rowsJSON{}
	for r.Indexed < 1 {
		r = read[rowsJSON](s, "jobs/"+j.Key+"/rows?q=answer")
	}
	if r.Total != 2000 || r.Matched != 60 {
		t.Errorf("in the end: %+v", r)
	}
}
