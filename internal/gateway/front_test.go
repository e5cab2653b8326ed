package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/memnet"
	"github.com/flotilla-llm/flotilla/journal"
)

// Keys of the tests' clients, and what one that would get in on a real gateway
// looks like.
const (
	aliceKey = "flk_alice0000000000000000000000000000000000"
	bobKey   = "flk_bob000000000000000000000000000000000000"
)

// shelf is a ClientBook in memory.
type shelf struct {
	mu   sync.Mutex
	list []journal.Client
	err  error
}

func newShelf(clients ...journal.Client) *shelf {
	return &shelf{list: clients}
}

func (s *shelf) Clients(context.Context) ([]journal.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]journal.Client(nil), s.list...), s.err
}

func (s *shelf) set(change func(s *shelf)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// clientNamed is a client with a key.
func clientNamed(name, key string) journal.Client {
	return journal.Client{Name: name, KeyHash: HashKey(key), Created: time.Unix(1, 0)}
}

// notebook keeps a log.
type notebook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *notebook) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(p)
}

func (n *notebook) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.String()
}

// front is a gateway as strangers meet it: with its shell, on a server of ours.
type front struct {
	*rig
	net *memnet.Listener
	log notebook

	mu   sync.Mutex
	told []Record
}

func (f *front) tell(r *Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, *r)
}

// last is what was told of the request before.
func (f *front) last() Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.told) == 0 {
		return Record{}
	}
	return f.told[len(f.told)-1]
}

// inFront runs a test in a bubble.
func inFront(t *testing.T, answer func(http.ResponseWriter, hit), set func(*Config, *ShellConfig), test func(f *front)) {
	t.Helper()
	var c ShellConfig
	inRigWith(t, answer, func(_ *flotilla.Config, g *Config) { set(g, &c) }, func(r *rig) {
		f := &front{rig: r, net: memnet.Listen()}
		c.API, c.Tell = r.gateway, f.tell
		c.Log = slog.New(slog.NewTextHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		s := NewServer(Shell(c), c.Log)
		over := make(chan error, 1)
		go func() { over <- s.Serve(Bound(f.net, 8)) }()
		transport := f.net.Transport()
		r.client = &http.Client{Transport: transport}
		test(f)
		transport.CloseIdleConnections()
		_ = s.Close()
		if err := <-over; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		time.Sleep(time.Second) // net/http takes half of one to close a connection with a body unread
	})
}

// keyed lets in alice and bob alone.
func keyed(_ *Config, c *ShellConfig) {
	c.Clients = KeyedClients(newShelf(clientNamed("alice", aliceKey), clientNamed("bob", bobKey)), false, nil)
}

// anybody lets in whoever is on this machine.
func anybody(_ *Config, c *ShellConfig) {
	c.Clients, c.Loopback = KeyedClients(newShelf(), true, nil), true
}

func (f *front) get(path string, header ...string) reply {
	return f.do(f.request(context.Background(), http.MethodGet, path, "", header...))
}

// dial is a connection to write to by hand.
func (f *front) dial() net.Conn {
	c, err := f.net.Dial(context.Background(), "", "")
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// readReply reads an answer that was asked for by hand.
func readReply(c net.Conn) reply {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return reply{err: err}
	}
	data, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(data), err}
}

// refused checks that a request got nowhere, with an error of the API's shape
// that tells nobody anything of ours.
func (f *front) refused(what string, got reply, status int, kind string) {
	f.t.Helper()
	switch {
	case got.err != nil:
		f.t.Errorf("%s: %v", what, got.err)
	case got.status != status || !got.shaped(kind):
		f.t.Errorf("%s: %d %s, want %d %s", what, got.status, got.body, status, kind)
	}
	for _, secret := range []string{aliceKey, bobKey, "sk-ant-emulated", "goroutine", ".go:"} {
		if strings.Contains(got.body, secret) {
			f.t.Errorf("%s tells %q: %s", what, secret, got.body)
		}
	}
	for _, h := range f.up.seen() {
		if h.path != "/v1/models" { // by which a fleet connects
			f.t.Errorf("%s went upstream: %s", what, h.path)
		}
	}
}
