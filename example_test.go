package flotilla_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"strings"

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

// Any client of the API goes through a fleet by its transport: the host and the
// key of its requests do not matter.
func ExampleFleet_Transport() {
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

	client := &http.Client{Transport: fleet.Transport()}
	body := `{"model":"claude-haiku-4-5","max_tokens":50,"messages":[{"role":"user","content":"Spell one."}]}`
	resp, err := client.Post("https://api.anthropic.com/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, resp.Header.Get("x-flotilla-org"), len(answer) > 0, err)
	// Output: 200 OK high true <nil>
}

// A Line makes calls one by one; a Pot caps what it and others spend together.
func ExampleLine_Do() {
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

	ctx := context.Background()
	pot, err := fleet.Pot(ctx, "the budget of the demo", flotilla.USD(0.001), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	line, err := fleet.Line(ctx, flotilla.LineOptions{Name: "chat", Priority: flotilla.Interactive, Pots: []*flotilla.Pot{pot}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, most := range []int{50, 50_000} {
		body := fmt.Appendf(nil, `{"model":"claude-haiku-4-5","max_tokens":%d,"messages":[{"role":"user","content":"Spell one."}]}`, most)
		answer, err := line.Do(ctx, flotilla.Call{Body: body})
		if err != nil {
			fmt.Println(err)
			continue
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		res, _ := answer.Settled()
		fmt.Println(answer.Status, res.StopReason, res.Cost > 0)
	}
	// Output:
	// 200 end_turn true
	// the budget of the demo is reached: $0.00026 of $0.0010 spent or reserved, the next call may cost $0.25
}
