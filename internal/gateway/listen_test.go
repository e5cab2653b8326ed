package gateway

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A caller that takes nothing of its answer is cut; one that takes a little now
// and then gets all of it, however long that is.
func TestReaders(t *testing.T) {
	const size = 200
	for _, c := range []struct {
		what  string
		every time.Duration // that a byte is taken; 0: none is
		whole bool
	}{{"quick", time.Millisecond, true}, {"slow", 50 * time.Second, true}, {"gone", 0, false}} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				defer time.Sleep(time.Hour) // the reader sees its end
				defer far.Close()
				var b bound
				b.open.Add(1)
				server := &conn{Conn: near, bound: &b}
				if c.every > 0 {
					go func() {
						for one := make([]byte, 1); ; time.Sleep(c.every) {
							if _, err := far.Read(one); err != nil {
								return
							}
						}
					}()
				}
				began := time.Now()
				n, err := server.Write(make([]byte, size))
				took := time.Since(began)
				switch {
				case c.whole && (err != nil || n != size):
					t.Errorf("%d bytes in %s: %v", n, took, err)
				case !c.whole && (!errors.Is(err, os.ErrDeadlineExceeded) || took > readerPatience):
					t.Errorf("held for %s: %v", took, err)
				}
				// A second answer on the connection has as long as the first.
				if c.whole {
					time.Sleep(time.Hour)
					if n, err := server.Write(make([]byte, size)); n != size || err != nil {
						t.Errorf("the second answer: %d bytes, %v", n, err)
					}
				}
				_, _ = server.Close(), server.Close()
				if open := b.open.Load(); open != 0 {
					t.Errorf("%d connections open", open)
				}
			})
		})
	}
}

// What net/http says by itself is put in shape; answers of handlers stay as they are.
func TestInShape(t *testing.T) {
	for text, shaped := range map[string]bool{
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request": true,
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nDate: x\r\n\r\nhello":                              false,
		"HTTP/1.1 100 Continue\r\n\r\n": false,
		"a body that speaks of HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n": false,
		"": false,
	} {
		if got := inShape([]byte(text)); (got != nil) != shaped {
			t.Errorf("%q: %q", text, got)
		}
	}
	near, far := net.Pipe()
	go func() {
		c := &conn{Conn: near, bound: &bound{}}
		_, _ = io.WriteString(c, "HTTP/1.1 505 HTTP Version Not Supported\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n505")
		_ = c.Close()
	}()
	if got := readReply(far); got.err != nil || got.status != 505 || !got.shaped(kindInvalid) {
		t.Errorf("%+v", got)
	}
}
