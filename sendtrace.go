package flotilla

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// sendTrace watches one exchange from below, so that when it fails we can tell
// what the failure proves: whether the request can have left, and whether the
// answer had begun. Money hangs on it: what did not leave is not billed.
type sendTrace struct {
	ctx      context.Context // the exchange's
	body     *onceBody       // nil: a request without body
	gotConn  atomic.Bool
	reused   atomic.Bool // the connection had carried an answer before
	wrote    atomic.Bool // the request was written whole
	answered atomic.Bool // a byte of the answer came
}

// newSend makes a request that can be sent once, and the trace that watches
// it. The body is sent byte for byte; header is used as it is and must not be
// changed until the exchange has ended. An empty body means none.
func newSend(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*http.Request, *sendTrace) {
	if len(body) == 0 {
		return newSendOf(ctx, method, to, header, nil, 0)
	}
	return newSendOf(ctx, method, to, header, &onceBody{data: body}, int64(len(body)))
}

// newSendFrom is newSend of a body of that many bytes that is made as it is
// sent.
func newSendFrom(ctx context.Context, method string, to *url.URL, header http.Header, body io.Reader, length int64) (*http.Request, *sendTrace) {
	return newSendOf(ctx, method, to, header, &onceBody{from: body}, length)
}

func newSendOf(ctx context.Context, method string, to *url.URL, header http.Header, body *onceBody, length int64) (*http.Request, *sendTrace) {
	t := &sendTrace{}
	t.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			t.gotConn.Store(true)
			t.reused.Store(info.Reused)
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				t.wrote.Store(true)
			}
		},
		GotFirstResponseByte: func() { t.answered.Store(true) },
	})
	req := &http.Request{
		Method: method, URL: to, Host: to.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if body != nil {
		t.body = body
		req.Body, req.ContentLength = body, length
	}
	return req.WithContext(t.ctx), t
}

// failure says what kind of failure err is, the error of this exchange's
// RoundTrip or of reading its answer. Afterwards nothing more of the request
// can leave.
func (t *sendTrace) failure(err error) sched.Failure {
	left, answered := t.mayHaveLeft(), t.answered.Load()
	switch {
	case !answered && (!left || neverProcessed(err)):
		return sched.NotSent
	case errors.Is(t.ctx.Err(), context.Canceled):
		return sched.Aborted
	case answered:
		return sched.Cut
	case isTimeout(t.ctx, err):
		return sched.Timeout
	case t.reused.Load():
		return sched.ReusedReset
	}
	return sched.Reset
}

// mayHaveLeft stops the sending and reports whether any of the request can have
// reached the server.
// A body is read before it is sent, so an unread one proves that the call was
// not: the API cannot act on headers alone.
func (t *sendTrace) mayHaveLeft() bool {
	if t.body == nil {
		return t.gotConn.Load()
	}
	return t.body.seal()
}

// goAwayText is the error net/http gives for a request that a server's GOAWAY
// says it will not process (RFC 9113, 6.8). It has no exported value.
const goAwayText = "http2: Transport received Server's graceful shutdown GOAWAY"

// refusedStream is HTTP/2's REFUSED_STREAM: closed before any processing
// (RFC 9113, 8.7).
const refusedStream = 7

// h2StreamError has the fields of net/http's unexported stream error, which
// errors.As fills by name.
type h2StreamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (h2StreamError) Error() string { return "http2 stream error" }

// neverProcessed reports whether the server itself says that it did nothing
// with the request.
func neverProcessed(err error) bool {
	var stream h2StreamError
	if errors.As(err, &stream) {
		return stream.Code == refusedStream
	}
	return err != nil && err.Error() == goAwayText
}

func isTimeout(ctx context.Context, err error) bool {
	var ne net.Error
	return errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
}

var errBodySpent = errors.New("the body of an ended exchange is not sent")

// onceBody is a request's body that remembers whether it was read and can be
// shut. It offers no way to be read a second time, so that nothing below us
// can send a request twice.
type onceBody struct {
	mu     sync.Mutex
	data   []byte
	from   io.Reader // in place of data; nil: none
	off    int
	read   bool
	sealed bool
	try    int // the try that may read it: a goroutine of an earlier one comes too late
}

func (b *onceBody) Read(buf []byte) (int, error) { return b.readFor(0, buf) }

func (b *onceBody) readFor(try int, buf []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sealed || try != b.try {
		return 0, errBodySpent
	}
	b.read = true
	if b.from != nil {
		return b.from.Read(buf)
	}
	if b.off == len(b.data) {
		return 0, io.EOF
	}
	n := copy(buf, b.data[b.off:])
	b.off += n
	return n, nil
}

// Close keeps an unread body usable: the transport closes the body of a request
// that found its connection closed, and the pool may then try another one.
func (b *onceBody) Close() error { return nil }

// again gives the body to another try, unless any of it was read; then, and
// only then, the request can have left.
func (b *onceBody) again() (io.ReadCloser, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read || b.sealed {
		return nil, false
	}
	b.try++
	return &tryBody{b, b.try}, true
}

// seal forbids further reading and reports whether there was any.
func (b *onceBody) seal() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sealed = true
	return b.read
}

// tryBody is a onceBody as one try of the pool sees it.
type tryBody struct {
	*onceBody
	number int
}

func (b *tryBody) Read(buf []byte) (int, error) { return b.readFor(b.number, buf) }
