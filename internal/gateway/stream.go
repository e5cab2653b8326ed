package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// deliver passes an answer on and says whether the client has all of it. ctx is
// that of the exchange, which cancel ends.
func (g *Gateway) deliver(ctx context.Context, cancel context.CancelFunc, w http.ResponseWriter, r *http.Request, a *flotilla.Answer) (whole bool) {
	rec := recordOf(r.Context())
	rec.Answered(a)
	defer func() {
		if c, ok := a.Settled(); ok {
			rec.Settled(&c)
		}
	}()
	if a.Status/100 == 2 && wire.IsEventStream(a.Header) {
		return g.deliverStream(ctx, cancel, w, r, a)
	}
	return g.deliverWhole(w, r, a)
}

// head writes the head of an answer.
func head(w http.ResponseWriter, a *flotilla.Answer) {
	h := w.Header()
	copyHeader(h, a.Header)
	if a.Org != "" {
		h[headerOrg] = []string{a.Org}
	}
	h[headerAttempts] = []string{strconv.Itoa(a.Attempts)}
	h[headerQueue] = []string{strconv.FormatInt(a.Queued.Milliseconds(), 10)}
	w.WriteHeader(a.Status)
}

// wholeBytes is how much of an answer in one piece is gathered before its head
// goes out. Most answers are shorter: where one breaks off, the client is told
// by an error of the API's shape, and not by a broken connection.
const wholeBytes = 64 << 10

var wholes = sync.Pool{New: func() any { return new([wholeBytes]byte) }}

// deliverWhole passes on an answer that is no stream.
func (g *Gateway) deliverWhole(w http.ResponseWriter, r *http.Request, a *flotilla.Answer) bool {
	if all, ok := a.Body.(io.WriterTo); ok && a.Length >= 0 { // the fleet has it already
		a.Header["Content-Length"] = []string{strconv.FormatInt(a.Length, 10)}
		if c, ok := a.Settled(); ok && a.Pool != "" { // else it is free
			w.Header()[headerCost] = []string{c.Cost.Exact()}
		}
		head(w, a)
		_, err := all.WriteTo(w)
		return err == nil
	}
	buf := wholes.Get().(*[wholeBytes]byte)
	defer wholes.Put(buf)
	n, err := fill(a.Body, buf[:])
	ended := errors.Is(err, io.EOF)
	if err != nil && !ended {
		g.fail(w, r, brokenOff(err))
		return false
	}
	if ended {
		a.Header["Content-Length"] = []string{strconv.Itoa(n)}
	}
	head(w, a)
	if _, err := w.Write(buf[:n]); err != nil || ended {
		return err == nil
	}
	for {
		n, err := a.Body.Read(buf[:])
		if _, werr := w.Write(buf[:n]); werr != nil {
			return false
		}
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			panic(http.ErrAbortHandler) // a short body under a 200 would pass for the answer
		}
	}
}

// fill reads until buf is full (nil) or the body has ended (io.EOF) or broke off.
func fill(body io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var got int
		got, err = body.Read(buf[n:])
		n += got
	}
	return n, err
}

// brokenOff is an answer that broke off as the error that a fleet would give
// for it: what came of it may have been billed.
func brokenOff(err error) error {
	var known *flotilla.TransportError
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, flotilla.ErrClosed) {
		return err
	}
	return &flotilla.TransportError{Err: fmt.Errorf("the answer broke off: %w", err), InDoubt: true}
}
