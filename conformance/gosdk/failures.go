package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// failing asks what the API refuses.
func failing(p params, opts ...option.RequestOption) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		c := impatient()
		return fails(c.Messages.New(ctx, p, opts...))
	}
}

// succeedsDespite asks while the emulator has a fault, which retries overcome.
func succeedsDespite(fault, text string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		return withFault(fault, func() (any, error) {
			c := client()
			m, err := c.Messages.New(ctx, say(text))
			if err != nil {
				return nil, err
			}
			return m.StopReason, nil
		})
	}
}

var failures = []check{
	{"error_without_max_tokens", failing(say("x"), option.WithJSONDel("max_tokens"))},
	{"error_no_messages", failing(say("x", func(p *params) { p.Messages = []anthropic.MessageParam{} }))},
	{"error_role", failing(say("x", func(p *params) { p.Messages[0].OfUser.Role = "robot" }))},
	{"error_unknown_field", failing(say("x"), option.WithJSONSet("no_such_field", 1))},
	{"error_temperature", failing(say("x"), option.WithJSONSet("temperature", 0.5))},
	{"error_prompt_too_long", failing(say(strings.Repeat("word ", 250_000)))},
	{"error_unknown_model", failing(say("x", func(p *params) { p.Model = "claude-none-9" }))},
	{"error_retired_model", failing(say("x", func(p *params) { p.Model = "claude-3-opus-20240229" }))},
	{"error_no_permission", failing(say("x", func(p *params) { p.Model = "claude-mythos-5-2" }))},
	{"error_body_too_large", func(ctx context.Context) (any, error) {
		e, err := failing(say(strings.Repeat("x", 33<<20)))(ctx)
		if m, ok := e.(map[string]any); ok {
			delete(m, "envelope") // the provider's comes from before the API, without type and id
			delete(m, "request_id")
		}
		return e, err
	}},
	{"error_version", failing(say("x"), option.WithHeader("anthropic-version", "2020-01-01"))},
	{"error_wrong_key", failing(say("x"), option.WithAPIKey("sk-ant-emulated-nobody"))},
	{"error_in_a_stream_request", func(ctx context.Context) (any, error) {
		c := impatient()
		stream := c.Messages.NewStreaming(ctx, say("x", func(p *params) { p.Model = "claude-none-9" }))
		defer stream.Close()
		return fails(stream.Next(), stream.Err())
	}},
	{"error_of_count_tokens", func(ctx context.Context) (any, error) {
		c := impatient()
		return fails(c.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: "claude-none-9", Messages: say("x").Messages}))
	}},
	{"error_unknown_model_id", func(ctx context.Context) (any, error) {
		c := impatient()
		return fails(c.Models.Get(ctx, "claude-none-9", anthropic.ModelGetParams{}))
	}},
	{"error_unknown_path", func(ctx context.Context) (any, error) {
		c := impatient()
		e, err := fails("", c.Get(ctx, "v1/nothing", nil, nil))
		if m, ok := e.(map[string]any); ok {
			delete(m, "message") // names the path in words of its own
		}
		return e, err
	}},
	{"retried_after_529", succeedsDespite(`{"kind":"status","path":"/v1/messages","status":529,"count":1}`, "retried_after_529")},
	{"retried_after_500", succeedsDespite(`{"kind":"status","path":"/v1/messages","status":500,"count":1}`, "retried_after_500")},
	{"retried_after_429", succeedsDespite(`{"kind":"status","path":"/v1/messages","status":429,"headers":{"retry-after":"1"},"count":1}`, "retried_after_429")},
	{"retried_after_a_lost_connection", succeedsDespite(`{"kind":"drop_before","path":"/v1/messages","count":1}`, "retried_after_a_lost_connection")},
	{"stream_retried_after_529", func(ctx context.Context) (any, error) {
		return withFault(`{"kind":"status","path":"/v1/messages","status":529,"count":1}`, func() (any, error) {
			events, _, err := read(ctx, say("stream_retried_after_529"))
			return events, err
		})
	}},
	{"client_timeout", func(ctx context.Context) (any, error) {
		return withFault(`{"kind":"delay","path":"/v1/messages","delay_ms":3000,"count":1}`, func() (any, error) {
			c := impatient(option.WithRequestTimeout(500 * time.Millisecond))
			_, err := c.Messages.New(ctx, say("client_timeout"))
			if !errors.Is(err, context.DeadlineExceeded) {
				return nil, fmt.Errorf("no timeout: %w", err)
			}
			return "timeout", nil
		})
	}},
	{"call_canceled", func(ctx context.Context) (any, error) {
		_, err := withFault(`{"kind":"delay","path":"/v1/messages","delay_ms":3000,"count":1}`, func() (any, error) {
			brief, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			c := client()
			_, err := c.Messages.New(brief, say("call_canceled"))
			if !errors.Is(err, context.DeadlineExceeded) {
				return nil, fmt.Errorf("not canceled: %w", err)
			}
			return nil, nil
		})
		if err != nil {
			return nil, err
		}
		c := client()
		return c.Messages.New(ctx, say("after call_canceled"))
	}},
	{"error_then_all_is_well", func(ctx context.Context) (any, error) {
		c := impatient()
		if _, err := fails(c.Messages.New(ctx, say("x", func(p *params) { p.Model = "claude-none-9" }))); err != nil {
			return nil, err
		}
		return c.Messages.New(ctx, say("error_then_all_is_well"))
	}},
	// Last, since whoever stands between remembers for a while.
	{"zz_overloaded", func(ctx context.Context) (any, error) {
		return withFault(`{"kind":"status","path":"/v1/messages","status":529}`, func() (any, error) {
			c := impatient()
			e, err := fails(c.Messages.New(ctx, say("zz_overloaded"), option.WithHeader("x-flotilla-max-wait", "1")))
			if m, ok := e.(map[string]any); ok {
				delete(m, "message")
			}
			return e, err
		})
	}},
}
