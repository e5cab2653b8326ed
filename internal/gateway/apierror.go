package gateway

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Types of error, as the API spells them (facts/claude-api.md 2.2).
const (
	kindInvalid    = "invalid_request_error"
	kindPermission = "permission_error"
	kindNotFound   = "not_found_error"
	kindTooLarge   = "request_too_large"
	kindRateLimit  = "rate_limit_error"
	kindBilling    = "billing_error"
	kindAPI        = "api_error"
	kindTimeout    = "timeout_error"
	kindOverloaded = "overloaded_error"
)

// Headers of ours and of the official SDKs.
const (
	headerRetryAfter  = "Retry-After"
	headerShouldRetry = "X-Should-Retry" // read by the SDKs, before the status (facts/claude-api.md 2.5)
	headerRequestID   = "Request-Id"
)

// statusOverloaded is the provider's 529, which net/http has no name for.
const statusOverloaded = 529

// errorBody is an error in the API's shape (facts/claude-api.md 2.1).
type errorBody struct {
	Type      string      `json:"type"`
	Error     errorDetail `json:"error"`
	RequestID string      `json:"request_id"`
}

type errorDetail struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// envelope is an error of our own as the API would say it.
func envelope(kind, message, requestID string) []byte {
	out, err := json.Marshal(errorBody{Type: "error", Error: errorDetail{Type: kind, Message: message}, RequestID: requestID})
	if err != nil {
		panic(err) // strings alone always encode
	}
	return out
}

// requestID names an answer of our own; the provider's are never made up.
func requestID() string { return "req_flotilla_" + rand.Text() }

// writeError answers with an error of our own in the API's shape. header is
// names and values by turns.
func writeError(w http.ResponseWriter, status int, kind, message string, header ...string) {
	id := requestID()
	body := envelope(kind, message, id)
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	h[headerRequestID] = []string{id}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone cannot be told
}

var jsonType = []string{"application/json"}

// apiError is an error of our own before it is written.
type apiError struct {
	status  int
	kind    string
	message string
	header  []string // names and values by turns
}

func (e *apiError) write(w http.ResponseWriter) {
	writeError(w, e.status, e.kind, e.message, e.header...)
}

func invalid(message string) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: kindInvalid, message: message}
}

// overloaded is a 529: every SDK comes again after retry-after.
func overloaded(message string, after time.Duration) *apiError {
	return &apiError{status: statusOverloaded, kind: kindOverloaded, message: message, header: retryAfter(after)}
}

// longestSleep is how long an SDK may be told to sleep by itself: the Go SDK
// obeys any retry-after (facts/claude-api.md 2.5), and a program that sleeps
// longer than its own timeout of ten minutes looks hung.
const longestSleep = 10 * time.Minute

// retryAfter is the header of a wait: whole seconds, rounded up, at least one.
// A wait that is longer than an SDK should sleep is told to the program instead.
func retryAfter(after time.Duration) []string {
	seconds := max(1, int64((after+time.Second-1)/time.Second))
	h := []string{headerRetryAfter, strconv.FormatInt(seconds, 10)}
	if after > longestSleep {
		h = append(h, headerShouldRetry, "false")
	}
	return h
}
