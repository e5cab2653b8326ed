package wire

import (
	"fmt"
	"time"
)

// Batch is a Message Batch as the provider describes it (facts/claude-api.md
// 4.2). Until it ends all rows count as Processing: the counts show no
// progress.
type Batch struct {
	ID     string
	Status string // BatchInProgress, BatchCanceling, BatchEnded; another counts as not ended

	Processing, Succeeded, Errored, Canceled, Expired int64 // rows

	// Times by the server's clock; zero: null, absent, or not to be read.
	CreatedAt, ExpiresAt, EndedAt, CancelInitiatedAt, ArchivedAt time.Time

	ResultsURL string // empty until it has ended
}

// Values of Batch.Status.
const (
	BatchInProgress = "in_progress"
	BatchCanceling  = "canceling"
	BatchEnded      = "ended"
)

// Rows is how many requests the batch was made of: the counts always add up to
// that.
func (b *Batch) Rows() int64 {
	return b.Processing + b.Succeeded + b.Errored + b.Canceled + b.Expired
}

// BatchList is one page of a listing, newest first. LastID, as after_id, asks
// for the next one.
type BatchList struct {
	Data            []Batch
	HasMore         bool
	FirstID, LastID string
}

// NotBatchError says why the body of a 200 is no Message Batch, or no list of
// them.
type NotBatchError struct{ Fault string }

func (e *NotBatchError) Error() string { return "the answer is not a Message Batch: " + e.Fault }

// ReadBatch reads the answer of a create, a get or a cancel. Its error is a
// *NotBatchError, or ErrErrorBody.
func ReadBatch(body []byte) (Batch, error) {
	c, err := objectIn(body)
	if err != nil {
		return Batch{}, err
	}
	return readBatch(&c)
}

// ReadBatchList reads a page of a listing. A page with one entry that cannot be
// read is an error: what a listing leaves out would be taken for absent, and
// bought again.
func ReadBatchList(body []byte) (BatchList, error) {
	c, err := objectIn(body)
	if err != nil {
		return BatchList{}, err
	}
	var l BatchList
	var kind string
	listed := false
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "type":
			kind = c.word()
		case "data":
			listed = c.peek() == '['
			if l.Data, err = readBatches(&c); err != nil {
				return BatchList{}, err
			}
		case "has_more":
			l.HasMore = string(c.raw()) == "true"
		case "first_id":
			l.FirstID = c.word()
		case "last_id":
			l.LastID = c.word()
		default:
			c.raw()
		}
	}
	switch {
	case kind == "error":
		return BatchList{}, ErrErrorBody
	case !listed:
		return BatchList{}, &NotBatchError{"the listing has no data"}
	case l.HasMore && l.LastID == "":
		return BatchList{}, &NotBatchError{"the listing goes on and does not say where"}
	}
	return l, nil
}

// objectIn steps into the object that an answer is.
func objectIn(body []byte) (cursor, error) {
	c := cursor{b: body}
	if !wellFormed(body) {
		return c, &NotBatchError{"it is not JSON"}
	}
	if !c.enter('{') {
		return c, &NotBatchError{"it is not an object"}
	}
	return c, nil
}

func readBatches(c *cursor) (list []Batch, err error) {
	if !c.enter('[') {
		c.raw()
		return nil, nil
	}
	for c.element() {
		if !c.enter('{') {
			return nil, &NotBatchError{fmt.Sprintf("entry %d of the listing is not an object", len(list)+1)}
		}
		b, err := readBatch(c)
		if err != nil {
			return nil, fmt.Errorf("entry %d of the listing: %w", len(list)+1, err)
		}
		list = append(list, b)
	}
	return list, nil
}

// readBatch reads the rest of the object the cursor is in.
func readBatch(c *cursor) (Batch, error) {
	var b Batch
	var kind string
	counted := false
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "type":
			kind = c.word()
		case "request_counts":
			counted = b.counts(c)
		default:
			b.member(string(key), c)
		}
	}
	if kind == "error" {
		return Batch{}, ErrErrorBody
	}
	return b, b.check(kind, counted)
}

// member reads a member that is a word or an instant.
func (b *Batch) member(key string, c *cursor) {
	switch key {
	case "id":
		b.ID = c.word()
	case "processing_status":
		b.Status = c.word()
	case "created_at":
		b.CreatedAt = c.instant()
	case "expires_at":
		b.ExpiresAt = c.instant()
	case "ended_at":
		b.EndedAt = c.instant()
	case "cancel_initiated_at":
		b.CancelInitiatedAt = c.instant()
	case "archived_at":
		b.ArchivedAt = c.instant()
	case "results_url":
		b.ResultsURL = c.word()
	default:
		c.raw()
	}
}

func (b *Batch) check(kind string, counted bool) error {
	switch {
	case kind != "message_batch":
		return &NotBatchError{fmt.Sprintf("its type is %q", kind)}
	case !pathWord(b.ID):
		return &NotBatchError{fmt.Sprintf("its id is %q", b.ID)}
	case b.Status == "":
		return &NotBatchError{"it has no processing_status"}
	case !counted:
		return &NotBatchError{"it has no request_counts"}
	}
	return nil
}

// counts reads the rows by state.
func (b *Batch) counts(c *cursor) bool {
	if !c.enter('{') {
		c.raw()
		return false
	}
	for key, ok := c.member(); ok; key, ok = c.member() {
		switch string(key) {
		case "processing":
			c.countInto(&b.Processing)
		case "succeeded":
			c.countInto(&b.Succeeded)
		case "errored":
			c.countInto(&b.Errored)
		case "canceled":
			c.countInto(&b.Canceled)
		case "expired":
			c.countInto(&b.Expired)
		default:
			c.raw()
		}
	}
	return true
}

// instant reads an RFC 3339 time, with or without a fraction, in any zone;
// anything else is the zero Time.
func (c *cursor) instant() time.Time {
	t, err := time.Parse(time.RFC3339, c.word())
	if err != nil || t.Year() < 2000 || t.Year() > 2200 {
		return time.Time{}
	}
	return t.UTC()
}

// pathWord says whether an id that the server gave can stand in the path of
// later requests: nothing in it may turn them elsewhere.
func pathWord(id string) bool {
	for i := range len(id) {
		c := id[i]
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '-' {
			return false
		}
	}
	return id != ""
}
