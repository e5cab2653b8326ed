package flotilla

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// countedServer is a test server that knows how many connections it was given.
type countedServer struct {
	*httptest.Server
	conns    atomic.Int64
	requests atomic.Int64
}

type serverKind int

const (
	plainHTTP serverKind = iota
	onlyHTTP1TLS
	overHTTP2
)

func newCountedServer(t testing.TB, kind serverKind, streams int, handler http.HandlerFunc) *countedServer {
	t.Helper()
	s := &countedServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		handler(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // broken handshakes are what some tests are about
	switch kind {
	case plainHTTP:
		s.Start()
	case onlyHTTP1TLS:
		s.StartTLS()
	case overHTTP2:
		s.EnableHTTP2 = true
		s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

// transportTo is a transport that trusts the test server.
func transportTo(t testing.TB, s *countedServer, maxConns int, proxy proxyFunc) *transport {
	t.Helper()
	tr := newTransport(mustURL(t, s.URL), maxConns, proxy)
	trust(tr, s)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func trust(tr *transport, s *countedServer) {
	if s.TLS == nil {
		return
	}
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	tr.h1.TLSClientConfig.RootCAs = roots
	if tr.pool != nil {
		tr.pool.dialer.TLSClientConfig.RootCAs = roots
	}
}

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// post sends one small body and reads the whole answer.
func post(ctx context.Context, tr http.RoundTripper, to *url.URL) (*http.Response, []byte, *sendTrace, error) {
	req, trace := newSend(ctx, http.MethodPost, to, http.Header{}, []byte(`{"model":"m"}`))
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return nil, nil, trace, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, trace, err
}

// gate lets handlers answer only when n of them are waiting, so that n calls
// are surely in flight together.
type gate struct {
	n    int64
	have atomic.Int64
	open chan struct{}
}

func newGate(n int) *gate { return &gate{n: int64(n), open: make(chan struct{})} }

func (g *gate) pass() {
	if g.have.Add(1) == g.n {
		close(g.open)
	}
	<-g.open
}

func postMany(t *testing.T, tr http.RoundTripper, to *url.URL, n int) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for range n {
		wg.Go(func() {
			if _, _, _, err := post(t.Context(), tr, to); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
}

// peer-faults 27: thousands of calls share few sockets.
func TestManyCallsShareFewConnections(t *testing.T) {
	t.Run("2000 at once over HTTP/2", func(t *testing.T) {
		g := newGate(2000)
		s := newCountedServer(t, overHTTP2, 0, func(http.ResponseWriter, *http.Request) { g.pass() })
		tr := transportTo(t, s, 2000, nil)
		postMany(t, tr, mustURL(t, s.URL), 2000)
		t.Logf("2,000 calls in flight: %d connections (bound 50)", s.conns.Load())
		if got := s.conns.Load(); got > 50 {
			t.Errorf("%d connections for 2,000 calls at once, want at most 50", got)
		}
		if got := s.requests.Load(); got != 2000 {
			t.Errorf("the server saw %d requests, want 2000", got)
		}
	})
	t.Run("a server with a low limit on streams", func(t *testing.T) {
		s := newCountedServer(t, overHTTP2, 10, func(http.ResponseWriter, *http.Request) {})
		tr := transportTo(t, s, 200, nil)
		postMany(t, tr, mustURL(t, s.URL), 1) // the first answer tells the limit
		g := newGate(200)
		s.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { g.pass() })
		postMany(t, tr, mustURL(t, s.URL), 200)
		if got := s.conns.Load(); got < 20 || got > 30 {
			t.Errorf("%d connections for 200 calls at 10 a connection, want 20 to 30", got)
		}
	})
	for name, kind := range map[string]serverKind{"HTTP/1.1": plainHTTP, "HTTP/1.1 over TLS": onlyHTTP1TLS} {
		t.Run("2000 calls over "+name, func(t *testing.T) {
			s := newCountedServer(t, kind, 0, func(http.ResponseWriter, *http.Request) {})
			tr := transportTo(t, s, 100, nil)
			postMany(t, tr, mustURL(t, s.URL), 2000)
			bound := int64(100)
			if kind == onlyHTTP1TLS {
				// Those that were dialled for 2,000 streams before the first found
				// out what the server speaks.
				bound += 2000/streamsPerConn + 1
			}
			if got := s.conns.Load(); got > bound {
				t.Errorf("%d connections, want at most %d", got, bound)
			}
		})
	}
}

func TestTransportAddsNothing(t *testing.T) {
	for name, kind := range map[string]serverKind{"HTTP/1.1": plainHTTP, "HTTP/2": overHTTP2} {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			s := newCountedServer(t, kind, 0, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Clone()
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			})
			resp, _, _, err := post(t.Context(), transportTo(t, s, 4, nil), mustURL(t, s.URL))
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusTemporaryRedirect || s.requests.Load() != 1 {
				t.Errorf("status %d after %d requests, want the redirect itself after 1", resp.StatusCode, s.requests.Load())
			}
			if enc := got.Get("Accept-Encoding"); enc != "" {
				t.Errorf("accept-encoding is %q, want none", enc)
			}
		})
	}
}

func TestPoolReplacesClosedConnections(t *testing.T) {
	s := newCountedServer(t, overHTTP2, 0, func(http.ResponseWriter, *http.Request) {})
	tr := transportTo(t, s, 4, nil)
	for range 3 {
		if _, _, _, err := post(t.Context(), tr, mustURL(t, s.URL)); err != nil {
			t.Fatal(err)
		}
		s.CloseClientConnections()
		// The pool may learn of it before or after the next call picks the
		// connection; a call whose body was not read moves to another one, one
		// that was read may fail, and then nothing else must be left of it.
		_, _, trace, err := post(t.Context(), tr, mustURL(t, s.URL))
		if err != nil && trace.failure(err) != sched.ReusedReset {
			t.Fatalf("after a close: %v, which is failure %d", err, trace.failure(err))
		}
	}
	tr.CloseIdleConnections()
	if _, _, trace, err := post(t.Context(), tr, mustURL(t, s.URL)); err != nil || trace.reused.Load() {
		t.Errorf("after CloseIdleConnections: error %v, reused %v; want a fresh connection", err, trace.reused.Load())
	}
}

func TestPoolGivesWaitersTheDialError(t *testing.T) {
	tr := newTransport(mustURL(t, "https://127.0.0.1:1"), 500, nil)
	var dials atomic.Int64
	down := errors.New("network is down")
	tr.dialWith(func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, down
	})
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			_, _, trace, err := post(t.Context(), tr, mustURL(t, "https://127.0.0.1:1"))
			if !errors.Is(err, down) || trace.failure(err) != sched.NotSent {
				t.Errorf("got %v, want the dial's error as NotSent", err)
			}
		})
	}
	wg.Wait()
	t.Logf("500 calls without network: %d dials", dials.Load())
}

func TestPoolWaiterLeaves(t *testing.T) {
	tr := newTransport(mustURL(t, "https://127.0.0.1:1"), 5, nil)
	tr.dialWith(func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, trace, err := post(ctx, tr, mustURL(t, "https://127.0.0.1:1"))
	if !errors.Is(err, context.Canceled) || trace.failure(err) != sched.NotSent {
		t.Errorf("got %v as %d, want context.Canceled as NotSent", err, trace.failure(err))
	}
	if n := len(tr.pool.waiters); n != 0 {
		t.Errorf("%d waiters left behind", n)
	}
}

// connectProxy is an HTTP proxy that tunnels.
func connectProxy(t *testing.T) (proxy *httptest.Server, tunnels *atomic.Int64) {
	tunnels = new(atomic.Int64)
	proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		tunnels.Add(1)
		server, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		client, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = fmt.Fprint(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
		go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
	}))
	t.Cleanup(proxy.Close)
	return proxy, tunnels
}

func TestTransportThroughProxy(t *testing.T) {
	for name, kind := range map[string]serverKind{"HTTP/2": overHTTP2, "HTTP/1.1 over TLS": onlyHTTP1TLS} {
		t.Run(name, func(t *testing.T) {
			s := newCountedServer(t, kind, 0, func(http.ResponseWriter, *http.Request) {})
			proxy, tunnels := connectProxy(t)
			tr := transportTo(t, s, 40, http.ProxyURL(mustURL(t, proxy.URL)))
			postMany(t, tr, mustURL(t, s.URL), 40)
			// A tunnel may be open whose handshake has not begun; a connection
			// without a tunnel went past the proxy.
			if conns := s.conns.Load(); conns == 0 || conns > tunnels.Load() {
				t.Errorf("%d connections through %d tunnels, want every one through the proxy", conns, tunnels.Load())
			}
		})
	}
}

func TestTransportRefusesOldTLS(t *testing.T) {
	s := newCountedServer(t, plainHTTP, 0, func(http.ResponseWriter, *http.Request) {})
	old := httptest.NewUnstartedServer(s.Config.Handler)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.Config.ErrorLog = s.Config.ErrorLog
	old.StartTLS()
	defer old.Close()
	_, _, trace, err := post(t.Context(), newTransport(mustURL(t, old.URL), 4, nil), mustURL(t, old.URL))
	if err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("got %v, want a refusal of TLS 1.1", err)
	}
	if trace.failure(err) != sched.NotSent {
		t.Error("a failed handshake is not NotSent")
	}
}

// However connections break and callers leave, every slot comes back and
// nobody waits for ever.
func TestPoolUnderChurn(t *testing.T) {
	s := newCountedServer(t, overHTTP2, 7, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3000)) })
	tr := transportTo(t, s, 5, nil)
	to := mustURL(t, s.URL)
	var wg sync.WaitGroup
	var ok, failed atomic.Int64
	for i := range 80 {
		wg.Go(func() {
			for n := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+n)%9 == 0 {
					cancel() // before, during or after it found a connection
				}
				if _, _, trace, err := post(ctx, tr, to); err != nil {
					failed.Add(1)
					_ = trace.failure(err)
				} else {
					ok.Add(1)
				}
				cancel()
				if i == 0 && n%4 == 3 {
					s.CloseClientConnections()
				}
				if i == 1 && n == 10 {
					tr.CloseIdleConnections()
				}
			}
		})
	}
	wg.Wait()
	if ok.Load() == 0 {
		t.Error("no call succeeded")
	}
	tr.pool.mu.Lock()
	defer tr.pool.mu.Unlock()
	for _, c := range tr.pool.conns {
		if c.load != 0 {
			t.Errorf("a connection still counts %d calls", c.load)
		}
	}
	if len(tr.pool.waiters) != 0 || len(tr.pool.conns) > 5 {
		t.Errorf("%d waiters, %d connections left; want 0, at most 5", len(tr.pool.waiters), len(tr.pool.conns))
	}
	t.Logf("%d calls answered, %d not, over %d connections", ok.Load(), failed.Load(), s.conns.Load())
}
