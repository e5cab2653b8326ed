package gateway

import (
	"context"
	"net/http"
	"slices"
	"time"

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
	in := b.newIntake(r, sp, capped)
	defer in.end()
	n, e := in.read(r)
	if e != nil {
		sp.discard()
		return e
	}
	_, named := one(r.Header, headerPriority)
	rec := b.record(r, caller, sp.id, n)
	noteAsk(&rec, &a, caller, named)
	if rec, err = b.keep(in, rec); err != nil {
		return b.broken(r.Context(), err)
	}
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

// keep makes a batch durable, first its requests, then what the journal says, and
// lets it run. Where that fails nobody has heard of it, and its files go. With a
// cache it may be one that an earlier gateway has not ended.
func (b *batches) keep(in *intake, rec journal.ClientBatch) (journal.ClientBatch, error) {
	err := in.commit()
	if err == nil && in.cache != nil {
		twin, found, err := b.twin(&rec, in.text())
		if err != nil || found {
			in.sp.discard()
			in.keep()
			return twin, err
		}
	}
	if err == nil {
		b.step(stepSpooled)
		err = b.journal.PutClientBatch(context.Background(), rec)
	}
	if err != nil {
		in.sp.discard()
		return rec, err
	}
	b.step(stepKept)
	in.keep()
	b.start(&rec)
	return rec, nil
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
		whose := OwnBudget
		if i >= len(shared) {
			whose = budgetOf(caller.Name)
		}
		return true, spentUp(whose + " is spent")
	}
	return capped, nil
}

// spentUp is what a cap on money says: it fails closed, and to ask again is of no
// use (interface.md, Gateway).
func spentUp(message string) *apiError {
	return &apiError{status: http.StatusTooManyRequests, kind: kindBilling, message: message, header: []string{headerShouldRetry, "false"}}
}
