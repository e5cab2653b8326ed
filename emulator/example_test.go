package emulator_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// One call against the model, on virtual time: no clock, no network.
func ExampleModel() {
	sc, err := emulator.Named("steady")
	if err != nil {
		log.Fatal(err)
	}
	m := emulator.NewModel(sc, 1, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
	haiku, _ := emulator.ModelIndex("claude-haiku-4-5")
	x := m.Arrive(0, emulator.Arrival{Model: haiku, Hash: [16]byte{1}, Est: 800, In: 800, Out: 100, MaxTokens: 300})
	fmt.Println(x.Status, x.FirstToken, x.End)
	m.Finish(x.End, x)
	fmt.Println(x.Cost(), "nano-dollars")
	m.Release(x)
	// Output:
	// 200 270ms 770ms
	// 1300000 nano-dollars
}

// A batch on virtual time: it takes its overhead, then two rows a second, and
// costs half.
func ExampleModel_Submit() {
	sc, err := emulator.Named("steady")
	if err != nil {
		log.Fatal(err)
	}
	m := emulator.NewModel(sc, 1, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
	haiku, _ := emulator.ModelIndex("claude-haiku-4-5")
	b, refusal := m.Submit(0, 0, 600, 900_000, func(i int) emulator.Arrival {
		return emulator.Arrival{Model: haiku, Hash: [16]byte{byte(i), byte(i >> 8)}, Est: 800, In: 800, Out: 100, MaxTokens: 300}
	})
	if b == nil {
		log.Fatal(refusal)
	}
	fmt.Println(b.Counts(5 * time.Minute))
	fmt.Println(b.Status(6*time.Minute) == emulator.Ended, b.EndedAt, b.Counts(6*time.Minute))
	cost := int64(0)
	for _, r := range b.Results {
		cost += r.Cost
	}
	fmt.Println(cost, "nano-dollars")
	// Output:
	// {600 0 0 0 0}
	// true 6m0s {0 600 0 0 0}
	// 390000000 nano-dollars
}

// A small world of one's own: one org on the lowest tier that answers at once.
func ExampleUniform() {
	sc := emulator.Scenario{Orgs: emulator.Uniform(1, emulator.Limits{Requests: 60, Input: 10_000, Output: 1_000})}
	m := emulator.NewModel(sc, 1, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
	haiku, _ := emulator.ModelIndex("claude-haiku-4-5")
	for i := range 3 {
		x := m.Arrive(0, emulator.Arrival{Model: haiku, Hash: [16]byte{byte(i)}, Est: 4_000, In: 4_000, Out: 10, MaxTokens: 10})
		fmt.Println(x.Status, x.RetryAfter)
		m.Release(x)
	}
	// Output:
	// 200 0s
	// 200 0s
	// 429 12s
}

// The same provider over HTTP.
func ExampleServer() {
	sc, err := emulator.Named("unlimited")
	if err != nil {
		log.Fatal(err)
	}
	s, err := emulator.New(emulator.Options{Scenario: sc, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	url, err := s.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	req, err := http.NewRequest("POST", url+"/v1/messages", strings.NewReader(
		`{"model":"claude-haiku-4-5","max_tokens":8,"messages":[{"role":"user","content":"Which is larger?"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("X-Api-Key", emulator.Key("high"))
	req.Header.Set("Anthropic-Version", "2023-06-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.StatusCode, res.Header.Get("Flotilla-Emulated"), s.Stats().Succeeded)
	// Output:
	// 200 unlimited/1 1
}
