package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// readerPatience is how long a caller may take nothing of its answer before it
// is cut. One that takes a little in it goes on: models write slowly, and so may
// people read.
const readerPatience = 2 * time.Minute

// Bound is a listener that holds so many connections at most and cuts those
// whose other end reads nothing any more. A connection above the bound is told
// so and closed, in place of being left to wonder.
func Bound(l net.Listener, most int) net.Listener { return &bound{Listener: l, most: int64(most)} }

type bound struct {
	net.Listener
	most int64
	open atomic.Int64
}

// Accept waits for the next connection that there is room for.
func (b *bound) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= b.most {
			return &conn{Conn: c, bound: b}, nil
		}
		b.open.Add(-1)
		go refuse(c)
	}
}

// refuse answers a connection that there is no room for, as the API would an
// overloaded one.
func refuse(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Read(make([]byte, 4<<10)) // an answer before the question is lost on many a client
	_, _ = c.Write(rawError("529 Overloaded", kindOverloaded, "the gateway has as many connections as it holds", "Retry-After: 5\r\n"))
}

// conn is a connection to a caller.
type conn struct {
	net.Conn
	bound *bound
	until atomic.Int64 // the write deadline, in Unix nanoseconds
	once  sync.Once
}

// Write writes for as long as the other end takes something now and then.
func (c *conn) Write(p []byte) (n int, err error) {
	if shaped := inShape(p); shaped != nil {
		_, err = c.Conn.Write(shaped)
		return len(p), err
	}
	for {
		// Moving a deadline costs a system's timer: not each time.
		now := time.Now()
		if until := now.Add(readerPatience).UnixNano(); until-c.until.Load() > int64(readerPatience/2) {
			c.until.Store(until)
			_ = c.SetWriteDeadline(now.Add(readerPatience))
		}
		wrote, err := c.Conn.Write(p[n:])
		n += wrote
		if wrote == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		c.until.Store(0)
	}
}

// Close ends the connection, which makes room for another.
func (c *conn) Close() error {
	c.once.Do(func() { c.bound.open.Add(-1) })
	return c.Conn.Close()
}

// inShape is an answer of net/http itself, to what it could not read as a request,
// in the API's shape; nil: this is none. net/http has no other way to say it.
func inShape(p []byte) []byte {
	const http11, plain = "HTTP/1.1 ", "Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	if len(p) > 512 || !bytes.HasPrefix(p, []byte(http11)) {
		return nil
	}
	status, rest, ok := strings.Cut(string(p[len(http11):]), "\r\n")
	if !ok || !strings.HasPrefix(rest, plain) {
		return nil
	}
	message := "the request could not be read"
	if strings.HasPrefix(status, "431") {
		message = headTooLarge
	}
	return rawError(status, kindInvalid, message, "")
}

// rawError is an answer written by hand, where there is no ResponseWriter.
func rawError(status, kind, message, header string) []byte {
	id := requestID()
	body := envelope(kind, message, id)
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\n%sRequest-Id: %s\r\nContent-Type: application/json\r\nDate: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, header, id, time.Now().UTC().Format(http.TimeFormat), len(body), body)
}
