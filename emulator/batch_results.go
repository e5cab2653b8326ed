package emulator

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strconv"
)

// batchResults serves GET /v1/messages/batches/{id}/results: a line for every
// row, in an order of the batch's own (facts/claude-api.md 4.4). The lines are
// made as they are sent, without the world's lock: an ended batch is fixed.
func (s *Server) batchResults(rw *record, c *batchCall) *apiError {
	defer s.enter(c)()
	b, e := c.found()
	if e != nil {
		return e
	}
	pause := c.w.model.pacing.Unseen
	if b.Status(c.now) != Ended || c.now >= b.Created+kept || c.now-b.EndedAt < pause {
		return notFound("Message Batch %s has no available results.", b.ID)
	}
	whole := *b // its results stay where they are when the batch is deleted
	rw.then = func(rw http.ResponseWriter) {
		rw.Header()["Content-Type"] = []string{"application/x-jsonl"}
		c.w.writeResults(rw, &whole, c.hit.forced())
	}
	return nil
}

// resultsBuffer is how much is gathered for one write.
const resultsBuffer = 64 << 10

// writeResults sends the lines. A fault strikes after half of them: truncate
// ends there as if all were sent, the others reset in the middle of a line.
func (w *world) writeResults(rw http.ResponseWriter, b *Batch, f Fault) {
	out := bufio.NewWriterSize(rw, resultsBuffer)
	var line []byte
	sent := 0
	for i, r := range b.lines() {
		line = w.appendResult(line[:0], b, i, r)
		if f != NoFault && sent == b.n/2 {
			if f != Truncate {
				_, _ = out.Write(line[:len(line)/2])
				_ = out.Flush()
				flush(rw)
				breakConn(rw)
			}
			break
		}
		if _, err := out.Write(line); err != nil {
			return // the client is gone
		}
		sent++
	}
	_ = out.Flush()
}

// lines are the results of any batch: a colleague's rows are made up, for
// whoever has to look into a batch to see whose it is.
func (b *Batch) lines() func(yield func(i int, r RowResult) bool) {
	if !b.Other {
		return b.Results
	}
	return func(yield func(int, RowResult) bool) {
		for i := range b.n {
			r := RowResult{Usage: Usage{Input: 400, Output: 60}}
			if int64(i) >= b.counts.Succeeded {
				r = RowResult{Kind: Expired}
			}
			if !yield(i, r) {
				return
			}
		}
	}
}

// appendResult appends the line of one row.
func (w *world) appendResult(dst []byte, b *Batch, i int, r RowResult) []byte {
	dst = append(dst, `{"custom_id":"`...)
	dst = append(dst, b.customID(i)...)
	dst = append(dst, `","result":{"type":"`...)
	switch r.Kind {
	case Succeeded:
		dst = append(dst, `succeeded","message":`...)
		p := w.batchReply(b, i, r)
		dst = p.appendMessage(dst)
	case Errored:
		dst = append(dst, `errored","error":`...)
		dst = b.appendFault(dst, i, r)
	case Canceled:
		dst = append(dst, `canceled"`...)
	case Expired:
		dst = append(dst, `expired"`...)
	}
	return append(dst, "}}\n"...)
}

// customID is a row's own, whose letters need no escape.
func (b *Batch) customID(i int) string {
	if b.upload == nil {
		return "request-" + strconv.Itoa(i)
	}
	return b.upload.rows[i].id
}

// batchReply is a row's answer as the sync tier would give it, but for
// service_tier (facts/claude-api.md section 7).
func (w *world) batchReply(b *Batch, i int, r RowResult) reply {
	x := &Exchange{Arrival: Arrival{Model: models["claude-sonnet-4-6"], Hash: [16]byte{byte(i), byte(i >> 8), byte(i >> 16)}}}
	p := reply{x: x, tier: "null", by: batchTier}
	var a asked
	if b.upload != nil {
		x.Arrival, a = b.upload.rows[i].arrival, b.upload.rows[i].asked
	}
	x.Usage, x.Full, x.Stop = r.Usage, r.Usage.Output, r.Stop
	p.key, p.geo = w.model.answerKey(x.Hash, r.Answer), geoOf(&catalog[x.Model], x.US)
	if b.upload != nil && a.shapes(w) {
		p.composed = w.compose(&a, p.key, x.MaxTokens)
	}
	return p
}

// rowFault is a row's error as results show it: the whole envelope, with a
// request id that is none of ours (facts/claude-api.md 4.4).
type rowFault struct {
	Type      string    `json:"type"`
	Error     rowDetail `json:"error"`
	RequestID *string   `json:"request_id"`
}

type rowDetail struct {
	Type    string         `json:"type"`
	Message string         `json:"message"`
	Details *rowVisibility `json:"details"`
}

type rowVisibility struct {
	Visibility string `json:"error_visibility"`
}

func (b *Batch) appendFault(dst []byte, i int, r RowResult) []byte {
	f := rowFault{Type: "error"}
	switch r.Class {
	case Invalid:
		e := b.upload.rows[i].fault
		f.Error = rowDetail{e.kind, e.message, &rowVisibility{"user_facing"}}
	case Overload:
		f.Error = rowDetail{Type: kindOf(529), Message: messageOf(529)}
	default:
		f.Error = rowDetail{Type: kindOf(500), Message: messageOf(500)}
		id := token("workerreq_01", b.key, 22)
		f.RequestID = &id
	}
	out, err := json.Marshal(f)
	if err != nil {
		panic(err) // strings alone always encode
	}
	return append(dst, out...)
}
