package gateway

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

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
