package gateway

import (
	"net/http"
	"testing"
)

// Where no exchange comes to an answer the client is told what is known of the
// money: nothing was billed (come again), or nobody knows (do not, by yourself).
func TestEveryExchangeIsReset(t *testing.T) {
	inRig(t, func(http.ResponseWriter, hit) { panic(http.ErrAbortHandler) }, func(r *rig) {
		p := r.post(askFor("a", ""), "x-flotilla-max-wait", "10m")
		known := p.status == 504 && p.shaped(kindTimeout) && p.header.Get("X-Should-Retry") == "false" ||
			p.status == 529 && p.shaped(kindOverloaded) && p.header.Get("Retry-After") != ""
		if !known || p.err != nil {
			t.Errorf("%+v", p)
		}
	})
}
