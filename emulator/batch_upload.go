package emulator

import (
	"strings"
	"time"
)

// upload is what the server keeps of a create beside the batch. The body
// itself is let go once its rows are weighed.
type upload struct {
	rows []uploaded
}

// uploaded is one row of it.
type uploaded struct {
	id      string
	arrival Arrival   // Invalid where there is a fault
	fault   *apiError // of params, which are looked at when the row is processed
	asked   asked
}

// weigh reads the params of all rows as the API does when it processes them
// (facts/claude-api.md 4.3): a fault in one is that row's result and nobody
// else's.
func (w *world) weigh(entries []batchEntry, now time.Time, version string, betas []string) *upload {
	u := &upload{rows: make([]uploaded, len(entries))}
	var params []byte
	for i, e := range entries {
		params = append(params[:0], e.params...)
		u.rows[i] = w.weighRow(params, now, version, betas)
		u.rows[i].id = strings.Clone(e.id) // a part of the body would keep all of it
	}
	return u
}

func (w *world) weighRow(params []byte, now time.Time, version string, betas []string) uploaded {
	req, e := readRequest(params)
	if e == nil {
		e = req.checkBatch(now, version, betas)
	}
	if e != nil {
		return uploaded{arrival: Arrival{Invalid: true}, fault: e}
	}
	return uploaded{arrival: req.arrival(params), asked: w.asked(req)}
}

// row is what the model asks of a row when it is processed: where its words are
// composed, the answer that comes next then. The world is locked.
func (w *world) row(u *upload) func(i int) Arrival {
	return func(i int) Arrival {
		r := &u.rows[i]
		a := r.arrival
		if !a.Invalid && r.asked.shapes(w) {
			c := w.compose(&r.asked, w.model.answerKey(a.Hash, w.model.NextAnswer(a.Hash)), a.MaxTokens)
			a.Out, a.Stop = c.out, c.stop
		}
		return a
	}
}
