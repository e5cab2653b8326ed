package flotilla

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// streamsPerConn is how many calls share one HTTP/2 connection. Servers
	// allow 100 and more; fewer keep one lost packet from holding up too many.
	streamsPerConn = 64
	// maxDialing bounds the handshakes under way at once: a burst of calls at
	// the start needs several connections soon, an outage needs no storm.
	maxDialing = 8
	// maxPicks is how often a request may try another connection after one
	// proved closed before anything of the request had left.
	maxPicks = 3
)

// errOnlyHTTP1 says that the server speaks no HTTP/2.
var errOnlyHTTP1 = errors.New("server speaks only HTTP/1.1")

// connPool spreads requests over HTTP/2 connections to one address, and dials
// another only when all are full.
type connPool struct {
	dialer   *http.Transport
	address  string
	maxConns int
	onlyH1   atomic.Bool

	mu      sync.Mutex
	conns   []*poolConn
	proven  bool // a connection was made, so the server speaks HTTP/2
	perConn int  // streamsPerConn, or the server's own limit where that is lower
	dialing int
	waiters []chan error // oldest first; nil means: look again
}

// poolConn is one connection of the pool. The pool's lock guards it.
type poolConn struct {
	cc       *http.ClientConn
	load     int // requests on it, from acquire to the end of the answer's body
	limit    int
	answered bool // it has carried an answer: a request on it reuses it
	retired  bool // takes nothing new; closed when its load is gone
}

func newConnPool(dialer *http.Transport, address string, maxConns int) *connPool {
	return &connPool{dialer: dialer, address: address, maxConns: maxConns, perConn: streamsPerConn}
}

// roundTrip sends req on some connection. It sends a second time only when
// nothing of the body was read for the first: then nothing can have left.
func (p *connPool) roundTrip(req *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		c, reused, err := p.acquire(req.Context())
		if err != nil {
			return nil, err
		}
		if tr := httptrace.ContextClientTrace(req.Context()); tr != nil && tr.GotConn != nil {
			tr.GotConn(httptrace.GotConnInfo{Reused: reused})
		}
		resp, err := c.cc.RoundTrip(req)
		if err == nil {
			p.learn(c)
			resp.Body = &poolBody{ReadCloser: resp.Body, pool: p, conn: c}
			return resp, nil
		}
		p.release(c)
		if try == maxPicks || req.Context().Err() != nil {
			return nil, err
		}
		if req = another(req); req == nil {
			return nil, err
		}
	}
}

// another is the request for one more try; nil unless its body is one of ours
// that nobody has read.
func another(req *http.Request) *http.Request {
	var body io.ReadCloser
	var ok bool
	switch b := req.Body.(type) {
	case *onceBody:
		body, ok = b.again()
	case *tryBody:
		body, ok = b.again()
	}
	if !ok {
		return nil
	}
	again := *req
	again.Body = body
	return &again
}

// acquire returns a connection that has room, with one more request counted on
// it, and whether it has carried an answer before.
func (p *connPool) acquire(ctx context.Context) (c *poolConn, reused bool, err error) {
	for {
		if p.onlyH1.Load() {
			return nil, false, errOnlyHTTP1
		}
		if err := ctx.Err(); err != nil {
			return nil, false, context.Cause(ctx)
		}
		p.mu.Lock()
		if c := p.pick(); c != nil {
			c.load++
			reused := c.answered
			p.mu.Unlock()
			// Not Reserve: when the server's settings turn out to allow fewer
			// streams than were reserved, each reservation waits for the others
			// and RoundTrip never returns (go1.26).
			if c.cc.Available() > 0 {
				return c, reused, nil
			}
			p.refused(c)
			continue
		}
		wait := make(chan error, 1)
		p.waiters = append(p.waiters, wait)
		p.grow()
		p.mu.Unlock()
		select {
		case err := <-wait:
			if err != nil {
				return nil, false, err
			}
		case <-ctx.Done():
			p.leave(wait)
			return nil, false, context.Cause(ctx)
		}
	}
}

// pick is the connection with the least load that has room; nil: none has.
func (p *connPool) pick() *poolConn {
	var best *poolConn
	for _, c := range p.conns {
		if c.load < min(c.limit, p.perConn) && (best == nil || c.load < best.load) {
			best = c
		}
	}
	return best
}

// refused handles a connection that has no room where we thought there was: it
// is closed, going away, or its server allows fewer streams.
func (p *connPool) refused(c *poolConn) {
	closed := c.cc.Err() != nil
	p.mu.Lock()
	defer p.mu.Unlock()
	c.limit = c.load - 1 // until its first answer, when learn reads the server's settings
	if closed || c.answered || c.limit == 0 {
		p.drop(c)
	}
	p.unload(c)
}

// learn reads the server's limit on streams once its settings must have come.
func (p *connPool) learn(c *poolConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.answered {
		return
	}
	c.answered = true
	if free := c.cc.Available(); free > 0 {
		c.limit = free + c.cc.InFlight()
		p.perConn = min(streamsPerConn, c.limit)
	}
}

func (p *connPool) release(c *poolConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unload(c)
}

// unload takes one request off a connection and lets a waiter look again.
func (p *connPool) unload(c *poolConn) {
	c.load--
	if c.retired && c.load == 0 {
		go c.cc.Close() // may write to the network; not under the lock
	}
	p.wake(1, nil)
}

// drop takes a connection out of the pool; what is on it goes on.
func (p *connPool) drop(c *poolConn) {
	c.retired = true
	p.conns = slices.DeleteFunc(p.conns, func(o *poolConn) bool { return o == c })
	p.grow()
}

// retire drops every connection: idle ones close now, others when their last
// answer has been read.
func (p *connPool) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Clone(p.conns) {
		p.drop(c)
		if c.load == 0 {
			go c.cc.Close()
		}
	}
}

// wake tells the n oldest waiters to look again, or that dialling failed.
func (p *connPool) wake(n int, err error) {
	n = max(0, min(n, len(p.waiters)))
	for _, w := range p.waiters[:n] {
		w <- err
	}
	p.waiters = slices.Delete(p.waiters, 0, n)
}

// leave takes back a waiter whose caller went away. One that was woken in the
// same moment passes its turn on.
func (p *connPool) leave(wait chan error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiters, wait); i >= 0 {
		p.waiters = slices.Delete(p.waiters, i, i+1)
		return
	}
	if err := <-wait; err == nil {
		p.wake(1, nil)
	}
}

// grow starts as many dials as the waiters need. The very first goes alone,
// since it tells which protocol the server speaks.
func (p *connPool) grow() {
	most := maxDialing
	if !p.proven {
		most = 1
	}
	for len(p.waiters) > p.dialing*p.perConn && p.dialing < most && len(p.conns)+p.dialing < p.maxConns {
		p.dialing++
		go p.dial()
	}
}

// dial makes one connection. It is nobody's in particular, so no caller's
// context ends it.
func (p *connPool) dial() {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout+shakeTimeout)
	defer cancel()
	cc, err := p.dialer.NewClientConn(ctx, "https", p.address)
	if err == nil && cc.Available() == 1 {
		// HTTP/1.1: net/http's own pool is the better one for that.
		p.onlyH1.Store(true)
		_ = cc.Close() // unused; nothing can be lost
		err = errOnlyHTTP1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	if err != nil {
		// Those whom the dials still under way will serve wait on.
		p.wake(len(p.waiters)-p.dialing*p.perConn, err)
		return
	}
	p.proven = true
	p.conns = append(p.conns, &poolConn{cc: cc, limit: streamsPerConn})
	p.wake(p.perConn, nil)
	p.grow()
}

// poolBody gives the connection's slot back when the answer has been read or
// is given up.
type poolBody struct {
	io.ReadCloser
	pool *connPool
	conn *poolConn
	once sync.Once
}

func (b *poolBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if err != nil {
		b.done()
	}
	return n, err
}

func (b *poolBody) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}

func (b *poolBody) done() { b.once.Do(func() { b.pool.release(b.conn) }) }
