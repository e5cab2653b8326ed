package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// creates keeps what goes up in creates.
type creates struct {
	http.RoundTripper
	mu     *sync.Mutex
	bodies *[][]byte
	heads  *[]http.Header
}

func (c *creates) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && r.URL.Path == batchesPath {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.mu.Lock()
		defer c.mu.Unlock()
		*c.bodies, *c.heads = append(*c.bodies, body), append(*c.heads, r.Header.Clone())
	}
	return c.RoundTripper.RoundTrip(r)
}

// watched is a shop whose creates are kept.
func watched(t *testing.T, opt emulator.Options) (*shop, *[][]byte, *[]http.Header) {
	s := newShop(t, opt)
	mu, bodies, heads := &sync.Mutex{}, &[][]byte{}, &[]http.Header{}
	s.fleets = func(c *flotilla.Config) {
		c.Transport = func(flotilla.Org) http.RoundTripper {
			return &creates{s.net.Transport(), mu, bodies, heads}
		}
	}
	return s, bodies, heads
}

// What a client wrote goes up byte for byte, whatever fields it has
// (facts/peer-faults.md 30); a line break between tokens goes up as a space.
func TestParamsGoUpByteForByte(t *testing.T) {
	params := []string{
		`{"model":"claude-haiku-4-5","max_tokens":10,"messages":[{"role":"user","content":"plain"}]}`,
		`{ "max_tokens" : 10 ,"model":"claude-haiku-4-5", "temperature": 0.50,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a\u00e9é\u2028\ud83d\ude00 😀 \/"}]}], "metadata":{"user_id":"u"}}`,
		`{"tools":[{"name":"t","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"},"stop_sequences":["x"],"model":"claude-haiku-4-5","max_tokens":10,"messages":[{"role":"user","content":"tools"}],"output_config":{"effort":"low"},"context_management":{"edits":[]}}`,
		"{\n  \"model\": \"claude-haiku-4-5\",\r\n\t\"max_tokens\": 10,\n  \"messages\": [{\"role\": \"user\", \"content\": \"a\\nb\"}]\n}",
	}
	var b strings.Builder
	for i, p := range params {
		fmt.Fprintf(&b, ",{\"params\":%s, \"custom_id\":\"r_%d-\\u0041\"}", p, i)
	}
	synctest.Test(t, func(t *testing.T) {
		s, bodies, _ := watched(t, emulator.Options{})
		s.open()
		defer s.close()
		id := s.made("ann", "\n{ \"requests\" : [ "+b.String()[1:]+"]\n}\n")
		s.ended("ann", id)
		sent := map[string]int{}
		for _, body := range *bodies {
			for _, v := range gjson.GetBytes(body, "requests").Array() {
				sent[v.Get("params").Raw]++
			}
		}
		for _, p := range params {
			if want := string(onOneLine([]byte(p))); sent[want] != 1 {
				t.Errorf("sent %d times: %s", sent[want], want)
			}
		}
		if len(sent) != len(params) {
			t.Errorf("sent were %v", sent)
		}
		for i := range params {
			if res := s.results("ann", id)[fmt.Sprintf("r_%d-A", i)]; res.Get("type").Str != "succeeded" {
				t.Errorf("row %d: %s", i, res.Raw)
			}
		}
	})
}

// However many batches carry a client's rows, and in whatever order they come
// back, each row has its own answer (facts/peer-faults.md 29).
func TestAnswersOfOwnRows(t *testing.T) {
	sc, err := emulator.Named("default")
	if err != nil {
		t.Fatal(err)
	}
	sc.Answers = []emulator.AnswerRule{{Match: `^(\w+) (\d+)$`, Template: "answer of $1 to $2"}}
	synctest.Test(t, func(t *testing.T) {
		s, bodies, _ := watched(t, emulator.Options{Scenario: sc})
		s.open()
		defer s.close()
		ids := map[string]string{"a": s.made("ann", prompts("a", 700)), "b": s.made("bob", prompts("b", 700)), "c": s.made("ann", prompts("c", 5))}
		clients := map[string]string{"a": "ann", "b": "bob", "c": "ann"}
		for of, id := range ids {
			s.ended(clients[of], id)
			for name, res := range s.results(clients[of], id) {
				n := strings.TrimPrefix(name, of+"-")
				if got, want := res.Get("message.content.0.text").Str, "answer of "+of+" to "+n; got != want {
					t.Errorf("%s is answered %q", name, got)
				}
			}
		}
		if len(*bodies) < 6 {
			t.Errorf("only %d batches carried the rows", len(*bodies))
		}
	})
}

// A batch keeps to the price of batches unless speed is asked for.
func TestPriceOfBatches(t *testing.T) {
	for _, of := range []struct {
		what   string
		fit    func(*Config)
		header []string
		sync   bool
	}{
		{"as it is", nil, nil, false},
		{"a deadline alone", nil, []string{"x-flotilla-deadline", "3m"}, false},
		{"cheap", nil, []string{"x-flotilla-prefer", "cheap"}, false},
		{"fast", nil, []string{"x-flotilla-prefer", "fast"}, true},
		{"cheap by a deadline", nil, []string{"x-flotilla-prefer", "cheap", "x-flotilla-deadline", "3m"}, true},
		{"--prefer fast", func(c *Config) { c.Prefer, c.PreferGiven = flotilla.Fast, true }, nil, true},
		{"--prefer fast, but cheap", func(c *Config) { c.Prefer, c.PreferGiven = flotilla.Fast, true }, []string{"x-flotilla-prefer", "cheap"}, false},
	} {
		t.Run(of.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, emulator.Options{})
				s.fit = of.fit
				s.open()
				defer s.close()
				id := s.made("ann", prompts("x", 600), of.header...)
				s.ended("ann", id)
				if got := len(s.results("ann", id)); got != 600 {
					t.Errorf("%d results", got)
				}
				if n := s.direct("GET", "/emulator/stats", nil).get("requests").Int(); (n > 0) != of.sync {
					t.Errorf("%d requests by sync", n)
				}
			})
		})
	}
}
