package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func weather() []anthropic.ToolUnionParam {
	return []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: "weather",
		InputSchema: anthropic.ToolInputSchemaParam{
			Properties: map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer", "minimum": 2}},
			Required:   []string{"city", "days"},
		},
	}}}
}

type params = anthropic.MessageNewParams

// told asks once, and looks at the answer.
func told(p params, look func(m *anthropic.Message) error, opts ...option.RequestOption) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		c := client()
		m, err := c.Messages.New(ctx, p, opts...)
		if err != nil {
			return nil, err
		}
		if look != nil {
			err = look(m)
		}
		return m, err
	}
}

var messages = []check{
	{"create", told(say("hello"), func(m *anthropic.Message) error {
		return eq("answer", []any{m.StopReason, m.Usage.OutputTokens > 0}, []any{anthropic.StopReasonEndTurn, true})
	})},
	{"create_with_system", told(say("create_with_system", func(p *params) {
		p.System = []anthropic.TextBlockParam{{Text: "Be brief."}, {Text: "And kind."}}
	}), nil)},
	{"create_multi_turn", func(ctx context.Context) (any, error) {
		p := say("create_multi_turn")
		p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock("Yes?")),
			anthropic.NewUserMessage(anthropic.NewTextBlock("Go"), anthropic.NewTextBlock("on.")))
		return told(p, nil)(ctx)
	}},
	{"create_stop_sequence", told(say("count to four", func(p *params) { p.StopSequences = []string{"five", "STOP"} }), func(m *anthropic.Message) error {
		return eq("end", []any{m.StopReason, m.StopSequence, textOf(m)}, []any{anthropic.StopReasonStopSequence, "STOP", "one two three "})
	})},
	{"create_max_tokens", told(say("count to four", func(p *params) { p.MaxTokens = 3 }), func(m *anthropic.Message) error {
		return eq("end", m.StopReason, anthropic.StopReasonMaxTokens)
	})},
	{"create_forced_tool", told(say("create_forced_tool", func(p *params) {
		p.Tools, p.ToolChoice = weather(), anthropic.ToolChoiceParamOfTool("weather")
	}), func(m *anthropic.Message) error {
		return eq("input", string(m.Content[0].Input), `{"city":"sample","days":2}`)
	})},
	{"create_tool_conversation", toolConversation},
	{"create_with_metadata", told(say("create_with_metadata", func(p *params) {
		p.Metadata = anthropic.MetadataParam{UserID: anthropic.String("u-1")}
		p.ServiceTier = anthropic.MessageNewParamsServiceTierStandardOnly
	}), nil)},
	{"create_unicode", told(say("привет 👋 \u2028 \x00 ünï <&>"), func(m *anthropic.Message) error {
		return eq("text", textOf(m), `Здравствуй, мир — 你好, Grüße 🌍 "quoted" \ back`)
	})},
	{"create_big_body", told(say("create_big_body "+strings.Repeat("word ", 600_000), func(p *params) { p.Model = "claude-sonnet-4-6" }), nil)},
	{"create_with_image", told(ask([]anthropic.ContentBlockParamUnion{anthropic.NewImageBlockBase64("image/png", pixel), anthropic.NewTextBlock("create_with_image")}), nil)},
	{"create_with_thinking", told(say("create_with_thinking", func(p *params) {
		p.Model, p.Thinking = "claude-sonnet-4-6", anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{}}
	}), nil)},
	{"create_refused", told(say("refuse this, create_refused"), func(m *anthropic.Message) error {
		return eq("end", m.StopReason, anthropic.StopReasonRefusal)
	})},
	{"create_old_version", told(say("create_old_version"), nil, option.WithHeader("anthropic-version", "2023-06-01"), option.WithJSONSet("temperature", 0.5))},
	{"create_extra_headers_and_query", told(say("extra"), nil, option.WithHeader("x-my-header", "a"), option.WithQuery("trace", "1"))},
	{"create_beta_header", told(say("create_beta_header"), nil, option.WithHeaderAdd("anthropic-beta", "some-beta-2026-01-01"), option.WithHeaderAdd("anthropic-beta", "other-2026-02-02"), option.WithJSONSet("new_field", 1))},
	{"create_beta", func(ctx context.Context) (any, error) {
		c := client()
		return c.Beta.Messages.New(ctx, anthropic.BetaMessageNewParams{
			Model: model, MaxTokens: 200, Betas: []anthropic.AnthropicBeta{"some-beta-2026-01-01"},
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("create_beta"))},
		})
	}},
	{"create_by_bearer_token", func(ctx context.Context) (any, error) {
		c := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(baseURL), option.WithAuthToken(key))
		return c.Messages.New(ctx, say("create_by_bearer_token"))
	}},
	{"cache_written_and_read", cacheRead},
	{"equal_bodies_get_answers_of_their_own", equalBodies},
	{"raw_response_headers", responseHeaders},
	{"concurrent_fifty", concurrentFifty},
	{"one_client_many_calls", manyCalls},
	{"count_tokens", func(ctx context.Context) (any, error) {
		c := client()
		return c.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: model, Messages: say("count_tokens").Messages})
	}},
	{"models_list", func(ctx context.Context) (any, error) {
		c := client()
		page, err := c.Models.List(ctx, anthropic.ModelListParams{Limit: anthropic.Int(50)})
		if err != nil {
			return nil, err
		}
		return json.RawMessage(page.RawJSON()), nil
	}},
	{"models_pagination", modelPages},
	{"models_retrieve", func(ctx context.Context) (any, error) {
		c := client()
		return c.Models.Get(ctx, "claude-sonnet-4-6", anthropic.ModelGetParams{})
	}},
	{"models_retrieve_alias", func(ctx context.Context) (any, error) {
		c := client()
		return c.Models.Get(ctx, "claude-haiku-4-5", anthropic.ModelGetParams{})
	}},
}

func toolConversation(ctx context.Context) (any, error) {
	c := client()
	p := say("weather in Rome", func(p *params) { p.Tools = weather() })
	m, err := c.Messages.New(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := eq("input", string(m.Content[0].Input), `{"city":"Rome","days":3}`); err != nil {
		return nil, err
	}
	p.Messages = append(p.Messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(m.Content[0].ID, "sunny", false)))
	n, err := c.Messages.New(ctx, p)
	return []any{m, n}, err
}

func cacheRead(ctx context.Context) (any, error) {
	c := client()
	p := say("cache_written_and_read", func(p *params) {
		p.System = []anthropic.TextBlockParam{{Text: strings.Repeat("cached prefix ", 3000), CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	})
	first, err := c.Messages.New(ctx, p)
	if err != nil {
		return nil, err
	}
	second, err := c.Messages.New(ctx, p)
	if err != nil {
		return nil, err
	}
	if first.Usage.CacheCreationInputTokens < 4000 {
		return nil, errors.New("nothing was written")
	}
	return []any{first.Usage, second.Usage}, eq("read", second.Usage.CacheReadInputTokens, first.Usage.CacheCreationInputTokens)
}

func equalBodies(ctx context.Context) (any, error) {
	c := client()
	var texts []string
	for range 3 {
		m, err := c.Messages.New(ctx, say("equal_bodies"))
		if err != nil {
			return nil, err
		}
		if slices.Contains(texts, textOf(m)) {
			return nil, errors.New("one answer came twice")
		}
		texts = append(texts, textOf(m))
	}
	return texts, nil
}

// limitHeaders are the names of those there are.
func limitHeaders(h http.Header) (names []string) {
	for name := range h {
		if strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func responseHeaders(ctx context.Context) (any, error) {
	c := client()
	var res *http.Response
	m, err := c.Messages.New(ctx, say("raw_response_headers"), option.WithResponseInto(&res))
	if err != nil {
		return nil, err
	}
	names := limitHeaders(res.Header)
	if len(names) < 9 {
		return nil, fmt.Errorf("limit headers %v", names)
	}
	return map[string]any{
		"limits": names, "request": res.Header.Get("request-id"), "organization": res.Header.Get("anthropic-organization-id"),
		"type": res.Header.Get("content-type"), "message": m,
	}, nil
}

func concurrentFifty(ctx context.Context) (any, error) {
	c := client()
	texts, errs := make([]string, 50), make([]error, 50)
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() {
			m, err := c.Messages.New(ctx, say(fmt.Sprintf("concurrent_fifty %d", i)))
			if errs[i] = err; err == nil {
				texts[i] = textOf(m)
			}
		})
	}
	wg.Wait()
	return texts, errors.Join(errs...)
}

func manyCalls(ctx context.Context) (any, error) {
	c := client()
	var out []int64
	for i := range 20 {
		m, err := c.Messages.New(ctx, say(fmt.Sprintf("one_client %d", i)))
		if err != nil {
			return nil, err
		}
		out = append(out, m.Usage.OutputTokens)
	}
	return out, nil
}

func modelPages(ctx context.Context) (any, error) {
	c := client()
	ids := func(limit int64) (out []string, err error) {
		pages := c.Models.ListAutoPaging(ctx, anthropic.ModelListParams{Limit: anthropic.Int(limit)})
		for pages.Next() {
			out = append(out, pages.Current().ID)
		}
		return out, pages.Err()
	}
	few, err := ids(3)
	if err != nil {
		return nil, err
	}
	whole, err := ids(1000)
	if err != nil {
		return nil, err
	}
	return few, eq("pages", few, whole)
}
