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
	// caps keep its worst case. A read gives io.ErrUnexpectedEOF or the
	// connection's error where the answer broke off; a stream that ends without
	// its message_stop is one of these.
	Body   io.ReadCloser
	Length int64 // of Body in bytes; -1: unknown, as of a stream

	Org, Pool, Model string
	Attempts         int           // made until this answer, it included
	Queued           time.Duration // from Do until the attempt that answered was sent
	Emulated         string        // "scenario/seed" when an emulator answered

	result func() (CallResult, bool) // nil: it cost nothing
}

// Settled is what the call came to, once Body has ended or was closed; a whole
// answer, or an error, has ended before it is read.
func (a *Answer) Settled() (CallResult, bool) {
	if a.result == nil {
		return CallResult{}, true
	}
	return a.result()
}
