package gateway

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// cached opens a shop whose gateway answers from the journal.
func cached(t *testing.T, test func(s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.fit = func(c *Config) { c.Cache = true }
		s.open()
		test(s)
		s.close()
	})
}

// again closes the gateway and all that is behind it, and opens them on the same journal.
func (s *shop) again() {
	s.close()
	time.Sleep(time.Second) // no process starts in the instant in which another ends
	s.open()
}

// message sends a Messages request to the gateway.
func (s *shop) message(body string, header ...string) reply {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	r.Header.Set("Anthropic-Version", "2023-06-01")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	s.gateway.ServeHTTP(w, r)
	got := w.Result()
	data, err := io.ReadAll(got.Body)
	return reply{got.StatusCode, got.Header, string(data), err}
}

// What an earlier run was answered is answered again, byte for byte, for
// nothing, and said to be so.
func TestCacheAnswersTheNextRun(t *testing.T) {
	cached(t, func(s *shop) {
		first := s.message(askFor("a", ""))
		if first.status != 200 || first.header.Get(headerCached) != "" {
			t.Fatalf("%+v", first)
		}
		s.again()
		sent := s.server.Stats().Requests
		p := s.message(" " + askFor("a", `"stream":false, `)) // white space and stream are no part of the key
		if p.status != 200 || p.body != first.body {
			t.Errorf("%+v", p)
		}
		for name, want := range map[string]string{
			headerCached: "true", headerCost: "0.000000000", headerAttempts: "0", headerQueue: "0", "Content-Type": "application/json", "Flotilla-Emulated": first.header.Get("Flotilla-Emulated"),
		} {
			if got := p.header.Get(name); got != want || want == "" {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if id := p.header.Get("Request-Id"); !strings.HasPrefix(id, "req_flotilla_") {
			t.Errorf("request-id %q of an answer that is not the provider's", id)
		}
		if n := s.server.Stats().Requests - sent; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		// The second equal request of this run has no answer yet.
		if p := s.message(askFor("a", "")); p.status != 200 || p.header.Get(headerCached) != "" {
			t.Errorf("%+v", p)
		}
	})
}

// Samples stay samples: so many equal requests have so many answers, in this
// run and, whatever their order, in the next.
func TestCacheKeepsSamplesApart(t *testing.T) {
	cached(t, func(s *shop) {
		sample := func() []string {
			var all sync.WaitGroup
			answers := make([]string, 5)
			for i := range answers {
				all.Go(func() { answers[i] = s.message(askFor("a", "")).body })
			}
			all.Wait()
			slices.Sort(answers)
			return answers
		}
		first := sample()
		if len(slices.Compact(slices.Clone(first))) != 5 {
			t.Fatalf("the emulator's samples are equal: %q", first)
		}
		s.again()
		sent := s.server.Stats().Requests
		if second := sample(); !slices.Equal(first, second) {
			t.Errorf("%q\nbecame\n%q", first, second)
		}
		if n := s.server.Stats().Requests - sent; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// A stream is kept as the Message it makes, and answers either kind of request.
func TestCacheOfStreams(t *testing.T) {
	cached(t, func(s *shop) {
		stream := s.message(askFor("a", `"stream":true,`))
		var a wire.Assembler
		_, _ = a.Write([]byte(stream.body))
		want, _, err := a.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.again()
		p := s.message(askFor("a", `"stream":true,`))
		if p.header.Get(headerCached) != "true" || p.header.Get("Content-Type") != "text/event-stream; charset=utf-8" || p.header.Get("Content-Length") != "" {
			t.Errorf("%+v", p)
		}
		a.Reset()
		_, _ = a.Write([]byte(p.body))
		if got, _, err := a.Finish(nil); err != nil || string(got) != string(want) {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		s.again()
		if p := s.message(askFor("a", "")); p.body != string(want) || p.header.Get(headerCached) != "true" {
			t.Errorf("%+v", p)
		}
	})
}

// What makes another request of it is another key; errors are never kept.
func TestCacheMisses(t *testing.T) {
	cached(t, func(s *shop) {
		_ = s.message(askFor("a", ""))
		bad := strings.Replace(askFor("bad", ""), `"max_tokens":20`, `"max_tokens":9999999`, 1)
		if p := s.message(bad); p.status != 400 {
			t.Fatalf("%+v", p)
		}
		s.again()
		for name, p := range map[string]reply{
			"body":    s.message(askFor("b", "")),
			"version": s.message(askFor("a", ""), "Anthropic-Version", "2026-10-21"),
			"beta":    s.message(askFor("a", ""), "Anthropic-Beta", "output-300k-2026-03-24"),
			"error":   s.message(bad),
		} {
			if p.header.Get(headerCached) != "" || p.status != 200 && name != "error" || p.status != 400 && name == "error" {
				t.Errorf("%s: %+v", name, p)
			}
		}
	})
}

// Another emulator's answers are nobody else's.
func TestCacheOfAnotherProvider(t *testing.T) {
	cached(t, func(s *shop) {
		_ = s.message(askFor("a", ""))
		s.close()
		time.Sleep(time.Second)
		fit := s.fit
		s.fit = func(c *Config) {
			fit(c)
			c.Emulated = "default/77"
		}
		s.open()
		if len(s.gateway.cache.answers) != 0 {
			t.Error("answers of another emulator were taken in")
		}
	})
}

// A client that goes away before its answer, and comes again, has the turn that
// it had.
func TestCacheTurnsOfRetries(t *testing.T) {
	cached(t, func(s *shop) {
		ctx, leave := context.WithCancel(s.t.Context())
		leave()
		r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(askFor("a", ""))).WithContext(ctx)
		s.gateway.ServeHTTP(httptest.NewRecorder(), r)
		first := s.message(askFor("a", ""))
		s.again()
		if p := s.message(askFor("a", "")); p.body != first.body || p.header.Get(headerCached) != "true" {
			t.Errorf("%+v", p)
		}
	})
}

// Turns under way or kept are never given twice, and those given back come
// first: the smallest that is free.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCache(nil)
		hash := [16]byte{1}
		taken := map[int]*turn{}
		var open []*turn
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				x := open[i]
				open = slices.Delete(open, i, i+1)
				if x.kept = rapid.Bool().Draw(t, "kept"); !x.kept {
					delete(taken, x.nth)
				}
				x.end()
				continue
			}
			want := 0
			for taken[want] != nil {
				want++
			}
			x := c.take(hash)
			if x.nth != want {
				t.Fatalf("turn %d, want %d", x.nth, want)
			}
			taken[x.nth], open = x, append(open, x)
		}
	})
}

// What is kept of bodies that have no answers of earlier runs is bounded; of those
// that have, no turn is ever given twice.
func TestTurnsAreBounded(t *testing.T) {
	c := newCache(nil)
	hash := func(n int) (h [16]byte) {
		binary.LittleEndian.PutUint64(h[:], uint64(n))
		return h
	}
	first, later, other := hash(1), hash(2), hash(3)
	c.answers[answerKey{first, 0}], c.answers[answerKey{later, 1}], c.again[later] = 7, 8, true
	take := func(h [16]byte) *turn {
		x := c.take(h)
		x.kept = true
		return x
	}
	if x := take(first); !x.hit() {
		t.Error("an answer that is there is no hit")
	}
	take(later)
	take(other)
	for i := range 3 * generation {
		take(hash(10 + i))
	}
	if n := len(c.young) + len(c.old) + len(c.known); n > 2*generation+2 {
		t.Errorf("%d bodies are kept", n)
	}
	if x := take(first); x.hit() || x.nth != 1 {
		t.Errorf("an answer was given twice: turn %d", x.nth)
	}
	if x := take(later); !x.hit() || x.nth != 1 {
		t.Errorf("turn %d of a body whose second answer is kept", x.nth)
	}
	if x := take(other); x.nth != 0 {
		t.Errorf("turn %d of a body that was forgotten", x.nth)
	}
	gone := c.take(hash(11)) // forgotten while it is under way
	for i := range 3 * generation {
		take(hash(1e9 + i))
	}
	gone.end()
}
