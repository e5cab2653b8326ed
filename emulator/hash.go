package emulator

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

var canonicals = sync.Pool{New: func() any { return new([]byte) }}

// BodyHash is the hash that keys a body's latency, faults and answer: the
// first half of the SHA-256 of its canonical form. The body must be valid
// JSON.
func BodyHash(body []byte) [16]byte {
	buf := canonicals.Get().(*[]byte)
	*buf = wire.Canonical((*buf)[:0], body)
	h := sha256.Sum256(*buf)
	canonicals.Put(buf)
	return [16]byte(h[:16])
}

// Weigh reads a Messages body as the server does and gives its arrival, but
// for Org, Reused and what an answer rule would say. The error is what the API
// would answer under an anthropic-version at the model's time now.
func (m *Model) Weigh(now time.Duration, version string, body []byte) (Arrival, error) {
	r, e := readRequest(body)
	if e == nil {
		e = r.check(m.start.Add(now), version, false, false)
	}
	if e != nil {
		return Arrival{}, e
	}
	return r.arrival(body), nil
}

// arrival is what a checked request asks of the model.
func (r *request) arrival(body []byte) Arrival {
	return Arrival{
		Model: r.index, Hash: BodyHash(body), Est: r.estimate(), MaxTokens: r.maxTokens,
		Prefixes: r.marks, Stream: r.stream, US: r.geo == "us", Fast: r.fast,
	}
}
