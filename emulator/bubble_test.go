package emulator

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener in memory, so that a bubble can see its goroutines idle.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// bubble runs a server at speed 1 and its client inside a synctest bubble.
func bubble(t *testing.T, o Options, f func(t *testing.T, s *Server, tr *http.Transport)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Start = epoch
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		l := newPipes()
		served := make(chan error)
		go func() { served <- s.Serve(l) }()
		tr := &http.Transport{DialContext: l.dial}
		f(t, s, tr)
		tr.CloseIdleConnections()
		if err := errors.Join(s.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
}

func post(ctx context.Context, t *testing.T, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://emulated/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", Key("high"))
	r.Header.Set("Anthropic-Version", versionOld)
	return r
}

// Over HTTP, first byte and end come at the very nanosecond that the model
// says.
func TestServedTimesAreTheModels(t *testing.T) {
	for _, body := range []string{hello, streamed} {
		sc, _ := Named("default")
		bubble(t, Options{Scenario: sc, Seed: 3}, func(t *testing.T, _ *Server, tr *http.Transport) {
			m := NewModel(sc, 3, epoch)
			a, err := m.Weigh(0, versionOld, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			x := m.Arrive(0, a)
			began := time.Now()
			res, err := tr.RoundTrip(post(t.Context(), t, body))
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got != x.FirstByte {
				t.Errorf("first byte after %v, the model says %v", got, x.FirstByte)
			}
			if _, err := io.ReadAll(res.Body); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got != x.End {
				t.Errorf("end after %v, the model says %v", got, x.End)
			}
		})
	}
}

// A client that goes away frees its slot and is billed for what there was.
func TestClientGoesAway(t *testing.T) {
	sc, _ := Named("steady")
	bubble(t, Options{Scenario: sc}, func(t *testing.T, s *Server, tr *http.Transport) {
		ctx, cancel := context.WithTimeout(t.Context(), 1400*time.Millisecond)
		defer cancel()
		if res, err := tr.RoundTrip(post(ctx, t, hello)); err == nil {
			_ = res.Body.Close()
			t.Error("the answer came before its time")
		}
		synctest.Wait()
		p := s.Stats().Orgs[0].Pools[0]
		// First token at 1 s and the prompt's share, 75 a second from then on.
		if p.OutputTokens < 28 || p.OutputTokens > 30 || p.InputTokens == 0 || p.Billed == 0 || p.Succeeded != 0 {
			t.Errorf("counted %+v", p)
		}
		if n := s.world.Load().model.InFlight(0); n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
}

// A change of speed wakes whoever waits.
func TestSpeedChangesForWaiters(t *testing.T) {
	sc, _ := Named("steady")
	bubble(t, Options{Scenario: sc}, func(t *testing.T, s *Server, tr *http.Transport) {
		began := time.Now()
		go func() {
			time.Sleep(500 * time.Millisecond)
			s.clock.setSpeed(10)
		}()
		res, err := tr.RoundTrip(post(t.Context(), t, hello))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Fatal(err)
		}
		// About 1.8 s of scaled time: half a second of it at speed 1.
		if got := time.Since(began); got < 550*time.Millisecond || got > 700*time.Millisecond {
			t.Errorf("answered after %v", got)
		}
	})
}

// Requests that arrive at one instant are admitted in the order they name.
func TestInOrder(t *testing.T) {
	sc, _ := Named("tier-start")
	bubble(t, Options{Scenario: sc, InOrder: true}, func(t *testing.T, _ *Server, tr *http.Transport) {
		const n = 30
		remaining := make([]string, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				r := post(t.Context(), t, strings.Replace(hello, "Hello", strconv.Itoa(i), 1))
				r.Header.Set(SequenceHeader, strconv.Itoa(i+1))
				res, err := tr.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				remaining[i] = res.Header.Get("Anthropic-Ratelimit-Requests-Remaining")
			})
		}
		all.Wait()
		for i, got := range remaining {
			if want := strconv.Itoa(999 - i); got != want {
				t.Errorf("request %d left %s, want %s", i+1, got, want)
			}
		}
	})
}
