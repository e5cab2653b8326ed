package emulator

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"
)

// maxBody is the most a Messages or count_tokens body may have
// (facts/claude-api.md 1.7).
const maxBody = 32 << 20

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readBody reads a request's body whole into a pooled buffer; give it back
// with bodies.Put when nothing points into it any more.
func readBody(r *http.Request) (*bytes.Buffer, *apiError) {
	if r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	buf := bodies.Get().(*bytes.Buffer)
	buf.Reset()
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead) // so that one read does and nothing grows
	}
	if _, err := buf.ReadFrom(io.LimitReader(r.Body, maxBody+1)); err != nil {
		bodies.Put(buf)
		return nil, invalid("The request body could not be read.")
	}
	if buf.Len() > maxBody {
		bodies.Put(buf)
		return nil, errTooLarge
	}
	if e := decode(r.Header.Get("Content-Encoding"), buf); e != nil {
		bodies.Put(buf)
		return nil, e
	}
	return buf, nil
}

// decode undoes a Content-Encoding in place.
func decode(encoding string, buf *bytes.Buffer) *apiError {
	switch encoding {
	case "", "identity":
		return nil
	case "gzip":
	default:
		return errNoEncoding(encoding)
	}
	plain, err := gunzip(buf)
	switch {
	case errors.Is(err, errInflated):
		return &apiError{
			status: http.StatusRequestEntityTooLarge, kind: "request_too_large",
			code: "request_body_too_large_after_decoding", message: "The decoded request body exceeds the maximum size.",
		}
	case err != nil:
		return errEncoding()
	}
	buf.Reset()
	buf.Write(plain)
	return nil
}

func errNoEncoding(encoding string) *apiError {
	e := invalid("The request body's content encoding %q is not supported.", encoding)
	e.code = "request_body_encoding_unsupported"
	return e
}

func errEncoding() *apiError {
	e := invalid("The request body could not be decoded.")
	e.code = "request_body_encoding_invalid"
	return e
}

var errInflated = errors.New("too large after decoding")

func gunzip(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxBody+1))
	if err == nil && len(plain) > maxBody {
		err = errInflated
	}
	return plain, err
}

// checkVersionHeader wants one of the two versions there are.
func checkVersionHeader(r *http.Request) (string, *apiError) {
	v := r.Header["Anthropic-Version"]
	switch {
	case len(v) == 0 || v[0] == "":
		return "", invalid("anthropic-version: header is required")
	case v[0] != versionOld && v[0] != versionNew:
		return "", invalid("anthropic-version: %q is not a valid version", v[0])
	}
	return v[0], nil
}

// checkWorkspace wants a named workspace to be the key's own.
func (w *world) checkWorkspace(r *http.Request, org int) *apiError {
	id := r.Header.Get("Anthropic-Workspace-Id")
	if id == "" || id == w.orgs[org].workspace[0] {
		return nil
	}
	return &apiError{status: http.StatusForbidden, kind: "permission_error", message: "The API key does not belong to workspace " + id + "."}
}
