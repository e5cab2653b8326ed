package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// apiError is an error answer (facts/claude-api.md section 2).
type apiError struct {
	status  int
	kind    string
	code    string // details.error_code; empty: no details
	message string
	// front marks the errors that come from before the API: their body has no
	// top-level type and no request_id (facts/claude-api.md 1.7).
	front      bool
	retryAfter time.Duration
}

func (e *apiError) Error() string { return fmt.Sprintf("%s: %s (%d)", e.kind, e.message, e.status) }

func invalid(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: "invalid_request_error", message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *apiError {
	return &apiError{status: http.StatusNotFound, kind: "not_found_error", message: fmt.Sprintf(format, args...)}
}

func unauthorized(message string) *apiError {
	return &apiError{status: http.StatusUnauthorized, kind: "authentication_error", message: message}
}

var errTooLarge = &apiError{
	status: http.StatusRequestEntityTooLarge, kind: "request_too_large",
	message: "Request exceeds the maximum size", front: true,
}

type errorBody struct {
	Type      string      `json:"type,omitempty"`
	Error     errorDetail `json:"error"`
	RequestID string      `json:"request_id,omitempty"`
}

type errorDetail struct {
	Type    string     `json:"type"`
	Message string     `json:"message"`
	Details *errorCode `json:"details,omitempty"`
}

type errorCode struct {
	Code string `json:"error_code"`
}

// body is the error as JSON.
func (e *apiError) body(requestID string) []byte {
	b := errorBody{Error: errorDetail{Type: e.kind, Message: e.message}}
	if !e.front {
		b.Type, b.RequestID = "error", requestID
	}
	if e.code != "" {
		b.Error.Details = &errorCode{e.code}
	}
	out, err := json.Marshal(b)
	if err != nil {
		panic(err) // strings alone always encode
	}
	return out
}

// writeError answers with an error. The head has the common headers already.
func writeError(w http.ResponseWriter, e *apiError) {
	h := w.Header()
	if e.retryAfter > 0 {
		h["Retry-After"] = []string{strconv.FormatInt(int64(e.retryAfter/time.Second), 10)}
	}
	h["Content-Type"] = jsonType
	id := h.Get("Request-Id")
	if e.front {
		delete(h, "Request-Id")
	}
	body := e.body(id)
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(e.status)
	_, _ = w.Write(body) // a client that is gone cannot be told
}

// writeJSON answers 200 with a value that always encodes.
func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	writeBody(w, body)
}

var jsonType = []string{"application/json"}

func writeBody(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body)
}
