package flotilla_test

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// An emulator stands in for the provider; with keys in the environment the
// Config is {Orgs: flotilla.OrgsFromEnv()}.
func ExampleFleet_Dispatch() {
	server, err := emulator.New(emulator.Options{Speed: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	base, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}

	fleet, err := flotilla.New(flotilla.Config{
		BaseURL: base, Speed: 20,
		Orgs: []flotilla.Org{{Name: "high", Key: flotilla.Key(emulator.Key("high"))}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close()

	var requests []flotilla.Request
	for _, word := range []string{"one", "two", "three"} {
		body := fmt.Sprintf(`{"model":"claude-haiku-4-5","max_tokens":50,"messages":[{"role":"user","content":"Spell %s."}]}`, word)
		requests = append(requests, flotilla.Request{ID: word, Body: []byte(body)})
	}
	var done []string
	for res := range fleet.Dispatch(context.Background(), slices.Values(requests), flotilla.Options{MaxSpend: flotilla.USD(1)}) {
		if res.Err != nil {
			fmt.Println(res.ID, res.Err)
			continue
		}
		done = append(done, res.ID) // in completion order
	}
	sort.Strings(done)
	fmt.Println(done)
	// Output: [one three two]
}
