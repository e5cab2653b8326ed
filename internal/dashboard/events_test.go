package dashboard

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// withLocal is a request's context as a server at that address makes it.
func withLocal(ctx context.Context, addr string) context.Context {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		panic(err)
	}
	return context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(at))
}

// A listener that takes nothing gets the newest state, and the last points.
func TestASlowListener(t *testing.T) {
	h := newHub()
	l := h.join()
	for i := range 3 * pointsKept {
		h.tellState([]byte{byte(i)})
		h.tellPoint([]byte{byte(i)})
	}
	state, points := l.take()
	if state[0] != 3*pointsKept-1 || len(points) != pointsKept || points[0][0] != 2*pointsKept || points[pointsKept-1][0] != 3*pointsKept-1 {
		t.Errorf("state %v, %d points from %v", state, len(points), points[0])
	}
	if state, points := l.take(); state != nil || points != nil {
		t.Error("it is told twice")
	}
}

func TestListenersAreBounded(t *testing.T) {
	h := newHub()
	var last *listener
	for range maxListeners {
		if last = h.join(); last == nil {
			t.Fatal("there is room yet")
		}
	}
	if h.join() != nil {
		t.Error("one too many joined")
	}
	h.leave(last)
	if h.join() == nil {
		t.Error("the place of one that left is not free")
	}
	h.close()
	h.close()
	if h.join() != nil {
		t.Error("a closed hub is joined")
	}
}

// reader reads server-sent events.
type reader struct{ *bufio.Scanner }

// next is the next event: its name and its data.
func (r reader) next() (name, data string) {
	for r.Scan() {
		line := r.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		case line == "" && name != "":
			return name, data
		}
	}
	return "", ""
}

// Events come as things happen, and end with the dashboard, which leaves nothing
// running.
func TestEvents(t *testing.T) {
	running := goleak.IgnoreCurrent()
	s := newShop(t, nil)
	web := httptest.NewServer(s.dash)
	resp, err := http.Get(web.URL + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Error("the content type is", kind)
	}
	events := reader{bufio.NewScanner(resp.Body)}
	events.Buffer(nil, 1<<20)
	if name, data := events.next(); name != "state" || strings.Contains(data, `"command"`) {
		t.Errorf("first comes %s %s", name, data)
	}
	job := s.begin(2, nil)
	seen := map[string]bool{}
	for !seen["state"] || !seen["point"] {
		name, data := events.next()
		if name == "" {
			t.Fatal("the events ended; seen:", seen)
		}
		if name == "point" || strings.Contains(data, job.Key) {
			seen[name] = true
		}
	}
	s.dash.Close()
	for {
		if name, _ := events.next(); name == "" {
			break
		}
	}
	web.Close()
	_ = s.journal.Close()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, running)
}
