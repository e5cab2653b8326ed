package flotilla

import (
	"io"
	"net/http"
	"time"
)

// Answer is the answer to a Call, whose body may still be on its way.
type Answer struct {
	Status int
	Header http.Header // the provider's; those of the connection are taken out
	// Body is the answer byte for byte as it arrives. It must be closed. Closed
	// before its end, the exchange is cancelled: what it cost is estimated, and
	// caps keep its worst case. A read gives io.ErrUnexpectedEOF or a
	// *TransportError where the answer broke off; a stream that ends without its
	// message_stop is one of these.
	Body io.ReadCloser

	Org, Pool, Model string
	Attempts         int           // made until this answer, it included
	Queued           time.Duration // from Do until the attempt that answered was sent
	Emulated         string        // "scenario/seed" when an emulator answered

	settled *CallResult
}

// Settled is what the call came to, once Body has ended or was closed.
func (a *Answer) Settled() (CallResult, bool) {
	if a.settled == nil {
		return CallResult{}, false
	}
	return *a.settled, true
}
