package gateway

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Durable steps of a batch's life, told to tests.
const (
	stepSpooled = "spooled" // its requests are on disk, the journal does not know of it
	stepKept    = "kept"    // the journal knows of it, its client does not
	stepBegun   = "begun"   // its job is in the journal
	stepCarried = "carried" // all its rows have settled
	stepWritten = "written" // its results are whole, it has not ended
	stepEnded   = "ended"
)

// create serves POST /v1/messages/batches. The client hears of its batch once
// requests and batch are durable.
func (b *batches) create(w http.ResponseWriter, r *http.Request) *apiError {
	if b.draining.Load() {
		return stopping()
	}
	caller := CallerOf(r.Context())
	a, e := readAsk(r.Header, caller, b.now())
	if e != nil {
		return e
	}
	capped, e := b.affords(r.Context(), caller)
	if e != nil {
		return e
	}
	sp, err := b.files.create(newBatchID())
	if err != nil {
		return b.broken(r.Context(), err)
	}
	defer sp.release()
	n, e := b.take(r, sp, capped)
	if e != nil {
		sp.discard()
		return e
	}
	_, named := one(r.Header, headerPriority)
	rec := b.record(r, caller, sp.id, n)
	noteAsk(&rec, &a, caller, named)
	if err := b.keep(sp, rec); err != nil {
		return b.broken(r.Context(), err)
	}
	b.start(&rec)
	b.writeJSON(w, showBatch(&rec, baseOf(r)))
	return nil
}

func (b *batches) record(r *http.Request, caller Caller, id string, n int) journal.ClientBatch {
	created := b.now().Truncate(time.Microsecond) // as it is shown
	return journal.ClientBatch{
		ID: id, Client: caller.Name, Realm: b.realm, Spool: b.files.name(id, endRows), N: n,
		Created: created, Expires: created.Add(batchLife),
		Version: r.Header.Get("Anthropic-Version"), Betas: slices.Compact(slices.Sorted(slices.Values(betasOf(r.Header)))),
	}
}

// keep makes a batch durable: first its requests, then what the journal says.
// Where that fails nobody has heard of it, and its files go.
func (b *batches) keep(sp *spool, rec journal.ClientBatch) error {
	err := sp.commit()
	if err == nil {
		b.step(stepSpooled)
		err = b.journal.PutClientBatch(context.Background(), rec)
	}
	if err != nil {
		sp.discard()
		return err
	}
	b.step(stepKept)
	return nil
}

// take reads the requests of a create into a spool. Those that no batch can
// carry are settled at once.
func (b *batches) take(r *http.Request, sp *spool, capped bool) (int, *apiError) {
	text, e := plainBody(r)
	if e != nil {
		return 0, e
	}
	version, betas := r.Header.Get("Anthropic-Version"), betasOf(r.Header)
	n, err := readUpload(text, func(row *uploadRow) error {
		if f := faultOf(b.cfg.Fleet, row.params, version, betas, capped); f != nil {
			return sp.fault(row.id, f)
		}
		return sp.row(row)
	})
	if err == nil {
		return n, nil
	}
	var wrong *refused
	var slow *bodyError
	switch {
	case errors.As(err, &wrong):
		return 0, wrong.apiError
	case errors.As(err, &slow):
		return 0, &slow.apiError
	case errors.Is(err, errUpload):
		// Read on, so that the client has written all and sees the answer.
		_, _ = io.CopyN(io.Discard, r.Body, maxUpload)
		return 0, &apiError{status: http.StatusRequestEntityTooLarge, kind: kindTooLarge, message: "Request exceeds the maximum size"}
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return 0, invalid("The request body is not what its content-encoding says.")
	case r.Context().Err() != nil, errors.Is(err, io.ErrUnexpectedEOF):
		return 0, invalid("The request body could not be read.")
	}
	return 0, b.broken(r.Context(), err)
}

// plainBody undoes a Content-Encoding as the body is read
// (facts/claude-api.md 1.7).
func plainBody(r *http.Request) (io.Reader, *apiError) {
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, invalid("The request body is not what its content-encoding says.")
		}
		return z, nil
	default:
		return nil, invalid(fmt.Sprintf("content-encoding: %s is not supported", quote(encoding)))
	}
}

// affords refuses a create for which there is no money at all: a batch that is
// begun ends, with whatever its pots allow. capped says that one of them has a
// limit.
func (b *batches) affords(ctx context.Context, caller Caller) (capped bool, e *apiError) {
	shared, own, err := b.potsOf(ctx, caller)
	if err != nil {
		return false, b.broken(ctx, err)
	}
	capped = b.cfg.Capped || b.cfg.PurseOf != nil
	for i, pot := range slices.Concat(shared, own) {
		limit, spent, _, err := pot.State(ctx)
		if err != nil {
			return false, b.broken(ctx, err)
		}
		if limit < 0 {
			continue
		}
		if capped = true; spent < limit {
			continue
		}
		whose := "the gateway's budget"
		if i >= len(shared) {
			whose = "the budget of " + caller.Name + " for the day"
		}
		return true, spentUp(fmt.Sprintf("%s of %s is spent", whose, flotilla.Money(limit)))
	}
	return capped, nil
}

// spentUp is what a cap on money says: it fails closed, and to ask again is of no
// use (interface.md, Gateway).
func spentUp(message string) *apiError {
	return &apiError{status: http.StatusTooManyRequests, kind: kindBilling, message: message, header: []string{headerShouldRetry, "false"}}
}
