package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/emulator"
)

func scriptName() string {
	return fmt.Sprintf("script: batches of %d, one at a time, a look every %.0f s", scriptRows, scriptPoll.Seconds())
}

// script does over HTTP what such scripts do: create a batch, poll until it has
// ended, read its results, create the next. It adds to the arm what it got.
func (p *provider) script(ctx context.Context, in *input, a *arm) error {
	var rows []json.RawMessage
	got := map[string]int{}
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		err := p.scripted(ctx, rows, got)
		rows = rows[:0]
		return err
	}
	i := 0
	err := in.each(a.Rows, func(_ string, body []byte) error {
		row := fmt.Appendf(nil, `{"custom_id":"row-%d","params":%s}`, i, body)
		i++
		if rows = append(rows, row); len(rows) < scriptRows {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	a.count(got)
	return err
}

// count takes in how often each row was answered.
func (a *arm) count(got map[string]int) {
	a.Succeeded = len(got)
	a.Lost = a.Rows - a.Pending - len(got)
	for _, n := range got {
		if n > 1 {
			a.Doubled++
		}
	}
}

// scripted carries one batch.
func (p *provider) scripted(ctx context.Context, rows []json.RawMessage, got map[string]int) error {
	body, err := json.Marshal(map[string]any{"requests": rows})
	if err != nil {
		return err
	}
	made, err := p.call(ctx, http.MethodPost, "/v1/messages/batches", body)
	if err != nil {
		return err
	}
	path := "/v1/messages/batches/" + gjson.GetBytes(made, "id").Str
	for state := ""; state != "ended"; {
		if err := p.sleep(ctx, scriptPoll); err != nil {
			return err
		}
		now, err := p.call(ctx, http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		state = gjson.GetBytes(now, "processing_status").Str
	}
	results, err := p.call(ctx, http.MethodGet, path+"/results", nil)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(results))
	lines.Buffer(nil, longestRow)
	for lines.Scan() {
		if gjson.GetBytes(lines.Bytes(), "result.type").Str == "succeeded" {
			got[gjson.GetBytes(lines.Bytes(), "custom_id").Str]++
		}
	}
	return lines.Err()
}

// client is that of scripts: as many connections as a semaphore has slots.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: semaphoreSlots}, Timeout: 10 * time.Minute}

// call is one call that must succeed.
func (p *provider) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := request(method, p.url+path, emulator.Key("high"), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, answer)
	}
	return answer, err
}
