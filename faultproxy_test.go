package flotilla

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// faultProxy is a loopback TCP proxy that does to each connection what its
// fault says. Resets are real ones: the other side sees RST, not a clean end.
type faultProxy struct {
	upstream string
	listener net.Listener
	conns    atomic.Int64 // accepted so far
	fault    atomic.Pointer[fault]

	mu   sync.Mutex
	open map[net.Conn]bool
	wg   sync.WaitGroup
}

// fault is what happens to a connection. The zero fault is none.
type fault struct {
	refuse      bool // reset at once
	resetBefore bool // reset when the next request's bytes come, before any of its answer
	swallow     bool // pass the request on and hold the answer back for ever
}

func newFaultProxy(t testing.TB, upstream string) *faultProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &faultProxy{upstream: upstream, listener: l, open: map[net.Conn]bool{}}
	p.set(fault{})
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *faultProxy) addr() string { return p.listener.Addr().String() }

// set changes what happens from now on, on open connections too.
func (p *faultProxy) set(f fault) { p.fault.Store(&f) }

func (p *faultProxy) close() {
	_ = p.listener.Close()
	p.resetAll()
	p.wg.Wait()
}

// resetAll resets every connection that is open now.
func (p *faultProxy) resetAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		reset(c)
	}
	clear(p.open)
}

func (p *faultProxy) track(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
}

func (p *faultProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.conns.Add(1)
		p.track(client)
		if p.fault.Load().refuse {
			reset(client)
			continue
		}
		server, err := net.DialTimeout("tcp", p.upstream, 5*time.Second)
		if err != nil {
			reset(client)
			continue
		}
		p.track(server)
		p.wg.Go(func() { p.requests(client, server) })
		p.wg.Go(func() { p.answers(client, server) })
	}
}

// requests carries what the client sends.
func (p *faultProxy) requests(client, server net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := client.Read(buf)
		if n > 0 && p.fault.Load().resetBefore {
			reset(client)
			reset(server)
			return
		}
		if _, werr := server.Write(buf[:n]); err != nil || werr != nil {
			_ = server.Close()
			return
		}
	}
}

// answers carries what the server sends.
func (p *faultProxy) answers(client, server net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := server.Read(buf)
		if p.fault.Load().swallow {
			_, _ = io.Copy(io.Discard, server)
			return
		}
		if _, werr := client.Write(buf[:n]); err != nil || werr != nil {
			_ = client.Close()
			return
		}
	}
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
