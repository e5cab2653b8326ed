//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// TestServeBatchFaults lets the batch endpoints of the provider go wrong under a
// batch of a client's: creates that were carried out though a proxy says they were
// not, polls that reset, results that are cut. The client gets each row once, and
// each is bought once.
func TestServeBatchFaults(t *testing.T) {
	t.Parallel()
	w := &stoppedWorld{t: t, world: newWorldOf(t, "default", 100, func(sc *emulator.Scenario) {
		tellsNumbers(sc)
		sc.Batches.Overhead, sc.Batches.OverheadSD, sc.Batches.RowsPerSecond, sc.Batches.SD = time.Minute, 0, 50, 0
	})}
	w.gate = w.serve("--ramp", "fast")
	for _, f := range []string{
		`{"method":"POST","path":"/v1/messages/batches/{$}","count":1,"performed":true,` + gateway502 + `}`,
		`{"method":"POST","path":"/v1/messages/batches/{$}","count":1,"kind":"drop_before"}`,
		`{"method":"GET","path":"/v1/messages/batches/{id}/results","count":2,"kind":"truncate"}`,
		`{"method":"GET","path":"/v1/messages/batches","share":0.2,"kind":"drop_before"}`,
		`{"method":"GET","path":"/v1/messages/batches","share":0.2,` + gateway502 + `}`,
		`{"method":"GET","path":"/v1/messages/batches","share":0.2,` + overloaded + `}`,
	} {
		w.fault(f)
	}
	client := newForeign(w.gate.url, w.speed)
	w.createBatch(client)
	w.wantBatch(client)
	w.gate.stop()
	w.gate.wantExit(0)
	w.audit()
}
