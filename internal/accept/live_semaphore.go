package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flotilla-llm/flotilla/emulator"
)

func semaphoreName() string { return fmt.Sprintf("semaphore of %d, an SDK's retries", semaphoreSlots) }

// semaphore does over HTTP what a program around an official SDK does.
func (p *provider) semaphore(ctx context.Context, in *input, a *arm) error {
	type row struct {
		id   string
		body []byte
	}
	rows := make(chan row, semaphoreSlots)
	got := map[string]int{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(rows)
		return in.each(a.Rows, func(id string, body []byte) error {
			select {
			case rows <- row{id, body}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for slot := range semaphoreSlots {
		rng := rand.New(rand.NewPCG(seed, uint64(slot)))
		g.Go(func() error {
			for r := range rows {
				ok, err := p.insist(ctx, rng, r.body)
				if err != nil {
					return err
				}
				if ok {
					mu.Lock()
					got[r.id]++
					mu.Unlock()
				}
			}
			return nil
		})
	}
	err := g.Wait()
	a.count(got)
	return err
}

// insist makes one call as an SDK does: what is refused or breaks off is tried
// twice more. ok says that it was answered.
func (p *provider) insist(ctx context.Context, rng *rand.Rand, body []byte) (ok bool, err error) {
	for try := 1; ; try++ {
		ok, retryAfter, err := p.attempt(ctx, body)
		if ok || err != nil || try > semaphoreRetries {
			return ok, err
		}
		if err := p.sleep(ctx, sdkWait(rng, retryAfter, try)); err != nil {
			return false, err
		}
	}
}

// attempt is one exchange; the error is ctx's.
func (p *provider) attempt(ctx context.Context, body []byte) (ok bool, retryAfter time.Duration, err error) {
	req, err := request(http.MethodPost, p.url+"/v1/messages", emulator.Key("high"), bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	resp, err := client.Do(req.WithContext(ctx))
	if err != nil {
		return false, 0, ctx.Err()
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return false, 0, ctx.Err()
	}
	after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return resp.StatusCode == http.StatusOK, time.Duration(after) * time.Second, nil
}
