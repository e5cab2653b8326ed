package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Whatever comes in, the answer has the API's shape, nothing goes upstream and
// nothing leaks.
func TestBadInput(t *testing.T) {
	book := newShelf(clientNamed("alice", aliceKey), clientNamed("bob", bobKey))
	book.list[1].Revoked = time.Unix(2, 0)
	var fleet *front
	set := func(g *Config, c *ShellConfig) {
		c.Clients = KeyedClients(book, false, nil)
		g.PotsOf = func(ctx context.Context, _ Caller) ([]*flotilla.Pot, error) {
			pot, err := fleet.fleet.Pot(ctx, "a pot", 1, 0) // one nano-dollar
			return []*flotilla.Pot{pot}, err
		}
	}
	inFront(t, good, set, func(f *front) {
		fleet = f
		body := askFor("hello", "")
		for _, c := range []struct {
			what, method, path, body string
			header                   []string
			status                   int
			kind                     string
		}{
			{"no key", "POST", "/v1/messages", body, []string{"X-Api-Key", ""}, 401, "authentication_error"},
			{"wrong key", "POST", "/v1/messages", body, []string{"X-Api-Key", "flk_wrong"}, 401, "authentication_error"},
			{"wrong token", "POST", "/v1/messages", body, []string{"X-Api-Key", "", "Authorization", "Bearer flk_wrong"}, 401, "authentication_error"},
			{"key as password", "POST", "/v1/messages", body, []string{"X-Api-Key", "", "Authorization", "Basic eDp5"}, 401, "authentication_error"},
			{"revoked key", "POST", "/v1/messages", body, []string{"X-Api-Key", bobKey}, 401, "authentication_error"},
			{"over budget", "POST", "/v1/messages", body, []string{"X-Api-Key", aliceKey}, 429, "billing_error"},
			{"unknown path", "GET", "/v1/nothing", "", []string{"X-Api-Key", aliceKey}, 404, "not_found_error"},
			{"no path of ours", "GET", "/etc/passwd", "", []string{"X-Api-Key", aliceKey}, 404, "not_found_error"},
			{"path that climbs", "GET", "/v1/../../etc/passwd", "", []string{"X-Api-Key", aliceKey}, 404, "not_found_error"},
			{"files", "POST", "/v1/files", "", []string{"X-Api-Key", aliceKey}, 404, "not_found_error"},
			{"wrong method", "PUT", "/v1/messages", "", []string{"X-Api-Key", aliceKey}, 405, "invalid_request_error"},
			{"33 MB", "POST", "/v1/messages", strings.Repeat(" ", 33<<20), []string{"X-Api-Key", aliceKey}, 413, "request_too_large"},
			{"no JSON", "POST", "/v1/messages", `{"model":`, []string{"X-Api-Key", aliceKey}, 400, "invalid_request_error"},
			{"no priority", "POST", "/v1/messages", body, []string{"X-Api-Key", aliceKey, "X-Flotilla-Priority", "high"}, 400, "invalid_request_error"},
		} {
			f.refused(c.what, f.do(f.request(context.Background(), c.method, c.path, c.body, c.header...)), c.status, c.kind)
		}
	})
}

// A client whose budget is used up must not come again by itself.
func TestOverBudgetIsFinal(t *testing.T) {
	var f *front
	set := func(g *Config, c *ShellConfig) {
		keyed(g, c)
		g.PotsOf = func(ctx context.Context, _ Caller) ([]*flotilla.Pot, error) {
			pot, err := f.fleet.Pot(ctx, "a pot", 1, 0)
			return []*flotilla.Pot{pot}, err
		}
	}
	inFront(t, good, set, func(got *front) {
		f = got
		r := f.post(askFor("hello", ""), "X-Api-Key", aliceKey)
		if r.status != http.StatusTooManyRequests || r.header.Get("X-Should-Retry") != "false" || r.header.Get("Retry-After") != "" {
			t.Errorf("%d %v", r.status, r.header)
		}
	})
}

func TestHeaderBomb(t *testing.T) {
	inFront(t, good, keyed, func(f *front) {
		for _, size := range []int{headerMost, 2 * headerRead} { // refused by the shell, and before it
			c := f.dial()
			go func() {
				_, _ = fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: gateway.test\r\nX-Api-Key: %s\r\nX-Bomb: %s\r\n\r\n", aliceKey, strings.Repeat("x", size))
			}()
			f.refused("header bomb", readReply(c), http.StatusRequestHeaderFieldsTooLarge, "invalid_request_error")
			_ = c.Close()
		}
	})
}

func TestBrokenRequestLine(t *testing.T) {
	inFront(t, good, keyed, func(f *front) {
		c := f.dial()
		defer c.Close()
		go func() { _, _ = io.WriteString(c, "this is no HTTP\r\n\r\n") }()
		f.refused("no HTTP", readReply(c), http.StatusBadRequest, "invalid_request_error")
	})
}

// Whoever sends a head in drops is cut: there is nobody to answer.
func TestSlowHeadIsCut(t *testing.T) {
	inFront(t, good, keyed, func(f *front) {
		c := f.dial()
		defer c.Close()
		began := time.Now()
		go func() {
			_, _ = io.WriteString(c, "POST /v1/messages HTTP/1.1\r\nHost: gateway.test\r\n")
			for {
				if _, err := io.WriteString(c, "X: y\r\n"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		_, err := io.ReadAll(c)
		if took := time.Since(began); took > headerPatience+time.Second {
			t.Errorf("held for %s (%v)", took, err)
		}
	})
}

// So is a body that comes in drops, with words; a slow line is not.
func TestSlowBody(t *testing.T) {
	for _, c := range []struct {
		what  string
		chunk int
		want  int
	}{{"drops", 10, http.StatusRequestTimeout}, {"a slow line", 400, http.StatusOK}} {
		inFront(t, good, keyed, func(f *front) {
			conn := f.dial()
			defer conn.Close()
			body := askFor(strings.Repeat("word ", 6000), "")
			go func() {
				_, _ = fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: gateway.test\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n", aliceKey, len(body))
				for i := 0; i < len(body); i += c.chunk {
					if _, err := io.WriteString(conn, body[i:min(i+c.chunk, len(body))]); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			got := readReply(conn)
			if got.status != c.want {
				t.Errorf("%s: %d %s %v", c.what, got.status, got.body, got.err)
			}
			if c.want != http.StatusOK {
				f.refused(c.what, got, c.want, "invalid_request_error")
			}
		})
	}
}

// More connections than there is room for are told so.
func TestTooManyConnections(t *testing.T) {
	inFront(t, good, keyed, func(f *front) {
		for range 8 { // inFront's bound
			defer f.dial().Close()
		}
		c := f.dial()
		defer c.Close()
		go func() { _, _ = io.WriteString(c, "GET /v1/models HTTP/1.1\r\nHost: gateway.test\r\n\r\n") }()
		got := readReply(c)
		f.refused("one too many", got, statusOverloaded, "overloaded_error")
		if got.header.Get("Retry-After") == "" {
			t.Error("no retry-after")
		}
	})
}
