package flotilla

import (
	"encoding/json"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// Request is one call of the Messages API.
type Request struct {
	ID   string          // the caller's name for it; unique in one Dispatch
	Body json.RawMessage // the Messages body; sent byte for byte
}

// Result is what became of a Request. A failed call is a Result whose Err says
// so, never a Go error of the iteration.
type Result struct {
	ID      string
	Row     int             // the request's position in its source, from 0; -1: of none, Err says why the run ended
	Message json.RawMessage // the Message as the API sent it, on one line; nil when Err is set
	Err     error           // *APIError, *TransportError, *RequestError, *CanceledError or *BudgetExceededError

	Org, Tier, Model string
	Attempts         int
	Latency          time.Duration // of the attempt that stands, send to last byte
	Cost             Money         // exact for known attempts, worst case for those in doubt
	Cached           bool          // answered from the journal; Cost is 0
	Emulated         string        // "scenario/seed" when an emulator answered
	BodyHash         [16]byte      // of the canonical body
	StopReason       string
	Usage            price.Usage
	InDoubt          int  // attempts of it whose outcome is unknown
	Hedged           bool // more than one attempt was in flight
	At               time.Time
}

// Money is an amount of US dollars in whole nano-dollars.
type Money = price.Nanos

// USD gives the Money of a number of dollars, rounded to the nearest nano-dollar.
func USD(dollars float64) Money { return price.USD(dollars) }
