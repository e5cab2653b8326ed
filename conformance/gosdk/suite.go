// Command gosdk asks an API through the official Go SDK, and says what a
// caller's code sees: a line of JSON for each check. It is the twin of
// ../python/suite.py, which says how results are made comparable.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

var (
	baseURL  = os.Getenv("CONFORMANCE_URL")
	key      = os.Getenv("CONFORMANCE_KEY")
	emulator = os.Getenv("CONFORMANCE_EMULATOR") // that answers in the end, which faults are asked of
)

const model = anthropic.Model("claude-haiku-4-5")

// check is one; what it returns is compared.
type check struct {
	name string
	run  func(ctx context.Context) (any, error)
}

func main() {
	if err := sendInProcess(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	only := regexp.MustCompile(strings.Join(os.Args[1:], "|"))
	good := true
	for _, list := range [][]check{batches, messages, streams, failures} {
		for _, c := range list {
			if only.MatchString(c.name) && (inProcess == nil || !elsewhere.MatchString(c.name)) {
				good = c.tell() && good
			}
		}
	}
	if !good {
		os.Exit(1)
	}
}

// line is what is told of a check.
type line struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
	MS     int64  `json:"ms"`
}

func (c check) tell() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	l, start := line{Check: c.name}, time.Now()
	got, err := c.run(ctx)
	if err == nil {
		l.Result, err = plain(got)
	}
	l.OK = err == nil
	if err != nil {
		l.Error, l.Result = err.Error(), nil
	}
	l.MS = time.Since(start).Milliseconds()
	out, err := json.Marshal(l)
	if err != nil {
		out = fmt.Appendf(nil, `{"check":%q,"ok":false,"error":%q}`, c.name, err)
	}
	fmt.Println(string(out))
	return l.OK && err == nil
}

func client(more ...option.RequestOption) anthropic.Client {
	return anthropic.NewClient(append(slices.Concat([]option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(baseURL), option.WithAPIKey(key),
	}, inProcess), more...)...)
}

// impatient is a client that retries nothing.
func impatient(more ...option.RequestOption) anthropic.Client {
	return client(append(more, option.WithMaxRetries(0))...)
}

func say(text string, change ...func(*anthropic.MessageNewParams)) anthropic.MessageNewParams {
	return ask([]anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(text)}, change...)
}

func ask(content []anthropic.ContentBlockParamUnion, change ...func(*anthropic.MessageNewParams)) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{
		Model: model, MaxTokens: 200,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(content...)},
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

// shapes are what may differ from run to run, and must be there all the same.
var shapes = []struct {
	pattern *regexp.Regexp
	shape   string
}{
	// Who wants a price says of a model that neither it nor the provider may know why.
	{regexp.MustCompile(`"(model: [^" ]+) \([^"]*\)"`), `"$1"`},
	{regexp.MustCompile(`\b(msg|msgbatch|toolu|req|workerreq)_[A-Za-z0-9_]+`), `<$1>`},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)`), `<time>`},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), `<uuid>`},
	{regexp.MustCompile(`https?://(127\.0\.0\.1|localhost):\d+`), `<host>`},
}

// raw is what the SDK's types keep of an answer's own bytes.
type raw interface{ RawJSON() string }

// plain is a value as JSON has it, with what differs from run to run replaced.
func plain(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(opened(v)); err != nil {
		return nil, err
	}
	text := out.String()
	for _, s := range shapes {
		text = s.pattern.ReplaceAllString(text, s.shape)
	}
	return json.RawMessage(text), nil
}

// opened takes the SDK's types for the bytes they came as.
func opened(v any) any {
	switch v := v.(type) {
	case raw:
		if v.RawJSON() != "" {
			return json.RawMessage(v.RawJSON())
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = opened(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = opened(v[k])
		}
		return out
	}
	return v
}

// failure is an error of the SDK, as a caller's code tells it from others.
func failure(err error) (map[string]any, error) {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		return nil, fmt.Errorf("no error of the API: %w", err)
	}
	var body map[string]json.RawMessage
	_ = json.Unmarshal([]byte(api.RawJSON()), &body) // an answer that is no JSON has no members
	_, typed := body["type"]
	_, named := body["request_id"]
	return map[string]any{
		"status": api.StatusCode, "type": api.Type(), "message": api.Message, "envelope": []bool{typed, named}, "request_id": api.RequestID,
	}, nil
}

// fails is the result of a call that must fail.
func fails[T any](_ T, err error) (any, error) {
	if err == nil {
		return nil, errors.New("no error was returned")
	}
	return failure(err)
}

// all runs parts and gathers what they give.
func all(parts ...func() (any, error)) (any, error) {
	var out []any
	for _, f := range parts {
		v, err := f()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func eq(what string, got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

func textOf(m *anthropic.Message) string {
	var b strings.Builder
	for _, c := range m.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// withFault runs a function while the emulator has a fault.
func withFault(spec string, f func() (any, error)) (_ any, err error) {
	res, err := http.Post(emulator+"/emulator/faults", "application/json", strings.NewReader(spec)) //nolint:noctx // the emulator of the run
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var made struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || made.ID == "" {
		return nil, fmt.Errorf("no fault was made: %w", err)
	}
	defer func() {
		req, _ := http.NewRequest(http.MethodDelete, emulator+"/emulator/faults/"+made.ID, nil) //nolint:noctx // likewise; the URL is good
		res, end := http.DefaultClient.Do(req)
		if end == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			end = res.Body.Close()
		}
		err = errors.Join(err, end)
	}()
	return f()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
