package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// A body that is on its way for bodyPatience must have brought bodyStep bytes in
// it: a hundred bytes a second, which any line of this century carries, and which
// leaves nobody holding a connection for nothing.
const (
	bodyPatience = 30 * time.Second
	bodyStep     = 3 << 10
)

// maxHeld bounds the bodies of requests that one gateway holds at once: each is
// kept until its call is answered, in case it must be sent again.
const maxHeld = 1 << 30

// body is a request's body on its way in: it keeps a slow sender from holding
// on for ever, and all senders together from filling the memory.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	held    *atomic.Int64 // by all requests
	size    int64         // of it, by this one
	since   int64         // bytes since the deadline was moved
	begun   bool
	counted bool // what it holds counts
}

func (b *body) Read(p []byte) (int, error) {
	if !b.begun || b.since >= bodyStep {
		b.begun, b.since = true, 0
		_ = b.control.SetReadDeadline(time.Now().Add(bodyPatience))
	}
	n, err := b.ReadCloser.Read(p)
	b.since += int64(n)
	if e := b.hold(n); e != nil {
		return n, e
	}
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, errSlow
	default:
		// The connection is watched for its end from here on, however long the
		// answer takes.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// hold counts bytes that are kept of a request, until its release; errFull where
// that makes more than the gateway holds.
func (b *body) hold(n int) error {
	if !b.counted || n <= 0 {
		return nil
	}
	b.size += int64(n)
	if b.held.Add(int64(n)) > maxHeld {
		return errFull
	}
	return nil
}

// unpacked is what a body that came compressed decodes to: it is that which is
// kept, a thousand times as much as was sent where somebody means it to be.
type unpacked struct {
	io.Reader
	of *body // nil: nobody counts
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if u.of != nil {
		if e := u.of.hold(n); e != nil {
			return n, e
		}
	}
	return n, err
}

// release lets go of what was held, once the request is over.
func (b *body) release() {
	if b.size > 0 {
		b.held.Add(-b.size)
	}
}

// bodyError is why a request's body was not read to its end.
type bodyError struct{ apiError }

func (e *bodyError) Error() string { return e.message }

// The rest of such a body is not waited for.
var (
	errSlow = &bodyError{apiError{
		http.StatusRequestTimeout, kindInvalid,
		fmt.Sprintf("the body of the request came too slowly: less than %d bytes in %s", bodyStep, bodyPatience),
		[]string{"Connection", "close"},
	}}
	errFull = &bodyError{apiError{
		http.StatusTooManyRequests, kindRateLimit,
		"the gateway holds as many requests as its memory allows", append(retryAfter(fullPause), "Connection", "close"),
	}}
)

// fullPause is when a request is worth sending again after the memory was full:
// most calls are answered by then.
const fullPause = 5 * time.Second
