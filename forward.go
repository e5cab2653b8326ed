package flotilla

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Forward sends a request that costs nothing (count_tokens, models): it takes
// no place in a lane. It goes to the first org that is open, and where that
// answers 401, 403, 429, 5xx or not at all, to the next. path begins with
// "/v1/"; query is raw. The org's key is set by us.
func (f *Fleet) Forward(ctx context.Context, method, path, query string, header http.Header, body []byte) (*Answer, error) {
	if _, err := f.Connect(ctx); err != nil {
		return nil, err
	}
	var failed error = ErrNoOrg
	for _, o := range f.orgs {
		to := o.base.JoinPath(path)
		to.RawQuery = query
		sent := o.header
		if header != nil {
			sent = header.Clone()
			sent["X-Api-Key"] = o.header["X-Api-Key"]
			sent.Del("Authorization")
		}
		req, trace := newSend(ctx, method, to, sent, body)
		resp, err := o.transport.RoundTrip(req)
		if err != nil {
			_ = trace.failure(err)
			failed = &TransportError{Err: fmt.Errorf("asking %s: %w", o.Title(), errors.New(f.redact(err.Error())))}
			continue
		}
		return &Answer{Status: resp.StatusCode, Header: resp.Header, Body: resp.Body, Org: o.Name, Emulated: resp.Header.Get(emulatedHeader)}, nil
	}
	return nil, failed
}
