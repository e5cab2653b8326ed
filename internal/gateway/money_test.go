package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// An answer in one piece says what it cost, to the last digit; a stream, whose
// cost is not known yet, and what is free say nothing.
func TestCostInHeader(t *testing.T) {
	inRig(t, func(w http.ResponseWriter, h hit) {
		switch {
		case strings.Contains(string(h.body), `"stream":true`):
			streams(goodStream, true)(w, h)
		case strings.Contains(string(h.body), "refused"):
			refuses(400, kindInvalid, "no")(w, h)
		default:
			good(w, h)
		}
	}, func(r *rig) {
		for name, c := range map[string]struct {
			path, what, more string
			want             []string
		}{
			"whole":  {"/v1/messages", "a", "", []string{"0.000024000"}}, // 9 tokens at $1 and 3 at $5 a million
			"error":  {"/v1/messages", "refused", "", []string{"0.000000000"}},
			"stream": {"/v1/messages", "a", `"stream":true,`, nil},
			"free":   {"/v1/messages/count_tokens", "a", "", nil},
			"ours":   {"/v1/messages", "a", `"max_tokens":"x",`, nil},
		} {
			p := r.do(r.request(context.Background(), http.MethodPost, c.path, askFor(c.what, c.more)))
			if d := cmp.Diff(c.want, p.header.Values(headerCost)); p.err != nil || d != "" {
				t.Errorf("%s: %+v (-want +got):\n%s", name, p, d)
			}
		}
	})
}

// What a client's calls cost stands in the journal under its name, whole and as
// streams, with what came to no answer; another's does not, nor is anything
// booked twice by a restart.
func TestMoneyOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.open()
		var mu sync.Mutex
		want := map[string]flotilla.Money{}
		haiku, _ := price.Published().Lookup("claude-haiku-4-5")
		round := func() {
			var all sync.WaitGroup
			for i := range 40 {
				client := []string{"ann", "bob"}[i%2]
				all.Go(func() {
					p := s.ask(client, "POST", "/v1/messages", strings.NewReader(askFor(fmt.Sprint(i), "")))
					if p.status != 200 {
						t.Errorf("%d %s", p.status, p.body)
						return
					}
					u := gjson.GetBytes(p.body, "usage")
					mu.Lock()
					defer mu.Unlock()
					want[client] += haiku.Cost(price.Usage{Input: u.Get("input_tokens").Int(), Output: u.Get("output_tokens").Int()})
				})
			}
			all.Wait()
		}
		round()
		s.close()
		time.Sleep(time.Second)
		s.open()
		round()
		if err := s.gateway.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, client := range []string{"ann", "bob", Local} {
			got, err := s.journal.SpentBy(t.Context(), client, time.Now())
			if err != nil || got != want[client] {
				t.Errorf("%s spent %s by the journal, %s by its answers (%v)", client, got, want[client], err)
			}
		}
		if want["ann"] == 0 || want["ann"] == want["bob"] {
			t.Errorf("%v", want)
		}
		s.end()
	})
}
