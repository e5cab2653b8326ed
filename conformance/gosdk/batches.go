package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

type rowParam = anthropic.MessageBatchNewParamsRequest

func row(id, text string, change ...func(*anthropic.MessageBatchNewParamsRequestParams)) rowParam {
	p := anthropic.MessageBatchNewParamsRequestParams{
		Model: model, MaxTokens: 200,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
	for _, f := range change {
		f(&p)
	}
	return rowParam{CustomID: id, Params: p}
}

func manyRows(n int, id, text string) (rows []rowParam) {
	for i := range n {
		rows = append(rows, row(fmt.Sprint(id, i), fmt.Sprint(text, i)))
	}
	return rows
}

type rowParams = anthropic.MessageBatchNewParamsRequestParams

// rowsOf are those of the batches that several checks look at.
func rowsOf(name string) []rowParam {
	switch name {
	case "small":
		return manyRows(5, "row-", "batch small ")
	case "canceled":
		return manyRows(400, "c-", "batch canceled ")
	case "large":
		return manyRows(300, "l-", "batch large ")
	case "deleted":
		return manyRows(1, "d-", "batch deleted ")
	}
	return []rowParam{
		row("good", "batch faulty"),
		row("no-model", "x", func(p *rowParams) { p.Model = "claude-none-9" }),
		row("no-messages", "x", func(p *rowParams) { p.Messages = nil }),
		row("no-tokens", "x", func(p *rowParams) { p.MaxTokens = 0 }),
		row("streamed", "x", func(p *rowParams) { p.Stream = anthropic.Bool(true) }),
		row("tool", "batch tool", func(p *rowParams) {
			p.Tools, p.ToolChoice = weather(), anthropic.ToolChoiceParamOfTool("weather")
		}),
		row("unicode", "привет, batch"),
	}
}

// kept are the batches that were created, once each.
var kept = struct {
	sync.Mutex
	begun   map[string]*anthropic.MessageBatch
	results map[string]map[string]json.RawMessage
}{begun: map[string]*anthropic.MessageBatch{}, results: map[string]map[string]json.RawMessage{}}

func begun(ctx context.Context, name string) (*anthropic.MessageBatch, error) {
	kept.Lock()
	defer kept.Unlock()
	if b := kept.begun[name]; b != nil {
		return b, nil
	}
	c := client()
	b, err := c.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{Requests: rowsOf(name)})
	if err == nil {
		kept.begun[name] = b
	}
	return b, err
}

func ended(ctx context.Context, name string) (*anthropic.MessageBatch, error) {
	b, err := begun(ctx, name)
	if err != nil {
		return nil, err
	}
	c := client()
	for {
		b, err := c.Messages.Batches.Get(ctx, b.ID, anthropic.MessageBatchGetParams{})
		if err != nil || b.ProcessingStatus == anthropic.MessageBatchProcessingStatusEnded {
			return b, err
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return nil, fmt.Errorf("batch %s does not end: %w", name, err)
		}
	}
}

func results(ctx context.Context, name string) (map[string]json.RawMessage, error) {
	b, err := ended(ctx, name)
	if err != nil {
		return nil, err
	}
	c := client()
	got := map[string]json.RawMessage{}
	stream := c.Messages.Batches.ResultsStreaming(ctx, b.ID, anthropic.MessageBatchResultsParams{})
	defer stream.Close()
	for stream.Next() {
		r := stream.Current()
		got[r.CustomID] = json.RawMessage(r.Result.RawJSON())
	}
	return got, stream.Err()
}

var batches = []check{
	{"batch_create", func(ctx context.Context) (any, error) {
		for _, name := range []string{"large", "canceled", "deleted", "faulty"} {
			if _, err := begun(ctx, name); err != nil {
				return nil, err
			}
		}
		b, err := begun(ctx, "small")
		if err != nil {
			return nil, err
		}
		return b, eq("batch", []any{b.ProcessingStatus, b.ResultsURL, b.RequestCounts.Processing, b.ExpiresAt.Sub(b.CreatedAt)},
			[]any{anthropic.MessageBatchProcessingStatusInProgress, "", int64(5), 24 * time.Hour})
	}},
	{"batch_delete_in_progress", func(ctx context.Context) (any, error) {
		b, err := begun(ctx, "large")
		if err != nil {
			return nil, err
		}
		c := impatient()
		return fails(c.Messages.Batches.Delete(ctx, b.ID, anthropic.MessageBatchDeleteParams{}))
	}},
	{"batch_results_before_the_end", func(ctx context.Context) (any, error) {
		b, err := begun(ctx, "large")
		if err != nil {
			return nil, err
		}
		c := impatient()
		stream := c.Messages.Batches.ResultsStreaming(ctx, b.ID, anthropic.MessageBatchResultsParams{})
		defer stream.Close()
		return fails(stream.Next(), stream.Err())
	}},
	{"batch_cancel", func(ctx context.Context) (any, error) {
		b, err := begun(ctx, "canceled")
		if err != nil {
			return nil, err
		}
		c := client()
		b, err = c.Messages.Batches.Cancel(ctx, b.ID, anthropic.MessageBatchCancelParams{})
		if err != nil {
			return nil, err
		}
		return b, eq("status", b.ProcessingStatus, anthropic.MessageBatchProcessingStatusCanceling)
	}},
	{"batch_pagination", batchPages},
	{"batch_ends", func(ctx context.Context) (any, error) { return ended(ctx, "small") }},
	{"batch_results", func(ctx context.Context) (any, error) { return results(ctx, "small") }},
	{"batch_results_again", func(ctx context.Context) (any, error) { return results(ctx, "small") }},
	{"batch_row_errors", func(ctx context.Context) (any, error) {
		b, err := ended(ctx, "faulty")
		if err != nil {
			return nil, err
		}
		got, err := results(ctx, "faulty")
		return []any{b.RequestCounts, got}, errors.Join(err, eq("errored", b.RequestCounts.Errored, int64(4)))
	}},
	{"batch_of_hundreds", func(ctx context.Context) (any, error) { return results(ctx, "large") }},
	{"batch_canceled", func(ctx context.Context) (any, error) {
		b, err := ended(ctx, "canceled")
		if err != nil {
			return nil, err
		}
		got, err := results(ctx, "canceled")
		return len(got), errors.Join(err, eq("rows", b.RequestCounts.Canceled+b.RequestCounts.Succeeded, int64(400)))
	}},
	{"batch_results_raw", rawResults},
	{"batch_delete", deleteBatch},
	{"batch_unknown", func(ctx context.Context) (any, error) {
		c, nobody := impatient(), "msgbatch_01NOBODY"
		return all(
			func() (any, error) {
				return fails(c.Messages.Batches.Get(ctx, nobody, anthropic.MessageBatchGetParams{}))
			},
			func() (any, error) {
				return fails(c.Messages.Batches.Cancel(ctx, nobody, anthropic.MessageBatchCancelParams{}))
			},
			func() (any, error) {
				return fails(c.Messages.Batches.Delete(ctx, nobody, anthropic.MessageBatchDeleteParams{}))
			},
			func() (any, error) {
				stream := c.Messages.Batches.ResultsStreaming(ctx, nobody, anthropic.MessageBatchResultsParams{})
				defer stream.Close()
				return fails(stream.Next(), stream.Err())
			},
		)
	}},
	{"batch_of_nothing", refused()},
	{"batch_duplicate_id", refused(row("a", "x"), row("b", "x"), row("a", "y"))},
	{"batch_bad_id", refused(row("a b", "x"))},
	{"batch_list_bad_limit", func(ctx context.Context) (any, error) {
		c := impatient()
		return fails(c.Messages.Batches.List(ctx, anthropic.MessageBatchListParams{Limit: anthropic.Int(0)}))
	}},
}

func refused(rows ...rowParam) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		c := impatient()
		if rows == nil {
			rows = []rowParam{}
		}
		return fails(c.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{Requests: rows}))
	}
}

func batchPages(ctx context.Context) (any, error) {
	c := client()
	var ids []string
	pages := c.Messages.Batches.ListAutoPaging(ctx, anthropic.MessageBatchListParams{Limit: anthropic.Int(2)})
	for pages.Next() {
		ids = append(ids, pages.Current().ID)
	}
	if err := pages.Err(); err != nil {
		return nil, err
	}
	var ours, seen []string
	for _, name := range []string{"small", "faulty", "deleted", "canceled", "large"} {
		b, err := begun(ctx, name)
		if err != nil {
			return nil, err
		}
		ours = append(ours, b.ID)
	}
	for _, id := range ids {
		if slices.Contains(ours, id) {
			seen = append(seen, id)
		}
	}
	return len(seen), eq("newest first, none twice", seen, ours)
}

func rawResults(ctx context.Context) (any, error) {
	b, err := ended(ctx, "small")
	if err != nil {
		return nil, err
	}
	c := client()
	var res *http.Response
	if err := c.Get(ctx, "v1/messages/batches/"+b.ID+"/results", nil, &res, option.WithHeader("Accept", "application/x-jsonl")); err != nil {
		return nil, err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	got := []any{res.Header.Get("content-type")}
	for lines.Scan() {
		var l map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, err
		}
		got = append(got, slices.Sorted(maps.Keys(l)))
	}
	return got, lines.Err()
}

func deleteBatch(ctx context.Context) (any, error) {
	b, err := ended(ctx, "deleted")
	if err != nil {
		return nil, err
	}
	c := impatient()
	return all(
		func() (any, error) {
			return c.Messages.Batches.Delete(ctx, b.ID, anthropic.MessageBatchDeleteParams{})
		},
		func() (any, error) {
			return fails(c.Messages.Batches.Get(ctx, b.ID, anthropic.MessageBatchGetParams{}))
		},
		func() (any, error) {
			return fails(c.Messages.Batches.Delete(ctx, b.ID, anthropic.MessageBatchDeleteParams{}))
		},
	)
}
