package wire

import (
	"net/http"
	"time"
)

// Class is a kind of refusal (facts/control.md B.6); the names are the
// scheduler's, to which the fleet maps them.
type Class uint8

// Refusal classes. The zero value is an error of the request itself.
const (
	Invalid      Class = iota // 400, 404 of a path, 413: the call's own fault, final
	RateLimited               // 429 without better words
	Acceleration              // "usage increase rate", ramp_limit_exceeded
	Concurrency               // "concurrent connections"
	Daily                     // a text about days, or a retry-after over 300 s
	Spend                     // monthly, contract or self-set spend limit
	Auth                      // 401
	Permission                // 403 of the API, 402: the org may not do this
	Credit                    // 400 with the low-credit text
	Hold                      // 400 organization_on_hold
	NoModel                   // 404 for the model, or no quota for it at all
	QueueFull                 // batch queue
	Overloaded                // 529, overloaded_error
	ServerError               // 500, 502, 503, 520-524, pages that are not the API's
	Conflict                  // 409, 408: may be repeated
	Unknown504                // 504: the outcome is unknown
	NumClasses
)

var classNames = [NumClasses]string{
	"invalid", "rate_limited", "acceleration", "concurrency", "daily", "spend", "auth", "permission", "credit",
	"hold", "no_model", "queue_full", "overloaded", "server_error", "conflict", "unknown_504",
}

func (c Class) String() string {
	if c < NumClasses {
		return classNames[c]
	}
	return "class?"
}

// Dim is a dimension of a rate limit that a text names.
type Dim uint8

// Dimensions. Unnamed is the zero value.
const (
	Unnamed Dim = iota
	Requests
	Input
	Output
	Tokens // both kinds together
)

// Refusal is an error answer, as far as it can be told apart by itself.
type Refusal struct {
	Class      Class
	Dim        Dim           // which limit the text names, if it does
	RetryAfter time.Duration // 0: none given
	// An acceleration text with numbers: the ceiling now and after the next
	// wall-clock minute, in units of Dim per minute; 0: none given.
	CeilingNow, CeilingNext float64
	ReopensAt               time.Time // the instant that an account-level text names; zero: none

	Type      string // error.type; empty when the body had none
	Code      string // error.details.error_code; empty when absent
	Message   string // error.message, or the start of a body that is not the API's
	RequestID string
	Envelope  bool // the body is the API's error envelope, error.type present
}

// dailyWait is the retry-after over which a 429 is taken for a daily limit:
// minute buckets refill in a minute (facts/control.md B.6).
const dailyWait = 300 * time.Second

// Classify reads an error answer. Branches, in this order, on
// details.error_code, error.type, status; on text only where the API tells
// things apart by nothing else (spend and credit limits inside a 400, the
// kinds of a 429, a model's 404). status is 200 for an error event inside a
// stream, 0 for a batch row.
func Classify(status int, h http.Header, body []byte) Refusal {
	e := readEnvelope(body)
	r := Refusal{Type: e.Type, Code: e.Code, Message: e.Message, Envelope: e.api, RequestID: requestID(h)}
	date, _ := http.ParseTime(h.Get("Date"))
	wait, given := RetryAfter(h, date)
	if !given {
		wait = e.retryAfter
	}
	r.RetryAfter = wait
	class, known := byCode(e.Code)
	if !known {
		class, known = byType(status, e)
	}
	if !known {
		class = byStatus(status, h, e)
	}
	r.Class = class
	r.refine(status)
	return r
}

func requestID(h http.Header) string {
	if v := h["Request-Id"]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// byCode knows the codes of facts/claude-api.md 2.3 that say more than their
// type. Unknown codes count as the bare type.
func byCode(code string) (Class, bool) {
	switch code {
	case "ramp_limit_exceeded":
		return Acceleration, true
	case "enforced_spend_limit_reached", "contract_spend_limit_reached", "linked_organization_spend_limit_reached":
		return Spend, true
	case "organization_on_hold":
		return Hold, true
	case "claude_code_key_creator_not_member", "claude_code_version_too_old",
		"cmek_key_disabled", "cmek_key_network_blocked",
		"linked_organization_billing_unavailable",
		"user_profile_billing_not_authorized", "user_profile_not_billable":
		return Permission, true // of the key or its org, not of this request
	case "cmek_key_unreachable", "cmek_context_unavailable":
		return ServerError, true
	}
	return 0, false
}

// byType knows the error types of facts/claude-api.md 2.2. A type that
// contradicts a status the network itself gives (504) does not override it.
func byType(status int, e envelope) (Class, bool) {
	switch e.Type {
	case "invalid_request_error", "request_too_large":
		return Invalid, true
	case "authentication_error":
		return Auth, true
	case "permission_error", "billing_error":
		return Permission, true
	case "not_found_error":
		return Invalid, true // refine looks for a model
	case "conflict_error":
		return Conflict, true
	case "rate_limit_error":
		return RateLimited, true
	case "overloaded_error":
		return Overloaded, true
	case "timeout_error":
		return Unknown504, true
	case "api_error":
		if status == http.StatusGatewayTimeout {
			return Unknown504, true
		}
		if status == 529 {
			return Overloaded, true
		}
		return ServerError, true
	}
	return 0, false
}

// byStatus is for bodies without a type that is known: empty, HTML, a
// proxy's. A page that is not the API's proves nothing about key, model or
// request, whatever its status: it counts against the lane.
func byStatus(status int, h http.Header, e envelope) Class {
	switch status {
	case 529:
		return Overloaded
	case http.StatusTooManyRequests:
		return RateLimited
	case http.StatusGatewayTimeout:
		return Unknown504
	case http.StatusRequestTimeout, http.StatusConflict:
		return Conflict
	case http.StatusRequestEntityTooLarge:
		return Invalid
	}
	if status >= 500 || status < 400 || isPage(h, e) || e.cloudflare {
		return ServerError
	}
	switch status {
	case http.StatusUnauthorized:
		return Auth
	case http.StatusPaymentRequired, http.StatusForbidden:
		return Permission
	case http.StatusProxyAuthRequired:
		return ServerError
	}
	return Invalid
}

// isPage says that a body is somebody's web page or note and no answer of the
// API: not JSON, and not empty.
func isPage(h http.Header, e envelope) bool {
	return !e.json && (e.Message != "" || mediaType(h) == "text/html")
}
