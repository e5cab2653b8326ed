package emulator

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// batchEntry is one element of requests, as parts of the body.
type batchEntry struct{ id, params string }

// readUpload reads the body of a create whole. A string builder hands out what
// it gathered without a copy, so that 256 MB are held once.
func readUpload(r *http.Request) (string, *apiError) {
	if r.ContentLength > maxBatchBytes {
		// Read on, so that the client has written all and sees the answer.
		_, _ = io.CopyN(io.Discard, r.Body, 2*maxBatchBytes)
		return "", errTooLarge
	}
	var b strings.Builder
	b.Grow(int(max(0, r.ContentLength)))
	plain, e := plainUpload(r)
	if e != nil {
		return "", e
	}
	if _, err := io.Copy(&b, io.LimitReader(plain, maxBatchBytes+1)); err != nil {
		if r.Header.Get("Content-Encoding") == "gzip" && !errors.Is(err, io.ErrUnexpectedEOF) {
			return "", errEncoding()
		}
		return "", invalid("The request body could not be read.")
	}
	if b.Len() > maxBatchBytes {
		_, _ = io.CopyN(io.Discard, r.Body, maxBatchBytes)
		return "", errTooLarge
	}
	return b.String(), nil
}

// plainUpload undoes a Content-Encoding as the body is read.
func plainUpload(r *http.Request) (io.Reader, *apiError) {
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, errEncoding()
		}
		return z, nil
	default:
		return nil, errNoEncoding(encoding)
	}
}

// splitUpload takes the body of a create apart, and refuses what is refused at
// once (facts/claude-api.md 4.3): everything but the params' content. More than
// 100,000 rows are told by a 400; what the provider says is not recorded.
func splitUpload(body string) ([]batchEntry, *apiError) {
	if !gjson.Valid(body) {
		return nil, invalid("The request body is not valid JSON: %s", jsonFault([]byte(body)))
	}
	root := gjson.Parse(body)
	if !root.IsObject() {
		return nil, invalid("The request body is not valid JSON: expected an object")
	}
	var list gjson.Result
	extra := ""
	root.ForEach(func(k, v gjson.Result) bool {
		if name := k.String(); name == "requests" {
			list = v
		} else if extra == "" {
			extra = name
		}
		return true
	})
	switch {
	case !list.Exists():
		return nil, invalid("requests: Field required")
	case !list.IsArray():
		return nil, invalid("requests: Input should be a valid list")
	case extra != "":
		return nil, invalid("%s: Extra inputs are not permitted", extra)
	}
	return splitRequests(list)
}

func splitRequests(list gjson.Result) ([]batchEntry, *apiError) {
	var out []batchEntry
	var bad *apiError
	n := 0
	list.ForEach(func(_, v gjson.Result) bool {
		n++
		if bad != nil || n > maxBatchRows {
			return true // only counted
		}
		var e batchEntry
		if e, bad = splitEntry(n-1, v); bad == nil {
			out = append(out, e)
		}
		return true
	})
	switch {
	case n == 0:
		return nil, invalid("requests: List should have at least 1 item after validation, not 0")
	case n > maxBatchRows:
		return nil, invalid("requests: List should have at most %d items after validation, not %d", maxBatchRows, n)
	case bad != nil:
		return nil, bad
	}
	return out, checkUnique(out)
}

func splitEntry(i int, v gjson.Result) (e batchEntry, bad *apiError) {
	if !v.IsObject() {
		return e, invalid("requests.%d: Input should be a valid dictionary or object", i)
	}
	var id, params gjson.Result
	extra := ""
	v.ForEach(func(k, f gjson.Result) bool {
		switch name := k.String(); name {
		case "custom_id":
			id = f
		case "params":
			params = f
		default:
			extra = name
		}
		return true
	})
	if bad = checkCustomID(i, id); bad != nil {
		return e, bad
	}
	switch {
	case !params.Exists():
		return e, invalid("requests.%d.params: Field required", i)
	case !params.IsObject():
		return e, invalid("requests.%d.params: Input should be a valid dictionary or object", i)
	case extra != "":
		return e, invalid("requests.%d.%s: Extra inputs are not permitted", i, extra)
	}
	return batchEntry{id.Str, params.Raw}, nil
}

// maxCustomID is the most letters of a custom_id (facts/claude-api.md 4.3).
const maxCustomID = 64

func checkCustomID(i int, id gjson.Result) *apiError {
	switch {
	case !id.Exists():
		return invalid("requests.%d.custom_id: Field required", i)
	case id.Type != gjson.String:
		return invalid("requests.%d.custom_id: Input should be a valid string", i)
	case len([]rune(id.Str)) > maxCustomID:
		return invalid("requests.%d.custom_id: String should have at most %d characters", i, maxCustomID)
	case id.Str == "" || strings.ContainsFunc(id.Str, notInID):
		return invalid("requests.%d.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", i)
	}
	return nil
}

func notInID(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
}

func checkUnique(entries []batchEntry) *apiError {
	seen := make(map[string]struct{}, len(entries))
	for _, e := range entries {
		if _, ok := seen[e.id]; ok {
			return invalid("requests: custom_id's must be unique within a batch. Duplicate custom_id found: %s", e.id)
		}
		seen[e.id] = struct{}{}
	}
	return nil
}
