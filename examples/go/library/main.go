// Command library carries calls by the Go library, without a server or a file.
//
//	go run ./library
//
// Keys are read from the environment, as by the flotilla command.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err) //nolint:gocritic // the signal needs no undoing
	}
}

func run(ctx context.Context) error {
	fleet, err := flotilla.New(flotilla.Config{Orgs: flotilla.OrgsFromEnv()})
	if err != nil {
		return err
	}
	defer fleet.Close()
	answered, cost := 0, flotilla.USD(0)
	for res := range fleet.Dispatch(ctx, slices.Values(requests(100)), flotilla.Options{
		Deadline: time.Now().Add(30 * time.Minute), Prefer: flotilla.Fast, MaxSpend: flotilla.USD(1),
	}) {
		cost += res.Cost
		var refused *flotilla.APIError
		var capped *flotilla.BudgetExceededError
		switch {
		case errors.As(res.Err, &capped): // the last result, and of no call
			return res.Err
		case errors.As(res.Err, &refused):
			log.Printf("%s: the API says %v", res.ID, refused)
		case res.Err != nil:
			log.Printf("%s: %v", res.ID, res.Err)
		default:
			answered++
		}
	}
	fmt.Printf("answered: %d for %v\n", answered, cost)
	return ctx.Err()
}

// requests are bodies of the Messages API, each with an id of ours.
func requests(n int) (out []flotilla.Request) {
	for i := range n {
		body, err := json.Marshal(map[string]any{
			"model": "claude-haiku-4-5", "max_tokens": 50,
			"messages": []map[string]string{{"role": "user", "content": fmt.Sprintf("Thing %d in one word", i)}},
		})
		if err != nil {
			panic(err) // of a map of strings and numbers
		}
		out = append(out, flotilla.Request{ID: fmt.Sprint("thing-", i), Body: body})
	}
	return out
}
