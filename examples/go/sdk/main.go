// Command sdk sends the official SDK's calls through a fleet in the same program.
//
//	go run ./sdk
//
// Keys are read from the environment, as by the flotilla command.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/flotilla-llm/flotilla"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	fleet, err := flotilla.New(flotilla.Config{Orgs: flotilla.OrgsFromEnv()})
	if err != nil {
		return err
	}
	defer fleet.Close()
	client := anthropic.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithAPIKey("unused"), // the fleet has the keys,
		option.WithHTTPClient(&http.Client{Transport: fleet.Transport()}),
		option.WithMaxRetries(0), // and the retries
	)
	var answered atomic.Int64
	var calls sync.WaitGroup
	for i := range 100 { // no semaphore: the fleet holds back what must wait
		calls.Go(func() {
			_, err := client.Messages.New(ctx, anthropic.MessageNewParams{
				Model: "claude-haiku-4-5", MaxTokens: 50,
				Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(fmt.Sprintf("Thing %d in one word", i)))},
			})
			if err != nil {
				log.Printf("thing %d: %v", i, err)
				return
			}
			answered.Add(1)
		})
	}
	calls.Wait()
	fmt.Println("answered:", answered.Load())
	return nil
}
