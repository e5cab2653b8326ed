package flotilla

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Times of the connection itself; how long an answer may take is the context's
// business alone, so that a long generation is never cut by the transport.
const (
	dialTimeout  = 10 * time.Second // an address that does not answer a SYN by then is down
	shakeTimeout = 10 * time.Second
	// idleTimeout is below what load balancers keep idle connections for, so
	// that we close first and do not write to a socket the other side has
	// just given up (peer-faults 28).
	idleTimeout = 55 * time.Second
	// pingAfter and pingTimeout find a dead HTTP/2 connection (a laptop that
	// changed networks) within half a minute while answers are awaited.
	pingAfter   = 15 * time.Second
	pingTimeout = 15 * time.Second
)

type (
	proxyFunc = func(*http.Request) (*url.URL, error)
	dialFunc  = func(ctx context.Context, network, address string) (net.Conn, error)
)

// transport carries requests to one base URL over few connections. It sends
// each request at most once, follows no redirects, asks for no compression and
// sets no limit on the time of an answer.
//
// Over https it keeps a small pool of HTTP/2 connections, since http.Transport
// dials anew whenever a burst finds the one it has full (facts/dependencies.md,
// row "HTTP client": 12,902 connections against 40). Servers that do not speak
// HTTP/2 get an http.Transport whose idle connections are all kept, so that a
// window of calls in flight uses as many sockets and no more (peer-faults 27).
type transport struct {
	host string // the base URL's host and port: what the pool is connected to
	h1   *http.Transport
	pool *connPool // nil unless the base URL is https
}

// newTransport makes a transport for base. maxConns bounds the connections; it
// should be at least the number of calls that may be in flight. proxy is
// consulted for each connection; nil means none.
func newTransport(base *url.URL, maxConns int, proxy proxyFunc) *transport {
	maxConns = max(maxConns, 1)
	t := &transport{host: base.Host, h1: newHTTPTransport(maxConns, proxy)}
	t.h1.Protocols.SetHTTP1(true)
	if base.Scheme == "https" {
		dialer := newHTTPTransport(maxConns, proxy)
		dialer.Protocols.SetHTTP1(true)
		dialer.Protocols.SetHTTP2(true)
		dialer.MaxConnsPerHost = 0 // the pool counts; with a limit, closing a ClientConn of HTTP/1.1 panics (go1.26)
		t.pool = newConnPool(dialer, hostPort(base), maxConns)
	}
	return t
}

func newHTTPTransport(maxConns int, proxy proxyFunc) *http.Transport {
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: shakeTimeout,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			ClientSessionCache: tls.NewLRUClientSessionCache(8), // a reconnect costs one round trip less
		},
		DisableCompression:  true, // answers are small, and raw bytes are what is journaled
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns, // the default of 2 closes and redials the rest: ephemeral ports run out
		IdleConnTimeout:     idleTimeout,
		Protocols:           new(http.Protocols),
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}

// hostPort is the address to dial for a base URL.
func hostPort(base *url.URL) string {
	if base.Port() != "" {
		return base.Host
	}
	if base.Scheme == "https" {
		return net.JoinHostPort(base.Hostname(), "443")
	}
	return net.JoinHostPort(base.Hostname(), "80")
}

// dialWith replaces the way connections are made (an in-memory network). It
// must be called before the first request.
func (t *transport) dialWith(dial dialFunc) {
	t.h1.DialContext = dial
	if t.pool != nil {
		t.pool.dialer.DialContext = dial
	}
}

// RoundTrip sends the request once and returns what came back.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.pool == nil || req.URL.Scheme != "https" || req.URL.Host != t.host {
		return t.h1.RoundTrip(req)
	}
	resp, err := t.pool.roundTrip(req)
	if errors.Is(err, errOnlyHTTP1) {
		return t.h1.RoundTrip(req)
	}
	return resp, err
}

// CloseIdleConnections closes what carries no request now.
func (t *transport) CloseIdleConnections() {
	t.h1.CloseIdleConnections()
	if t.pool != nil {
		t.pool.retire()
	}
}
