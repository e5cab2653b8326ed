package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Either credential lets in, and so does the second where the first is none.
func TestWhoMayCall(t *testing.T) {
	inFront(t, good, keyed, func(f *front) {
		for _, c := range []struct {
			what   string
			header []string
			want   string // caller; empty: nobody
		}{
			{"x-api-key", []string{"X-Api-Key", aliceKey}, "alice"},
			{"bearer", []string{"X-Api-Key", "", "Authorization", "Bearer " + bobKey}, "bob"},
			{"scheme in small letters", []string{"X-Api-Key", "", "Authorization", "bearer " + bobKey}, "bob"},
			{"a dummy besides a token", []string{"X-Api-Key", "dummy", "Authorization", "Bearer " + bobKey}, "bob"},
			{"the key comes first", []string{"X-Api-Key", aliceKey, "Authorization", "Bearer " + bobKey}, "alice"},
			{"part of a key", []string{"X-Api-Key", aliceKey[:20]}, ""},
			{"a key and more", []string{"X-Api-Key", aliceKey + "x"}, ""},
		} {
			got := f.post(askFor("hello", ""), c.header...)
			if c.want == "" {
				f.wantKind(c.what, got, http.StatusUnauthorized, kindAuthentication)
				continue
			}
			if got.status != http.StatusOK || f.last().Client != c.want {
				t.Errorf("%s: %d, caller %q, want %q", c.what, got.status, f.last().Client, c.want)
			}
		}
	})
}

func (f *front) wantKind(what string, got reply, status int, kind string) {
	f.t.Helper()
	if got.err != nil || got.status != status || !got.shaped(kind) {
		f.t.Errorf("%s: %d %s %v, want %d %s", what, got.status, got.body, got.err, status, kind)
	}
}

// A key that was revoked by another process lets nobody in a second later.
func TestRevocation(t *testing.T) {
	book := newShelf(clientNamed("alice", aliceKey))
	inFront(t, good, func(_ *Config, c *ShellConfig) { c.Clients = KeyedClients(book, true, nil) }, func(f *front) {
		if got := f.post(askFor("hello", ""), "X-Api-Key", aliceKey); got.status != http.StatusOK {
			t.Fatal(got)
		}
		book.set(func(s *shelf) { s.list[0].Revoked = time.Now() })
		time.Sleep(time.Second)
		f.wantKind("revoked", f.post(askFor("hello", ""), "X-Api-Key", aliceKey), http.StatusUnauthorized, kindAuthentication)
		// All keys revoked is not the same as none: strangers stay out.
		f.wantKind("no key", f.post(askFor("hello", ""), "X-Api-Key", "any"), http.StatusUnauthorized, kindAuthentication)
	})
}

// A page that goes on for as long as somebody looks ends with the key, too.
func TestRevocationEndsPages(t *testing.T) {
	book := newShelf(clientNamed("alice", aliceKey), clientNamed("bob", bobKey))
	events := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	set := func(_ *Config, c *ShellConfig) { c.Clients, c.Dashboard = KeyedClients(book, true, nil), events }
	inFront(t, good, set, func(f *front) {
		ctx, leave := context.WithTimeout(context.Background(), time.Minute)
		defer leave()
		ended := make(chan string, 2)
		for who, key := range map[string]string{"alice": aliceKey, "bob": bobKey} {
			go func() {
				_ = f.do(f.request(ctx, http.MethodGet, "/api/events", "", "X-Api-Key", key))
				ended <- who
			}()
		}
		time.Sleep(10 * time.Second)
		book.set(func(s *shelf) { s.list[0].Revoked = time.Now() })
		time.Sleep(3 * time.Second)
		select {
		case who := <-ended:
			if who != "alice" {
				t.Errorf("the page of %s ended", who)
			}
		default:
			t.Error("a page goes on under a revoked key")
		}
		leave()
		<-ended
	})
}

// What is no page's path leads nowhere, not to another path either.
func TestPagesTakeNoCalls(t *testing.T) {
	mux := http.NewServeMux() // it cleans paths, and redirects to what is left
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })
	set := func(g *Config, c *ShellConfig) {
		anybody(g, c)
		c.Dashboard, c.Hosts = mux, []string{"gateway.test"}
	}
	inFront(t, good, set, func(f *front) {
		for _, ask := range []string{
			"POST //v1/messages", "POST /v2/messages", "POST /", "HEAD /", "GET /ui/../v1/models", "GET //", "GET /./", "PUT /index.html",
		} {
			method, path, _ := strings.Cut(ask, " ")
			if got := f.do(f.request(context.Background(), method, path, "")); got.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", ask, got.status, got.body)
			}
		}
		for _, ask := range []string{"GET /", "GET /ui/x.js", "GET /api/state", "POST /api/jobs/1/pause", "HEAD /ui/x.js", "GET /api/"} {
			method, path, _ := strings.Cut(ask, " ")
			if got := f.do(f.request(context.Background(), method, path, "")); got.status != http.StatusOK {
				t.Errorf("%s: %d %s", ask, got.status, got.body)
			}
		}
	})
}

// While the book cannot be read, what was read before holds for a little, and
// then nobody gets in.
func TestClientsThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf(clientNamed("alice", aliceKey))
		clients := KeyedClients(book, true, nil)
		ask := func() error {
			_, err := clients.Caller(context.Background(), aliceKey)
			return err
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		book.set(func(s *shelf) { s.err = errors.New("the disk is gone") })
		time.Sleep(clientsStale / 2)
		if err := ask(); err != nil {
			t.Errorf("after %s: %v", clientsStale/2, err)
		}
		time.Sleep(clientsStale)
		if err := ask(); !errors.Is(err, errNoClients) {
			t.Errorf("long after: %v", err)
		}
	})
}

// Without keys a loopback address lets anybody in, any other nobody.
func TestWithoutClientKeys(t *testing.T) {
	for _, open := range []bool{true, false} {
		c, err := KeyedClients(newShelf(), open, nil).Caller(context.Background(), "sk-ant-whatever")
		if open && (err != nil || c.Name != Local || c.Highest != flotilla.Interactive) || !open && !errors.Is(err, ErrBadKey) {
			t.Errorf("open %v: %+v, %v", open, c, err)
		}
	}
}

func TestPriorityOfAClient(t *testing.T) {
	free, low, odd := clientNamed("free", "a"), clientNamed("low", "b"), clientNamed("odd", "c")
	low.Priority, odd.Priority = "bulk", "urgent"
	clients := KeyedClients(newShelf(free, low, odd), false, nil)
	for _, c := range []struct {
		key              string
		usual, uppermost flotilla.Priority
		fails            bool
	}{{"a", flotilla.Normal, flotilla.Interactive, false}, {"b", flotilla.Bulk, flotilla.Bulk, false}, {"c", 0, 0, true}} {
		got, err := clients.Caller(context.Background(), c.key)
		if (err != nil) != c.fails || err == nil && (got.Priority != c.usual || got.Highest != c.uppermost) {
			t.Errorf("%s: %+v, %v", c.key, got, err)
		}
	}
}

// A page of another site cannot spend through the gateway of this machine, nor
// read what it shows; a link to the dashboard may be followed.
func TestForeignPages(t *testing.T) {
	set := func(g *Config, c *ShellConfig) {
		anybody(g, c)
		c.Dashboard = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })
		c.Hosts = []string{"host.docker.internal"}
	}
	inFront(t, good, set, func(f *front) {
		send := func(method, path, host string, header ...string) reply {
			r := f.request(context.Background(), method, path, askFor("hello", ""), header...)
			r.Host = host
			return f.do(r)
		}
		for _, c := range []struct {
			what, method, path, host string
			header                   []string
			want                     int
		}{
			{"a program", "POST", "/v1/messages", "127.0.0.1:8787", nil, 200},
			{"by name", "POST", "/v1/messages", "localhost:8787", nil, 200},
			{"by IPv6", "POST", "/v1/messages", "[::1]:8787", nil, 200},
			{"by another port", "POST", "/v1/messages", "localhost:9000", nil, 200},
			{"by a name that was added", "POST", "/v1/messages", "host.docker.internal:8787", nil, 200},
			{"by a rebound name", "POST", "/v1/messages", "evil.example:8787", nil, 403},
			{"by a name that looks like it", "POST", "/v1/messages", "localhost.evil.example", nil, 403},
			{"no host", "POST", "/v1/messages", "x", nil, 403},
			{"a foreign page", "POST", "/v1/messages", "127.0.0.1:8787", []string{"Origin", "https://evil.example"}, 403},
			{"a page of another port", "POST", "/v1/messages", "127.0.0.1:8787", []string{"Origin", "http://127.0.0.1:3000"}, 403},
			{"a page without an origin", "POST", "/v1/messages", "127.0.0.1:8787", []string{"Origin", "null"}, 403},
			{"our own page", "POST", "/v1/messages", "127.0.0.1:8787", []string{"Origin", "http://127.0.0.1:8787", "Sec-Fetch-Site", "same-origin"}, 200},
			{"an image of a foreign page", "GET", "/v1/models", "127.0.0.1:8787", []string{"Sec-Fetch-Site", "cross-site"}, 403},
			{"the dashboard in a frame", "GET", "/", "127.0.0.1:8787", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
			{"a link to the dashboard", "GET", "/", "127.0.0.1:8787", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
			{"the dashboard itself", "GET", "/api/state", "127.0.0.1:8787", []string{"Sec-Fetch-Site", "same-origin"}, 200},
			{"the dashboard from elsewhere", "GET", "/api/state", "127.0.0.1:8787", []string{"Origin", "https://evil.example"}, 403},
		} {
			got := send(c.method, c.path, c.host, c.header...)
			if got.err != nil || got.status != c.want {
				t.Errorf("%s: %d %s %v, want %d", c.what, got.status, got.body, got.err, c.want)
			}
			if len(got.header["Access-Control-Allow-Origin"]) > 0 {
				t.Errorf("%s: other sites may read it", c.what)
			}
		}
	})
}

// Pages and metrics are open on this machine, behind the keys anywhere else.
func TestWhoMayLook(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secrets") })
	basic := func(key string) []string { // Basic of "any:key"
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth("any", key)
		return []string{"X-Api-Key", "", "Authorization", r.Header.Get("Authorization")}
	}
	for _, c := range []struct {
		what     string
		loopback bool
		path     string
		header   []string
		want     int
	}{
		{"afar without a key", false, "/", []string{"X-Api-Key", ""}, 401},
		{"afar with a wrong one", false, "/metrics", basic("flk_wrong"), 401},
		{"afar with a password", false, "/", basic(aliceKey), 200},
		{"metrics with a password", false, "/metrics", basic(aliceKey), 200},
		{"afar with a header", false, "/api/state", []string{"X-Api-Key", aliceKey}, 200},
		{"health", false, "/healthz", []string{"X-Api-Key", ""}, 200},
		{"here", true, "/", []string{"X-Api-Key", ""}, 200},
		{"here through a proxy", true, "/", []string{"X-Api-Key", "", "X-Forwarded-For", "198.51.100.7"}, 401},
		{"here through a proxy, with a key", true, "/", append(basic(aliceKey), "X-Forwarded-For", "198.51.100.7"), 200},
	} {
		set := func(g *Config, s *ShellConfig) {
			keyed(g, s)
			s.Dashboard, s.Metrics, s.Loopback = page, page, c.loopback
			s.Hosts = []string{"gateway.test"}
		}
		inFront(t, good, set, func(f *front) {
			got := f.get(c.path, c.header...)
			if got.status != c.want || c.want != 200 && strings.Contains(got.body, "secrets") {
				t.Errorf("%s: %d %s, want %d", c.what, got.status, got.body, c.want)
			}
			if asked := got.header.Get("WWW-Authenticate") != ""; asked != (c.want == 401) {
				t.Errorf("%s: asks for a password: %v", c.what, asked)
			}
		})
	}
}

// A key never reaches the log, wherever it was put; neither do bodies.
func TestLogTellsNoSecrets(t *testing.T) {
	const prompt = "the prompt nobody may read"
	inFront(t, good, keyed, func(f *front) {
		body := askFor(prompt, "")
		f.post(body, "X-Api-Key", aliceKey)
		f.post(body, "X-Api-Key", "", "Authorization", "Bearer "+aliceKey)
		f.post(body, "X-Api-Key", aliceKey, "X-Flotilla-Priority", aliceKey)
		f.post(body, "X-Api-Key", aliceKey, "Cookie", "k="+aliceKey, "User-Agent", aliceKey)
		f.post(`{"model":"`+aliceKey+`","max_tokens":1,"messages":[{"role":"user","content":"`+prompt+`"}]}`, "X-Api-Key", aliceKey)
		f.post(prompt+aliceKey, "X-Api-Key", aliceKey)
		f.get("/v1/"+aliceKey, "X-Api-Key", aliceKey)
		f.get("/"+aliceKey+"?key="+aliceKey, "X-Api-Key", aliceKey)
		f.get("/v1/models?key="+aliceKey, "X-Api-Key", aliceKey+"x")
		log := f.log.String()
		if strings.Count(log, "\n") < 9 {
			t.Errorf("a line for each request is missing:\n%s", log)
		}
		for _, secret := range []string{aliceKey, prompt, "sk-ant-emulated", "Hello."} {
			if strings.Contains(log, secret) {
				t.Errorf("the log tells %q:\n%s", secret, log)
			}
		}
	})
}

// One caller cannot hold everything; the others go on.
func TestBusyCaller(t *testing.T) {
	b, now := newBusy(2), time.Unix(1000, 0)
	for range 2 {
		if _, ok := b.enter("alice", now); !ok {
			t.Fatal("no room at once")
		}
	}
	wait, ok := b.enter("alice", now)
	if ok || wait != time.Minute {
		t.Errorf("a third: %v, %s", ok, wait)
	}
	if _, ok := b.enter("bob", now); !ok {
		t.Error("bob has no room")
	}
	b.leave("alice", now)
	if _, ok := b.enter("alice", now); !ok {
		t.Error("no room after one left")
	}
	// Places that become free twice in three seconds are worth a wait of that.
	for i := range len(tally{}.ends) {
		b.leave("bob", now.Add(time.Duration(i)*1500*time.Millisecond))
		b.enter("bob", now)
	}
	b.enter("bob", now)
	if wait, ok := b.enter("bob", now.Add(24*time.Second)); ok || wait != 1500*time.Millisecond {
		t.Errorf("%v, %s", ok, wait)
	}
}

// A handler that breaks tells its caller nothing and is told of.
func TestBrokenHandler(t *testing.T) {
	set := func(g *Config, c *ShellConfig) {
		anybody(g, c)
		c.Hosts = []string{"gateway.test"}
		c.Dashboard = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("our secret") })
	}
	inFront(t, good, set, func(f *front) {
		f.refused("a broken page", f.get("/page"), http.StatusInternalServerError, kindAPI)
		if f.last().Status != http.StatusInternalServerError || !strings.Contains(f.log.String(), "our secret") {
			t.Errorf("%+v\n%s", f.last(), f.log.String())
		}
	})
}
