package gateway

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
)

// maxBody is the most that a Messages or count_tokens body may have
// (facts/claude-api.md 1.7).
const maxBody = 32 << 20

// trusted is how much memory is made ready for a body because its head announces
// it. More is taken as it comes: announcing costs the sender nothing.
const trusted = 1 << 20

var errTooLarge = &apiError{
	status: http.StatusRequestEntityTooLarge, kind: kindTooLarge, message: "Request exceeds the maximum size",
}

// takeBody reads a request's body whole: it is sent byte for byte, and again
// where an attempt fails.
func takeBody(r *http.Request) ([]byte, *apiError) {
	if r.ContentLength > maxBody {
		return nil, tooLarge(r)
	}
	in, e := decoded(r)
	if e != nil {
		return nil, e
	}
	size := 512
	if r.ContentLength > 0 {
		size = int(min(r.ContentLength, trusted)) + 1 // one more, so that the read that fills it meets the end
	}
	data, err := readUpTo(in, make([]byte, 0, size), maxBody)
	var slow *bodyError
	switch {
	case errors.As(err, &slow):
		return nil, &slow.apiError
	case errors.Is(err, errLong):
		return nil, tooLarge(r)
	case err != nil && isGzip(r):
		return nil, invalid("The request body is no valid gzip")
	case err != nil:
		return nil, invalid("The request body broke off")
	}
	return data, nil
}

// tooLarge reads on for a while before it refuses: a client that still writes
// when the connection closes may never see the answer.
func tooLarge(r *http.Request) *apiError {
	if r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, maxBody) // whatever becomes of it, it is refused
	}
	return errTooLarge
}

func isGzip(r *http.Request) bool { return encodingOf(r) == "gzip" }

// encodingOf is the encoding of a body. Names of encodings have no case, and gzip
// has two (RFC 9110, 8.4.1).
func encodingOf(r *http.Request) string {
	name := strings.ToLower(r.Header.Get("Content-Encoding"))
	if name == "x-gzip" {
		return "gzip"
	}
	return name
}

// decoded is the body's reader, with its encoding undone: the answer's facts are
// read off the plain bytes, and those are what goes on.
func decoded(r *http.Request) (io.Reader, *apiError) {
	switch encodingOf(r) {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, invalid("The request body is no valid gzip")
		}
		of, _ := r.Body.(*body)
		return &unpacked{z, of}, nil
	}
	return nil, invalid("content-encoding: Input should be 'gzip' or 'identity'")
}

var errLong = errors.New("longer than it may be")

// readUpTo reads to the end, or to a byte more than most.
func readUpTo(in io.Reader, data []byte, most int) ([]byte, error) {
	for {
		if len(data) == cap(data) { // twice as much: what was outgrown waits for the collector
			data = slices.Grow(data, min(max(len(data), 512), most+1-len(data)))
		}
		n, err := in.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case len(data) > most:
			return nil, errLong
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}
