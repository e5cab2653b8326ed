package flotilla

import (
	"encoding/json"
	"fmt"
	"time"
)

// APIError is an answer of the provider that ended a call without a Message.
type APIError struct {
	Status    int             // HTTP status; 200 for an error event inside a stream
	Type      string          // error.type; empty when the body had none
	Code      string          // error.details.error_code; empty when absent
	Message   string          // error.message, or the start of a body that is not the API's
	RequestID string          // request-id header
	Envelope  json.RawMessage // the body when it is the API's error envelope, on one line; else nil
	Attempts  int
}

func (e *APIError) Error() string {
	if e.Message == "" && e.Type == "" {
		return fmt.Sprintf("an empty answer with status %d", e.Status)
	}
	if e.Type == "" {
		return fmt.Sprintf("%s (%d)", e.Message, e.Status)
	}
	return fmt.Sprintf("%s: %s (%d)", e.Type, e.Message, e.Status)
}

// TransportError is a call whose attempts ended without an answer.
type TransportError struct {
	Err      error // the last cause
	InDoubt  bool  // the request may have been answered and billed
	Attempts int
}

func (e *TransportError) Error() string { return e.Err.Error() }
func (e *TransportError) Unwrap() error { return e.Err }

// CanceledError is a call taken back before it was answered.
type CanceledError struct{}

func (*CanceledError) Error() string { return "canceled" }

// ExpiredError is a call whose batches expired before it was answered.
type ExpiredError struct{ Attempts int }

func (*ExpiredError) Error() string {
	return "expired: no batch that carried it answered it within 24 hours"
}

// BudgetExceededError says that a cap ended the run: nothing follows it.
type BudgetExceededError struct {
	Cap   Money
	Spent Money         // spent and reserved
	Needs Money         // worst case of the next call
	Per   time.Duration // 24 h for a cap per day; 0 for a cap on the job
	Name  string        // of the Pot whose limit it is; empty: of none

	// RetryAfter is when a call of a Line is worth asking for again: others have
	// reserved the money, and it may come back. 0: it is spent for good.
	RetryAfter time.Duration
}

func (e *BudgetExceededError) Error() string {
	if e.Name != "" {
		return fmt.Sprintf("%s is reached: %s of %s spent or reserved, the next call may cost %s", e.Name, e.Spent, e.Cap, e.Needs)
	}
	return fmt.Sprintf("the cap of %s is reached: %s spent or reserved, the next call may cost %s", e.Cap, e.Spent, e.Needs)
}

// IncompleteError says that a Dispatch ended although requests are left: its
// deadline passed, every lane is closed for longer than MaxWait, or the fleet
// was closed.
type IncompleteError struct {
	Cause  Cause
	Closed []ClosedLane // with LanesClosed
}

func (e *IncompleteError) Error() string {
	switch e.Cause {
	case DeadlinePassed:
		return "the deadline passed; requests are left"
	case LanesClosed:
		return "every org that could take a request is closed for too long; requests are left"
	}
	return "the fleet was closed; requests are left"
}

// RequestError is a request that was not sent because its body is wrong or its
// model unknown.
type RequestError struct{ Err error }

func (e *RequestError) Error() string { return e.Err.Error() }
func (e *RequestError) Unwrap() error { return e.Err }

// UnknownModelError is a model that no price is known for: neither its pool nor
// what it may cost can be told.
type UnknownModelError struct{ Model string }

func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("no price is known for the model %q", e.Model)
}
