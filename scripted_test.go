package flotilla_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// script answers the calls of a fleet in the place of a server; the free read
// of an org is answered before it is asked.
type script func(n int64, req *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (s script) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return reply(req, http.StatusOK, `{"data":[]}`), nil
	}
	return s(flotilla.AttemptOf(req.Context()), req)
}

// scripted is a configuration of one org whose calls the script answers.
func scripted(s script) flotilla.Config {
	return flotilla.Config{
		BaseURL: "http://script", Orgs: orgs("high"), Ramp: flotilla.RampOff,
		Transport: func(flotilla.Org) http.RoundTripper { return s },
	}
}

func reply(req *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Request: req, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// sendBody reads a request as a transport does, so that it has left.
func sendBody(req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
}

// answerOf is a Message of 10 tokens of input and out of output.
func answerOf(id string, out int) string {
	return fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":"ok"}],`+
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":%d}}`, id, out)
}

// after answers a request a while later, unless it is given up before.
func after(d time.Duration, req *http.Request, status int, body string) (*http.Response, error) {
	sendBody(req)
	select {
	case <-time.After(d):
		return reply(req, status, body), nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// records is a Store in memory that may fail.
type records struct {
	mu   sync.Mutex
	got  []flotilla.Record
	fail func(all, batch []flotilla.Record) error // nil: never
}

func (s *records) Append(batch []flotilla.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(s.got, batch); err != nil {
			return err
		}
	}
	for _, r := range batch {
		r.Answer = bytes.Clone(r.Answer)
		s.got = append(s.got, r)
	}
	return nil
}

func (s *records) all() []flotilla.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]flotilla.Record(nil), s.got...)
}

// open makes a fleet that the test itself closes.
func open(t *testing.T, cfg flotilla.Config) *flotilla.Fleet {
	t.Helper()
	fleet, err := flotilla.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return fleet
}

// within fails the test when something takes longer than it may, which is
// forever otherwise.
func within(t *testing.T, d time.Duration, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(d):
		panic(fmt.Sprintf("%s: %s: not within %v", t.Name(), what, d)) // what hangs cannot be cleaned up
	}
}

var errStore = errors.New("the disk is full")
