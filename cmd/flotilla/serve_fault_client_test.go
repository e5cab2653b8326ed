//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// foreign is a client of the API that retries as the official SDKs do
// (facts/claude-api.md 2.5): after no answer, 408, 409, 429 and 5xx, unless
// x-should-retry says otherwise; after retry-after, else .5 s × 2ⁿ, at most 8 s.
// A stream that has begun is never retried.
type foreign struct {
	http    *http.Client
	url     string
	key     string
	retries int
	speed   float64 // of the clock that it sleeps by
	header  map[string]string
}

func newForeign(url string, speed float64) *foreign {
	t := &http.Transport{MaxIdleConnsPerHost: 1200, DisableCompression: true}
	return &foreign{http: &http.Client{Transport: t, Timeout: time.Minute}, url: url, key: "any", speed: speed, header: map[string]string{}}
}

// with is the same client with that many retries.
func (f *foreign) with(retries int) *foreign {
	g := *f
	g.retries = retries
	return &g
}

// reply is what became of one call, after the client's own retries.
type reply struct {
	status     int // 0: no answer came
	header     http.Header
	text       string      // of the answer
	cost       price.Nanos // of the answer, by its usage
	kind       string      // type of the error that came in its place, or ended its stream
	ended      bool        // by an error event
	err        error       // neither an answer nor an error of the API's shape
	attempts   int64       // at the provider, as all replies to it tell
	tries      int
	unreached  int // tries that no connection could be had for, or that it broke under
	unnumbered int // tries whose reply tells no attempts
}

// ask makes one call whose answer names its number.
func (f *foreign) ask(ctx context.Context, n int, stream bool) reply {
	return f.post(ctx, "/v1/messages", askFor(n, stream))
}

// askFor is the body of a call.
func askFor(n int, stream bool) string {
	return fmt.Sprintf(`{"model":"claude-haiku-4-5","max_tokens":300,"stream":%t,"messages":[{"role":"user","content":"Say number %d."}]}`, stream, n)
}

func (f *foreign) post(ctx context.Context, path, body string) (r reply) {
	for try := 0; ; try++ {
		before := r
		r = f.once(ctx, path, body)
		r.count(&before)
		if try == f.retries || !r.again() || ctx.Err() != nil {
			return r
		}
		select {
		case <-time.After(time.Duration(float64(r.pause(try)) / f.speed)): // what a real client does is what is tested
		case <-ctx.Done():
			return r
		}
	}
}

// count adds up what all tries of a call tell.
func (r *reply) count(before *reply) {
	r.tries, r.attempts, r.unreached, r.unnumbered = before.tries+1, before.attempts, before.unreached, before.unnumbered
	if r.status == 0 {
		r.unreached++
	}
	n, err := strconv.ParseInt(r.header.Get("X-Flotilla-Attempts"), 10, 64)
	if err != nil {
		r.unnumbered++
	}
	r.attempts += n
}

// again says whether an SDK comes again by itself.
func (r *reply) again() bool {
	switch r.header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	return r.status == 0 || r.status == 408 || r.status == 409 || r.status == 429 || r.status >= 500
}

func (r *reply) pause(try int) time.Duration {
	if s, err := strconv.ParseFloat(r.header.Get("Retry-After"), 64); err == nil {
		return time.Duration(s * float64(time.Second))
	}
	return time.Duration((1 - rand.Float64()/4) * float64(min(time.Second/2<<try, 8*time.Second)))
}

// once is one exchange.
func (f *foreign) once(ctx context.Context, path, body string) reply {
	resp, data, err := f.exchange(ctx, http.MethodPost, path, body)
	if resp == nil {
		return reply{err: err}
	}
	r := reply{status: resp.StatusCode, header: resp.Header}
	switch {
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		r.readEvents(data, err)
	case err != nil && resp.StatusCode == http.StatusOK:
		return reply{err: fmt.Errorf("an answer broke off: %w", err)} // as if there were none
	case err != nil:
		r.err = fmt.Errorf("an error broke off: %w", err)
	case resp.StatusCode == http.StatusOK:
		r.text, r.cost, r.err = readMessage(data)
	default:
		r.kind, r.err = kindIn(data)
	}
	return r
}

// exchange sends a request and reads what comes of it; err may tell that it broke
// off.
func (f *foreign) exchange(ctx context.Context, method, path, body string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, f.url+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("x-api-key", f.key)
	req.Header.Set("anthropic-version", "2023-06-01")
	req.Header.Set("content-type", "application/json")
	for name, value := range f.header {
		req.Header.Set(name, value)
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, data, err
}

// usage is that of a message, or of the events of a stream.
type usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

func (u usage) cost() price.Nanos {
	m, _ := price.Published().Lookup("claude-haiku-4-5")
	return m.Cost(price.Usage{Input: u.Input, Output: u.Output})
}

// readMessage gives the text of a message and what it cost.
func readMessage(data []byte) (text string, cost price.Nanos, err error) {
	var m struct {
		Type       string
		StopReason string `json:"stop_reason"`
		Content    []struct{ Text string }
		Usage      usage
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Type != "message" || m.StopReason == "" {
		return "", 0, fmt.Errorf("no message: %.200q", data)
	}
	for _, c := range m.Content {
		text += c.Text
	}
	return text, m.Usage.cost(), nil
}

// kindIn is the type of an error of the API's shape.
func kindIn(data []byte) (string, error) {
	var e struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(data, &e); err != nil || e.Type != "error" || e.Error.Type == "" || e.Error.Message == "" {
		return "", fmt.Errorf("an error that is not of the API's shape: %.200q", data)
	}
	return e.Error.Type, nil
}

var errStreamBroke = errors.New("the connection of a stream broke")

// readEvents reads a stream as an SDK does. It is whole with its message_stop
// alone; an error event ends it.
func (r *reply) readEvents(data []byte, broken error) {
	whole, used := false, usage{}
	for event := range bytes.SplitSeq(data, []byte("\n\n")) {
		_, line, _ := bytes.Cut(event, []byte("data: "))
		var e struct {
			Type    string
			Message struct{ Usage usage }
			Delta   struct{ Text string }
			Usage   usage
		}
		if len(event) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &e); err != nil {
			r.err = fmt.Errorf("half an event: %.200q", event)
			return
		}
		switch {
		case whole || r.ended:
			r.err = fmt.Errorf("behind the end: %.200q", event)
			return
		case e.Type == "message_start":
			used.Input = e.Message.Usage.Input
		case e.Type == "message_delta":
			used.Output = e.Usage.Output
		case e.Type == "content_block_delta":
			r.text += e.Delta.Text
		case e.Type == "message_stop":
			whole, r.cost = true, used.cost()
		case e.Type == "error":
			r.ended = true
			if r.kind, r.err = kindIn(line); r.err != nil {
				return
			}
		}
	}
	switch {
	case broken != nil && !whole && !r.ended:
		r.err = fmt.Errorf("%w: %w", errStreamBroke, broken)
	case !whole && !r.ended:
		r.err = errors.New("a stream ended without its end")
	}
}
