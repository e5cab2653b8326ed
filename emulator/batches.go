package emulator

import (
	"net/http"
	"strconv"
	"time"
)

// batchRoutes are the endpoints of Message Batches (facts/claude-api.md 4.1).
func (s *Server) batchRoutes(m *http.ServeMux) {
	m.HandleFunc("POST /v1/messages/batches", s.batch(s.createBatch))
	m.HandleFunc("GET /v1/messages/batches", s.batch(s.listBatches))
	m.HandleFunc("GET /v1/messages/batches/{id}", s.batch(s.pollBatch))
	m.HandleFunc("DELETE /v1/messages/batches/{id}", s.batch(s.deleteBatch))
	m.HandleFunc("POST /v1/messages/batches/{id}/cancel", s.batch(s.cancelBatch))
	m.HandleFunc("GET /v1/messages/batches/{id}/results", s.batch(s.batchResults))
}

// batchCall is one call to a batch endpoint that may pass.
type batchCall struct {
	*http.Request
	w    *world
	org  int
	now  time.Duration // of the world's model, when it was last entered
	body string        // of a create
	hit  *strike
}

// enter locks the call's world and looks at the time, which must not go back
// from one use of the model to the next.
func (s *Server) enter(c *batchCall) (leave func()) {
	c.w.mu.Lock()
	c.now = s.now(c.w)
	return c.w.mu.Unlock
}

// found gives the batch that the path names. The world is locked.
func (c *batchCall) found() (*Batch, *apiError) {
	if b := c.w.model.BatchByID(c.now, c.org, c.PathValue("id")); b != nil {
		return b, nil
	}
	return nil, c.missing()
}

// missing is also what another org's batch answers (facts/claude-api.md 4.5).
func (c *batchCall) missing() *apiError {
	return notFound("Message Batch %s not found.", c.PathValue("id"))
}

// createBatch serves POST /v1/messages/batches.
func (s *Server) createBatch(rw *record, c *batchCall) *apiError {
	entries, e := splitUpload(c.body)
	if e != nil {
		return e
	}
	up := c.w.weigh(entries, s.Now(), c.Header.Get("Anthropic-Version"), c.Header["Anthropic-Beta"])
	length := int64(len(c.body))
	entries, c.body = nil, "" // let the body go: the batch may last for a day
	defer s.enter(c)()
	b, why := c.w.model.Submit(c.now, c.org, len(up.rows), length, c.w.row(up))
	if b == nil {
		return c.w.batchRefused(why, c.now, c.org)
	}
	b.upload = up
	writeJSON(rw, c.w.showBatch(b, c.now, c.Host))
	return nil
}

// batchRefused is the error that tells a refused create. What the provider says
// of a full queue is nowhere recorded (facts/claude-api.md section 9); the words
// are those of its table of limits.
func (w *world) batchRefused(r BatchRefusal, now time.Duration, org int) *apiError {
	e := &apiError{status: r.Status, kind: kindOf(r.Status), message: messageOf(r.Status), retryAfter: r.RetryAfter}
	switch o := &w.model.orgs[org]; r.Class {
	case Invalid:
		return errTooLarge
	case QueueFull:
		e.message = "This request would exceed your organization's limit of " + thousands(o.BatchQueue) +
			" batch requests in the processing queue (org: " + OrgID(o.Name) + "). Please try again later."
	case SpendLimit:
		e.code, e.message = "enforced_spend_limit_reached", w.model.spendText(now)
	}
	return e
}

// pollAgain is what a poll of a batch in progress says to wait
// (facts/claude-api.md 4.2).
const pollAgain = 10 * time.Second

// pollBatch serves GET /v1/messages/batches/{id}.
func (s *Server) pollBatch(rw *record, c *batchCall) *apiError {
	defer s.enter(c)()
	b, e := c.found()
	if e != nil {
		return e
	}
	if c.w.unseen(c.now - b.Created) {
		return c.missing()
	}
	if b.Status(c.now) != Ended {
		rw.Header()["Retry-After"] = []string{strconv.Itoa(int(pollAgain / time.Second))}
	}
	writeJSON(rw, c.w.showBatch(b, c.now, c.Host))
	return nil
}

// unseenAgain is after how many spans of [Batching.Unseen] a batch hides again.
const unseenAgain = 5

// unseen says whether a batch of some age answers 404 to those who look.
func (w *world) unseen(age time.Duration) bool {
	n := w.model.pacing.Unseen
	return n > 0 && (age < n || age >= unseenAgain*n && age < (unseenAgain+1)*n)
}

// cancelBatch serves POST /v1/messages/batches/{id}/cancel.
func (s *Server) cancelBatch(rw *record, c *batchCall) *apiError {
	defer s.enter(c)()
	b, e := c.found()
	if e != nil {
		return e
	}
	if b.Status(c.now) == Ended && c.w.model.pacing.RefuseLateCancel {
		return invalid("Message Batch %s has already ended and cannot be canceled.", b.ID)
	}
	c.w.model.CancelBatch(c.now, b)
	writeJSON(rw, c.w.showBatch(b, c.now, c.Host))
	return nil
}

// deleteBatch serves DELETE /v1/messages/batches/{id}.
func (s *Server) deleteBatch(rw *record, c *batchCall) *apiError {
	defer s.enter(c)()
	b, e := c.found()
	if e != nil {
		return e
	}
	if b.Status(c.now) != Ended {
		return invalid("In progress batches cannot be deleted. Consider canceling the batch instead.")
	}
	c.w.model.DeleteBatch(c.now, b)
	writeJSON(rw, struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}{b.ID, "message_batch_deleted"})
	return nil
}

// listBatches serves GET /v1/messages/batches, newest first, colleagues' too.
func (s *Server) listBatches(rw *record, c *batchCall) *apiError {
	q := c.URL.Query()
	limit, e := limitOf(q, 20)
	if e != nil {
		return e
	}
	defer s.enter(c)()
	page, more, e := slice(c.w.model.Batches(c.now, c.org), q, limit, "Message Batch", func(b *Batch) string { return b.ID })
	if e != nil {
		return e
	}
	l := batchList{Data: make([]batchJSON, 0, len(page)), HasMore: more}
	for _, b := range page {
		l.Data = append(l.Data, c.w.showBatch(b, c.now, c.Host))
	}
	if len(page) > 0 {
		l.FirstID, l.LastID = &page[0].ID, &page[len(page)-1].ID
	}
	writeJSON(rw, l)
	return nil
}
