package flotilla

import (
	"io"
	"net/http"
)

// Transport is a RoundTripper that sends what an Anthropic client sends through
// the fleet. The host of a request is ignored.
func (f *Fleet) Transport() http.RoundTripper { return &roundTripper{fleet: f} }

type roundTripper struct{ fleet *Fleet }

func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		defer req.Body.Close()
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	a, err := t.fleet.Forward(req.Context(), req.Method, req.URL.Path, req.URL.RawQuery, req.Header, body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(a.Status), StatusCode: a.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.Header, Body: a.Body, ContentLength: -1, Request: req,
	}, nil
}
