package gateway

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"slices"

	"github.com/flotilla-llm/flotilla/journal"
)

// intake takes the requests of one create into a spool. Those that no batch can
// carry are settled at once, and so are those that the cache has answers for.
type intake struct {
	rowMeter
	b     *batches
	ctx   context.Context
	sp    *spool
	cache *cache  // nil: there is none
	turns []*turn // of its requests
	sum   hash.Hash
}

func (b *batches) newIntake(r *http.Request, sp *spool, capped bool) *intake {
	return &intake{
		rowMeter: rowMeter{
			fleet: b.cfg.Fleet, version: r.Header.Get("Anthropic-Version"), betas: betasOf(r.Header),
			hashed: b.cache != nil, capped: capped,
		},
		b: b, ctx: r.Context(), sp: sp, cache: b.cache, sum: sha256.New(),
	}
}

// read reads the requests of a create.
func (in *intake) read(r *http.Request) (int, *apiError) {
	text, e := plainBody(r)
	if e != nil {
		return 0, e
	}
	n, err := readUpload(text, in.row)
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
	return 0, in.b.broken(r.Context(), err)
}

// row takes one request.
func (in *intake) row(row *uploadRow) error {
	f := in.faultOf(row.params)
	if in.cache != nil {
		_, _ = in.sum.Write([]byte(row.id + "\n"))
		_, _ = in.sum.Write(row.params)
		_, _ = in.sum.Write([]byte("\n"))
	}
	switch {
	case f != nil:
		return in.sp.settle(row.id, errored(f))
	case in.cache == nil:
		return in.sp.row(row)
	}
	t := in.cache.take(in.facts.Hash)
	in.turns = append(in.turns, t)
	if t.hit() {
		if a, err := in.b.journal.Answer(in.ctx, t.id); err == nil {
			return in.sp.settle(row.id, `{"type":"succeeded","message":`+string(a.Body)+`}`)
		}
	}
	return in.sp.row(row)
}

// text tells the create from others.
func (in *intake) text() string { return hex.EncodeToString(in.sum.Sum(nil)) }

// commit makes what was taken durable.
func (in *intake) commit() error {
	if in.cache != nil {
		if err := in.sp.sum(in.text()); err != nil {
			return err
		}
	}
	return in.sp.commit()
}

// keep says that the client has its batch.
func (in *intake) keep() {
	for _, t := range in.turns {
		t.kept = true
	}
}

// end gives turns back that came to nothing.
func (in *intake) end() {
	for _, t := range in.turns {
		t.end()
	}
}

// twin is a batch of the same requests that an earlier gateway has not ended, and
// this one may have: a script that is run again after a crash is given it, and
// pays for nothing twice. Each is given once.
func (b *batches) twin(rec *journal.ClientBatch, sum string) (twin journal.ClientBatch, found bool, err error) {
	list, err := b.journal.ClientBatches(context.Background(), rec.Client)
	if err != nil {
		return twin, false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(list) - 1; i >= 0; i-- { // the oldest first
		r := &list[i]
		if !b.inherited[r.ID] || !r.Deleted.IsZero() || !r.CancelInitiated.IsZero() || !alike(r, rec) {
			continue
		}
		if text, err := os.ReadFile(b.files.name(r.ID, endSum)); err == nil && string(text) == sum {
			delete(b.inherited, r.ID)
			return *r, true, nil
		}
	}
	return twin, false, nil
}

func alike(a, b *journal.ClientBatch) bool {
	return a.N == b.N && a.Version == b.Version && slices.Equal(a.Betas, b.Betas)
}

// plainBody undoes a Content-Encoding as the body is read
// (facts/claude-api.md 1.7).
func plainBody(r *http.Request) (io.Reader, *apiError) {
	switch encoding := encodingOf(r); encoding {
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
