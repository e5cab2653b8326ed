package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// readTimeout bounds one free read of the API.
const readTimeout = 20 * time.Second

// api makes the few requests that are not calls: free reads, and probes of one
// token. It follows no redirect, since a key must not travel with one.
type api struct {
	client  *http.Client
	base    string
	version string
}

func newAPI(base, version string) *api {
	transport := http.DefaultTransport.(*http.Transport).Clone() // honours HTTPS_PROXY
	return &api{
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base:    base,
		version: version,
	}
}

func (a *api) close() { a.client.CloseIdleConnections() }

// apiFor is the api of one org.
func (s *Settings) apiFor(o *OrgSetting) *api { return newAPI(cmp.Or(o.BaseURL, s.BaseURL), s.Version) }

// statusError is an answer other than 200.
type statusError struct {
	status int
	typ    string // error.type; empty: the body was not the API's
	msg    string
	header http.Header
}

func (e *statusError) Error() string {
	if e.typ == "" {
		return fmt.Sprintf("status %d", e.status)
	}
	return fmt.Sprintf("%s: %s (%d)", e.typ, e.msg, e.status)
}

// get reads path into v and returns the headers.
func (a *api) get(ctx context.Context, key flotilla.Key, path string, query url.Values, v any) (http.Header, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return a.do(ctx, key, http.MethodGet, path, nil, v)
}

// post sends body to path and reads the answer into v.
func (a *api) post(ctx context.Context, key flotilla.Key, path string, body []byte, v any) (http.Header, error) {
	return a.do(ctx, key, http.MethodPost, path, body, v)
}

func (a *api) do(ctx context.Context, key flotilla.Key, method, path string, body []byte, v any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, parseCause(err))
	}
	req.GetBody = nil // no replay
	req.Header.Set("x-api-key", string(key))
	req.Header.Set("anthropic-version", a.version)
	req.Header.Set("user-agent", "flotilla/"+buildVersion().Version)
	if body != nil {
		req.Header.Set("content-type", "application/json")
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, parseCause(err))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return resp.Header, fmt.Errorf("%s %s: reading the answer: %w", method, path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return resp.Header, newStatusError(resp, data)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return resp.Header, fmt.Errorf("%s %s: the answer is not the API's: %w", method, path, err)
	}
	return resp.Header, nil
}

func newStatusError(resp *http.Response, data []byte) *statusError {
	var envelope struct {
		Error struct{ Type, Message string }
	}
	_ = json.Unmarshal(data, &envelope) // an HTML page has no type, which is what we then say
	return &statusError{resp.StatusCode, envelope.Error.Type, envelope.Error.Message, resp.Header}
}
