package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// BatchRefusedError is a call about a batch that the API refused.
type BatchRefusedError struct {
	Doing   string
	Status  int
	Refusal wire.Refusal
}

func (e *BatchRefusedError) Error() string {
	return fmt.Sprintf("%s: %s: %s (%d)", e.Doing, e.Refusal.Type, e.Refusal.Message, e.Status)
}

// CreateBatch creates a batch of n rows, once: where an earlier invocation has
// created the one of that key, it is given as it now stands. Its worst case is
// reserved until BatchResults settles it.
func (b *Bench) CreateBatch(ctx context.Context, key, org string, n int, row func(i int) Shot) (wire.Batch, error) {
	b.mu.Lock()
	made, ok := b.partial.batches[key]
	b.mu.Unlock()
	if ok {
		return b.PollBatch(ctx, made.Org, made.ID)
	}
	if b.links[org] == nil || n <= 0 {
		return wire.Batch{}, fmt.Errorf("batch %s: no org %q, or no rows", key, org)
	}
	body, worst, model, err := b.batchBody(n, row)
	if err != nil {
		return wire.Batch{}, err
	}
	id, err := b.intend(worst, &Record{})
	if err != nil {
		return wire.Batch{}, err
	}
	data, err := b.ask(ctx, org, http.MethodPost, "/v1/messages/batches", nil, body)
	var batch wire.Batch
	if err == nil {
		batch, err = wire.ReadBatch(data)
	}
	if err != nil {
		return batch, b.notCreated(id, worst, fmt.Errorf("creating batch %s on %s: %w", key, org, err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = b.partial.write(line{Batch: &madeBatch{
		Key: key, Org: org, ID: batch.ID, Rows: n, Model: model, Intent: id, Worst: worst, Made: batch.CreatedAt,
	}, At: b.clock.Now()})
	return batch, b.broken
}

// notCreated gives the reservation back where an answer proves that there is no
// batch.
func (b *Bench) notCreated(id int64, worst price.Nanos, err error) error {
	var refused *BatchRefusedError
	known := errors.As(err, &refused) && refused.Refusal.Class != wire.Unknown504
	b.mu.Lock()
	defer b.mu.Unlock()
	b.purse.settle(worst, 0, !known)
	r := Record{Step: b.step, Tier: Batch, Err: err.Error(), End: b.clock.Now()}
	if known {
		r.Status, r.Class = refused.Status, Class{refused.Refusal.Class}
	} else {
		r.InDoubt = worst
	}
	b.records = append(b.records, r)
	return errors.Join(err, b.partial.write(line{Intent: id, Record: &r, At: r.End}))
}

// batchBody makes the body of a create, its worst case and its model.
func (b *Bench) batchBody(n int, row func(i int) Shot) (body []byte, worst price.Nanos, model string, err error) {
	body = append(body, wire.BatchHead...)
	for i := range n {
		s := row(i)
		m, ok := b.env.Model(s.Model)
		if !ok {
			return nil, 0, "", fmt.Errorf("no price for %q", s.Model)
		}
		params := s.body()
		body = wire.AppendBatchItem(body, wire.RowID{Job: "lab", Row: i}, params)
		worst += m.Worst(int64(len(params)), s.Shape.MaxTokens, false, false, false, false, true)
		model = s.Model
	}
	body = append(body, wire.BatchTail...)
	if n > wire.MaxBatchRows || len(body) > wire.MaxBatchBytes {
		return nil, 0, "", fmt.Errorf("a batch of %d rows and %d bytes is larger than the API takes", n, len(body))
	}
	return body, worst, model, nil
}

// PollBatch reads a batch as it stands.
func (b *Bench) PollBatch(ctx context.Context, org, id string) (wire.Batch, error) {
	return b.oneBatch(ctx, org, http.MethodGet, "/v1/messages/batches/"+id, "reading")
}

// CancelBatch asks for the end of a batch that CreateBatch made; one of somebody
// else's is an error.
func (b *Bench) CancelBatch(ctx context.Context, org, id string) (wire.Batch, error) {
	if _, ok := b.made(id); !ok {
		return wire.Batch{}, fmt.Errorf("batch %s of %s is not ours to cancel", id, org)
	}
	return b.oneBatch(ctx, org, http.MethodPost, "/v1/messages/batches/"+id+"/cancel", "canceling")
}

func (b *Bench) oneBatch(ctx context.Context, org, method, path, doing string) (wire.Batch, error) {
	data, err := b.ask(ctx, org, method, path, nil, nil)
	var batch wire.Batch
	if err == nil {
		batch, err = wire.ReadBatch(data)
	}
	if err != nil {
		return batch, fmt.Errorf("%s %s of %s: %w", doing, path, org, err)
	}
	return batch, nil
}

// AwaitBatch polls each span until the batch has ended.
func (b *Bench) AwaitBatch(ctx context.Context, org, id string, every time.Duration) (wire.Batch, error) {
	for {
		batch, err := b.PollBatch(ctx, org, id)
		if err != nil && !retryable(err) || err == nil && batch.Status == wire.BatchEnded {
			return batch, err
		}
		if err := b.clock.Sleep(ctx, every); err != nil {
			return batch, err
		}
	}
}

// retryable says that a call about a batch may be repeated as it is.
func retryable(err error) bool {
	var refused *BatchRefusedError
	if !errors.As(err, &refused) {
		return !errors.Is(err, context.Canceled)
	}
	switch refused.Refusal.Class {
	case wire.RateLimited, wire.Overloaded, wire.ServerError, wire.Conflict, wire.Unknown504:
		return true
	}
	return false
}

// ListBatches gives every batch of an org, newest first, until each says no.
func (b *Bench) ListBatches(ctx context.Context, org string, each func(wire.Batch) bool) error {
	query := url.Values{"limit": {"1000"}}
	for {
		data, err := b.ask(ctx, org, http.MethodGet, "/v1/messages/batches", query, nil)
		var page wire.BatchList
		if err == nil {
			page, err = wire.ReadBatchList(data)
		}
		if err != nil {
			return fmt.Errorf("listing the batches of %s: %w", org, err)
		}
		for _, batch := range page.Data {
			if !each(batch) {
				return nil
			}
		}
		if !page.HasMore || page.LastID == "" || page.LastID == query.Get("after_id") {
			return nil
		}
		query.Set("after_id", page.LastID)
	}
}

// made finds a batch that CreateBatch made.
func (b *Bench) made(id string) (madeBatch, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.partial.batches {
		if m.ID == id {
			return m, true
		}
	}
	return madeBatch{}, false
}

// BatchResults reads the results of an ended batch of ours: how many rows came
// back how. What they cost is settled, once however often they are read; one
// record stands for all rows.
func (b *Bench) BatchResults(ctx context.Context, org, id string) (BatchCounts, error) {
	var counts BatchCounts
	m, ok := b.made(id)
	if !ok {
		return counts, fmt.Errorf("batch %s of %s is not ours", id, org)
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience())
	defer cancel()
	l := b.links[org]
	req, err := l.request(ctx, http.MethodGet, "/v1/messages/batches/"+id+"/results", nil, nil)
	if err != nil {
		return counts, err
	}
	resp, err := l.trip.RoundTrip(req)
	if err != nil {
		return counts, fmt.Errorf("reading the results of %s: %s", id, b.redact(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return counts, &BatchRefusedError{Doing: "reading the results of " + id, Status: resp.StatusCode, Refusal: wire.Classify(resp.StatusCode, resp.Header, data)}
	}
	if err := b.countRows(resp.Body, &counts); err != nil {
		return counts, fmt.Errorf("reading the results of %s: %w", id, err)
	}
	if counts.Rows() != m.Rows {
		return counts, fmt.Errorf("the results of %s have %d rows of %d", id, counts.Rows(), m.Rows)
	}
	return counts, b.settleBatch(&m, &counts)
}

// BatchCounts are the rows of an ended batch by what became of them, and what
// the succeeded ones used and cost.
type BatchCounts struct {
	Succeeded, Errored, Canceled, Expired int
	Usage                                 price.Usage
	Cost                                  price.Nanos
}

// Rows are all of them.
func (c *BatchCounts) Rows() int { return c.Succeeded + c.Errored + c.Canceled + c.Expired }

func (b *Bench) countRows(from io.Reader, c *BatchCounts) error {
	rows := wire.NewResultReader(from)
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch row.Type {
		case wire.RowSucceeded:
			c.Succeeded++
			usage := usageOf(row.Facts)
			usage.Batch = true
			model, _ := b.env.Model(row.Facts.Model)
			c.Cost += model.Cost(usage)
			c.Usage.Input += usage.Input
			c.Usage.Output += usage.Output
			c.Usage.CacheRead += usage.CacheRead
			c.Usage.CacheWrite5m += usage.CacheWrite5m
			c.Usage.CacheWrite1h += usage.CacheWrite1h
		case wire.RowCanceled:
			c.Canceled++
		case wire.RowExpired:
			c.Expired++
		default:
			c.Errored++
		}
	}
}

// settleBatch settles a batch's reservation with a record, if that has not been
// done before.
func (b *Bench) settleBatch(m *madeBatch, c *BatchCounts) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, open := b.partial.intents[m.Intent]; !open {
		return nil
	}
	c.Usage.Batch = true
	r := Record{
		Step: b.step, Org: m.Org, Model: m.Model, Tier: Batch, Batch: m.ID, Rows: c.Succeeded,
		Status: http.StatusOK, End: b.clock.Now(), Usage: c.Usage, Cost: c.Cost,
	}
	b.purse.settle(m.Worst, c.Cost, false)
	b.records = append(b.records, r)
	return b.partial.write(line{Intent: m.Intent, Record: &r, At: r.End})
}

// ask makes one bounded call that costs nothing and gives the body of its 200.
func (b *Bench) ask(ctx context.Context, org, method, path string, query url.Values, body []byte) ([]byte, error) {
	l := b.links[org]
	if l == nil {
		return nil, fmt.Errorf("no org %q", org)
	}
	data, _, err := l.ask(ctx, b.patience(), method, path, query, body)
	var refused *BatchRefusedError
	if err != nil && !errors.As(err, &refused) {
		return nil, errors.New(b.redact(err))
	}
	return data, err
}

func (l *link) ask(ctx context.Context, patience time.Duration, method, path string, query url.Values, body []byte) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := l.request(ctx, method, path, query, body)
	if err != nil {
		return nil, nil, err
	}
	resp, err := l.trip.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode != http.StatusOK {
		return nil, resp.Header, &BatchRefusedError{Doing: method + " " + path, Status: resp.StatusCode, Refusal: wire.Classify(resp.StatusCode, resp.Header, data)}
	}
	return data, resp.Header, err
}

// askJSON is ask that decodes the answer.
func (l *link) askJSON(ctx context.Context, patience time.Duration, path string, query url.Values, v any) (http.Header, error) {
	data, h, err := l.ask(ctx, patience, http.MethodGet, path, query, nil)
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return h, fmt.Errorf("%s: the answer is not the API's: %w", path, err)
	}
	return h, nil
}
