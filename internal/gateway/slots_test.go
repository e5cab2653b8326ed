package gateway

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// onePlace lets one call of the pool be in flight at a time.
func onePlace(f *flotilla.Config, _ *Config) {
	f.Orgs = f.Orgs[:1]
	f.Conc = map[string]int{"haiku": 1}
}

// A client that does not read its stream holds its place no longer than the
// provider writes, and another client's call goes on meanwhile.
func TestSlowReaderSlowsNobody(t *testing.T) {
	delta := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + strings.Repeat("x", 1000) + "\"}}\n\n"
	at := strings.Index(goodStream, "event: content_block_delta")
	long := goodStream[:at] + strings.Repeat(delta, 300) + goodStream[at:]
	inRigWith(t, func(w http.ResponseWriter, h hit) {
		if strings.Contains(string(h.body), `"stream":true`) {
			streams(long, true)(w, h)
			return
		}
		good(w, h)
	}, onePlace, func(r *rig) {
		slow, err := r.client.Do(r.request(context.Background(), http.MethodPost, "/v1/messages", askFor("slow", `"stream":true,`)))
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Body.Close()
		synctest.Wait() // nobody reads: on a network of pipes not a byte more can be written
		began := time.Now()
		if p := r.post(askFor("quick", ""), headerMaxWait, "10s"); p.status != 200 || time.Since(began) > time.Second {
			t.Errorf("%+v after %s", p, time.Since(began))
		}
		read := new(strings.Builder)
		buf := make([]byte, 100)
		for {
			n, err := slow.Body.Read(buf)
			read.Write(buf[:n])
			if err != nil {
				break
			}
		}
		if read.String() != long {
			t.Errorf("the slow client has %d of %d bytes", read.Len(), len(long))
		}
		synctest.Wait()
		if n := r.gateway.ahead.Load(); n != 0 {
			t.Errorf("%d bytes are still counted", n)
		}
	})
}

// A client that goes away, in flight or while it waits, gives its place to the
// next one at once.
func TestClientThatLeavesFreesItsPlace(t *testing.T) {
	inRigWith(t, func(w http.ResponseWriter, h hit) {
		if strings.Contains(string(h.body), "leaves") {
			<-h.ended
			return
		}
		good(w, h)
	}, onePlace, func(r *rig) {
		flying, leave := context.WithCancel(context.Background())
		queued, giveUp := context.WithCancel(context.Background())
		ended := make(chan reply, 3)
		go func() { ended <- r.do(r.request(flying, http.MethodPost, "/v1/messages", askFor("leaves", ""))) }()
		synctest.Wait()
		go func() { ended <- r.do(r.request(queued, http.MethodPost, "/v1/messages", askFor("leaves too", ""))) }()
		synctest.Wait()
		next := make(chan reply)
		go func() { next <- r.post(askFor("next", "")) }()
		synctest.Wait()
		if n := len(r.up.seen()); n != 1 {
			t.Fatalf("%d calls at a time", n)
		}
		giveUp()
		synctest.Wait()
		began := time.Now()
		leave()
		if p := <-next; p.status != 200 || time.Since(began) > time.Second {
			t.Errorf("%+v after %s", p, time.Since(began))
		}
		<-ended
		<-ended
		if n := len(r.up.seen()); n != 2 {
			t.Errorf("%d calls were made", n)
		}
	})
}

// What waits longer than it may is refused with an honest time, and never sent.
func TestMaxWait(t *testing.T) {
	inRigWith(t, func(w http.ResponseWriter, h hit) {
		time.Sleep(time.Minute)
		good(w, h)
	}, onePlace, func(r *rig) {
		first := make(chan reply)
		go func() { first <- r.post(askFor("first", "")) }()
		synctest.Wait()
		began := time.Now()
		p := r.post(askFor("second", ""), headerMaxWait, "5")
		if took := time.Since(began); p.status != 429 || !p.shaped(kindRateLimit) || p.header.Get("Retry-After") == "" || took > 6*time.Second {
			t.Errorf("%+v after %s", p, took)
		}
		if p := <-first; p.status != 200 {
			t.Errorf("%+v", p)
		}
		synctest.Wait()
		if n := len(r.up.seen()); n != 1 {
			t.Errorf("%d calls were sent", n)
		}
	})
}
