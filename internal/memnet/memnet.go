// Package memnet is a network inside the process, for tests: its connections
// are pipes, so that in a testing/synctest bubble a wait on one lets virtual
// time pass, which a wait on a socket does not.
package memnet

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// Listener accepts the connections that its Dial makes.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// Listen makes a Listener.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

var errClosed = errors.New("memnet: the listener is closed")

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return addr{} }

// Dial opens a connection to the Listener, whatever address is asked for.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Transport makes an http.Transport over the Listener that keeps every
// connection.
func (l *Listener) Transport() *http.Transport {
	return &http.Transport{DialContext: l.Dial, MaxIdleConnsPerHost: 1 << 16, DisableCompression: true}
}

type addr struct{}

func (addr) Network() string { return "mem" }
func (addr) String() string  { return "memnet:80" }
