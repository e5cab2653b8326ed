package flotilla

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// faulty is a server behind a fault proxy, and a transport to it.
type faulty struct {
	server *countedServer
	proxy  *faultProxy
	tr     *transport
	to     *url.URL
}

func newFaulty(t *testing.T, kind serverKind) *faulty {
	t.Helper()
	s := newCountedServer(t, kind, 0, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("an answer"))
	})
	p := newFaultProxy(t, s.Listener.Addr().String())
	to := mustURL(t, strings.Replace(s.URL, s.Listener.Addr().String(), p.addr(), 1))
	tr := newTransport(to, 4, nil)
	trust(tr, s)
	t.Cleanup(tr.CloseIdleConnections)
	return &faulty{server: s, proxy: p, tr: tr, to: to}
}

// send makes one call and says how it failed.
func (f *faulty) send(t *testing.T, ctx context.Context) sched.Failure {
	t.Helper()
	_, _, trace, err := post(ctx, f.tr, f.to)
	if err == nil {
		t.Fatal("the call succeeded through a fault")
	}
	kind := trace.failure(err)
	t.Logf("%v: failure %d", err, kind)
	return kind
}

func (f *faulty) warm(t *testing.T) {
	t.Helper()
	if _, _, _, err := post(t.Context(), f.tr, f.to); err != nil {
		t.Fatal(err)
	}
}

// halfAnAnswer sends its headers and a part of the body, and then no more.
var halfAnAnswer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write([]byte("half an ans"))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
})

// peer-faults 28: what a broken connection proves depends on when it broke and
// on whether it had worked before. Nothing is ever sent twice.
func TestFailuresOfConnections(t *testing.T) {
	for name, kind := range map[string]serverKind{"HTTP/1.1": plainHTTP, "HTTP/2": overHTTP2} {
		t.Run(name, func(t *testing.T) {
			t.Run("a reused connection is reset before any byte", func(t *testing.T) {
				f := newFaulty(t, kind)
				f.warm(t)
				f.proxy.set(fault{resetBefore: true})
				if got := f.send(t, t.Context()); got != sched.ReusedReset {
					t.Errorf("got %d, want ReusedReset", got)
				}
				if n := f.server.requests.Load(); n != 1 {
					t.Errorf("the server saw %d requests, want the first alone: something was replayed", n)
				}
				f.proxy.set(fault{})
				f.warm(t)
			})
			t.Run("reset within the answer", func(t *testing.T) {
				f := newFaulty(t, kind)
				f.warm(t)
				f.server.Config.Handler = halfAnAnswer
				req, trace := newSend(t.Context(), http.MethodPost, f.to, http.Header{}, []byte("{}"))
				resp, err := f.tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				f.proxy.resetAll()
				_, err = io.ReadAll(resp.Body)
				if err == nil {
					t.Fatal("half an answer was read as a whole one")
				}
				if got := trace.failure(err); got != sched.Cut {
					t.Errorf("%v is %d, want Cut", err, got)
				}
			})
			t.Run("no answer in time", func(t *testing.T) {
				f := newFaulty(t, kind)
				f.warm(t)
				f.proxy.set(fault{swallow: true})
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				if got := f.send(t, ctx); got != sched.Timeout {
					t.Errorf("got %d, want Timeout", got)
				}
			})
			t.Run("the caller goes away", func(t *testing.T) {
				f := newFaulty(t, kind)
				f.warm(t)
				f.proxy.set(fault{swallow: true})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(50*time.Millisecond, cancel)
				if got := f.send(t, ctx); got != sched.Aborted {
					t.Errorf("got %d, want Aborted", got)
				}
			})
			t.Run("nobody listens", func(t *testing.T) {
				f := newFaulty(t, kind)
				f.proxy.close()
				if got := f.send(t, t.Context()); got != sched.NotSent {
					t.Errorf("got %d, want NotSent", got)
				}
			})
		})
	}
	t.Run("a fresh connection is reset before any byte", func(t *testing.T) {
		f := newFaulty(t, plainHTTP)
		f.proxy.set(fault{resetBefore: true})
		if got := f.send(t, t.Context()); got != sched.Reset {
			t.Errorf("got %d, want Reset", got)
		}
	})
	t.Run("a TLS handshake is reset", func(t *testing.T) {
		f := newFaulty(t, overHTTP2)
		f.proxy.set(fault{resetBefore: true})
		if got := f.send(t, t.Context()); got != sched.NotSent {
			t.Errorf("got %d, want NotSent", got)
		}
	})
}

// HTTP/2 frame types and error codes (RFC 9113, 6 and 7).
const (
	h2Data, h2Reset, h2Settings, h2GoAway = 0, 3, 4, 7
	h2InternalError                       = 2
	h2Preface                             = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// An HTTP/2 server can say that it did nothing with a request.
func TestServerSaysNotProcessed(t *testing.T) {
	for _, c := range []struct {
		name   string
		refuse func(stream uint32) []byte
		want   sched.Failure
	}{
		{"REFUSED_STREAM", func(stream uint32) []byte { return h2Frame(h2Reset, stream, refusedStream) }, sched.NotSent},
		{"GOAWAY before it", func(uint32) []byte { return h2Frame(h2GoAway, 0, 0, 0) }, sched.NotSent},
		{"another error code", func(stream uint32) []byte { return h2Frame(h2Reset, stream, h2InternalError) }, sched.Reset},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failureOverRawHTTP2(t, c.refuse); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// failureOverRawHTTP2 lets a frame-level server take one request whole and
// then refuse it.
func failureOverRawHTTP2(t *testing.T, refuse func(stream uint32) []byte) sched.Failure {
	t.Helper()
	// A server of the standard library lends its certificate.
	s := newCountedServer(t, overHTTP2, 0, func(http.ResponseWriter, *http.Request) {})
	l := tlsListener(t, s)
	go serveRawHTTP2(l, refuse)
	to := mustURL(t, "https://"+l.Addr().String())
	tr := newTransport(to, 4, nil)
	trust(tr, s)
	_, _, trace, err := post(t.Context(), tr, to)
	if err == nil {
		t.Fatal("the refused call succeeded")
	}
	t.Log(err)
	return trace.failure(err)
}

// serveRawHTTP2 ends when the client closes, which it may do at any moment.
func serveRawHTTP2(l net.Listener, refuse func(stream uint32) []byte) {
	conn, err := l.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	if _, err := in.Discard(len(h2Preface)); err != nil {
		return
	}
	_, _ = conn.Write(h2Frame(h2Settings, 0))
	for {
		var head [9]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		if _, err := in.Discard(length); err != nil {
			return
		}
		if ended := head[4]&1 != 0; head[3] == h2Data && ended {
			_, _ = conn.Write(refuse(binary.BigEndian.Uint32(head[5:])))
		}
	}
}

// h2Frame is a frame whose payload is 32-bit words.
func h2Frame(kind byte, stream uint32, words ...uint32) []byte {
	b := []byte{0, 0, byte(4 * len(words)), kind, 0}
	b = binary.BigEndian.AppendUint32(b, stream)
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func tlsListener(t *testing.T, s *countedServer) net.Listener {
	t.Helper()
	config := s.TLS.Clone()
	config.NextProtos = []string{"h2"}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// A goroutine of an aborted try that reads its body late gets nothing once
// another try has the body, and what the other reads is whole.
func TestALateReaderGetsNothing(t *testing.T) {
	once := &onceBody{data: []byte("hello")}
	again, ok := once.again()
	if !ok {
		t.Fatal("an unread body has another try")
	}
	if n, err := once.Read(make([]byte, 3)); n != 0 || err == nil {
		t.Errorf("the late reader got %d bytes, error %v", n, err)
	}
	got, err := io.ReadAll(again)
	if err != nil || string(got) != "hello" {
		t.Errorf("the second try read %q, error %v", got, err)
	}
	if _, ok := once.again(); ok {
		t.Error("a body that was read has no third try")
	}
}
