package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// read takes a stream to its end: its events, and the message they make.
func read(ctx context.Context, p params, opts ...option.RequestOption) (events []any, m anthropic.Message, err error) {
	c := client()
	stream := c.Messages.NewStreaming(ctx, p, opts...)
	defer stream.Close()
	for stream.Next() {
		e := stream.Current()
		events = append(events, json.RawMessage(e.RawJSON()))
		if err := m.Accumulate(e); err != nil {
			return nil, m, err
		}
	}
	return events, m, stream.Err()
}

// streamed asks once by a stream, and looks at the message.
func streamed(p params, look func(m *anthropic.Message) error) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		events, m, err := read(ctx, p)
		if err != nil {
			return nil, err
		}
		if look != nil {
			err = look(&m)
		}
		return events, err
	}
}

var streams = []check{
	{"stream_events", streamed(say("stream_events"), func(m *anthropic.Message) error {
		return eq("end", []any{m.StopReason, m.Usage.OutputTokens > 0}, []any{anthropic.StopReasonEndTurn, true})
	})},
	{"stream_raw_bytes", rawStream},
	{"stream_forced_tool", streamed(say("stream_forced_tool", func(p *params) {
		p.Tools, p.ToolChoice = weather(), anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{}}
	}), func(m *anthropic.Message) error {
		return eq("input", []any{m.StopReason, string(m.Content[0].Input)}, []any{anthropic.StopReasonToolUse, `{"city":"sample","days":2}`})
	})},
	{"stream_stop_sequence", streamed(say("count to four, streamed", func(p *params) { p.StopSequences = []string{"STOP"} }), func(m *anthropic.Message) error {
		return eq("end", []any{m.StopReason, m.StopSequence, textOf(m)}, []any{anthropic.StopReasonStopSequence, "STOP", "one two three "})
	})},
	{"stream_unicode", streamed(say("привет, streamed"), func(m *anthropic.Message) error {
		return eq("text", textOf(m), `Здравствуй, мир — 你好, Grüße 🌍 "quoted" \ back`)
	})},
	{"stream_max_tokens", streamed(say("count to four, streamed", func(p *params) { p.MaxTokens = 3 }), func(m *anthropic.Message) error {
		return eq("end", m.StopReason, anthropic.StopReasonMaxTokens)
	})},
	{"stream_large_answer", streamed(say("stream_large_answer", func(p *params) { p.MaxTokens = 30_000 }), nil)},
	{"stream_headers", func(ctx context.Context) (any, error) {
		var res *http.Response
		events, _, err := read(ctx, say("stream_headers"), option.WithResponseInto(&res))
		if err != nil {
			return nil, err
		}
		return []any{limitHeaders(res.Header), res.Header.Get("request-id"), res.Header.Get("content-type"), len(events)}, nil
	}},
	{"stream_closed_early", closedEarly},
	{"stream_canceled", canceledStream},
	{"streams_at_once", manyStreams},
}

func rawStream(ctx context.Context) (any, error) {
	c := client()
	var res *http.Response
	err := c.Post(ctx, "v1/messages", say("stream_raw_bytes"), &res, option.WithJSONSet("stream", true))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(text), "event: ping\n") {
		return nil, errors.New("no ping")
	}
	return []string{res.Header.Get("content-type"), res.Header.Get("cache-control"), string(text)}, nil
}

func closedEarly(ctx context.Context) (any, error) {
	c := client()
	stream := c.Messages.NewStreaming(ctx, say("stream_closed_early", func(p *params) { p.MaxTokens = 4000 }))
	if !stream.Next() {
		return nil, fmt.Errorf("no event: %w", stream.Err())
	}
	first := stream.Current().Type
	if err := stream.Close(); err != nil {
		return nil, err
	}
	m, err := c.Messages.New(ctx, say("after stream_closed_early"))
	return []any{first, m}, err
}

func canceledStream(ctx context.Context) (any, error) {
	c := client()
	brief, cancel := context.WithCancel(ctx)
	stream := c.Messages.NewStreaming(brief, say("stream_canceled", func(p *params) { p.MaxTokens = 4000 }))
	defer stream.Close()
	if !stream.Next() {
		cancel()
		return nil, fmt.Errorf("no event: %w", stream.Err())
	}
	cancel()
	for stream.Next() { //nolint:revive // to the end
	}
	if err := stream.Err(); !errors.Is(err, context.Canceled) && err != nil {
		return nil, err
	}
	m, err := c.Messages.New(ctx, say("after stream_canceled"))
	return m, err
}

func manyStreams(ctx context.Context) (any, error) {
	texts, errs := make([]string, 30), make([]error, 30)
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() {
			_, m, err := read(ctx, say(fmt.Sprintf("streams_at_once %d", i)))
			texts[i], errs[i] = textOf(&m), err
		})
	}
	wg.Wait()
	return texts, errors.Join(errs...)
}
