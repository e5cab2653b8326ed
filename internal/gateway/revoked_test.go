package gateway

import (
	"bytes"
	"net/http"
	"testing"
	"time"
)

// A key that is revoked takes its calls that wait along. Those at the provider
// are paid for, and go on; so do another client's.
func TestRevocationEndsCallsThatWait(t *testing.T) {
	book := newShelf(clientNamed("alice", aliceKey), clientNamed("bob", bobKey))
	limited := refuses(429, kindRateLimit, "limited", "Retry-After", "60")
	answer := func(w http.ResponseWriter, h hit) {
		switch {
		case bytes.Contains(h.body, []byte("slow")):
			time.Sleep(30 * time.Second)
			good(w, h)
		case h.nth < 5:
			limited(w, h)
		default:
			good(w, h)
		}
	}
	inFront(t, answer, func(_ *Config, c *ShellConfig) { c.Clients = KeyedClients(book, true, nil) }, func(f *front) {
		began := time.Now()
		type end struct {
			reply
			took time.Duration
		}
		ends := map[string]chan end{}
		for _, c := range []struct{ who, key, ask string }{{"slow", aliceKey, "slow"}, {"alice", aliceKey, "a"}, {"bob", bobKey, "b"}} {
			told := make(chan end, 1)
			ends[c.who] = told
			go func() {
				p := f.post(askFor(c.ask, ""), "X-Api-Key", c.key, "X-Flotilla-Max-Wait", "1h")
				told <- end{p, time.Since(began)}
			}()
			time.Sleep(time.Second)
		}
		time.Sleep(7 * time.Second)
		book.set(func(s *shelf) { s.list[0].Revoked = time.Now() })
		p := <-ends["alice"]
		f.wantKind("a call that waits", p.reply, http.StatusUnauthorized, kindAuthentication)
		if p.took > 13*time.Second {
			t.Errorf("it was told after %s", p.took)
		}
		if p := <-ends["slow"]; p.status != http.StatusOK || p.took < 30*time.Second {
			t.Errorf("a call at the provider: %+v after %s", p, p.took)
		}
		if p := <-ends["bob"]; p.status != http.StatusOK || p.took < 30*time.Second {
			t.Errorf("another client's call: %+v after %s", p, p.took)
		}
	})
}

// A base URL that redirects is told as that, once, and no SDK comes again.
func TestMovedUpstream(t *testing.T) {
	answer := func(w http.ResponseWriter, _ hit) {
		w.Header().Set("Location", "https://elsewhere.test/v1/messages")
		w.WriteHeader(http.StatusPermanentRedirect)
	}
	inRig(t, answer, func(r *rig) {
		p := r.post(askFor("a", ""))
		if p.status != http.StatusBadGateway || !p.shaped(kindAPI) || p.header.Get("X-Should-Retry") != "false" || p.header.Get("Location") != "" {
			t.Errorf("%+v", p)
		}
		if n := len(r.up.seen()); n != 1 || !bytes.Contains([]byte(p.body), []byte("https://elsewhere.test")) {
			t.Errorf("%d requests; %s", n, p.body)
		}
	})
}
