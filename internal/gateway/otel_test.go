package gateway

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// spanOf is the one span that a request left.
func spanOf(t *testing.T, to *tracetest.InMemoryExporter) (tracetest.SpanStub, map[string]attribute.Value) {
	t.Helper()
	all := to.GetSpans()
	if len(all) != 1 {
		t.Fatalf("%d spans", len(all))
	}
	got := map[string]attribute.Value{}
	for _, a := range all[0].Attributes {
		got[string(a.Key)] = a.Value
	}
	return all[0], got
}

// inTrace runs a test with spans that stay here.
func inTrace(t *testing.T, answer func(http.ResponseWriter, hit), test func(f *front, to *tracetest.InMemoryExporter)) {
	t.Helper()
	to := tracetest.NewInMemoryExporter()
	spans := spansTo(sdktrace.WithSyncer(to), "https://api.anthropic.com", "1.2.3")
	set := func(g *Config, c *ShellConfig) {
		keyed(g, c)
		c.Tracer = spans
	}
	inFront(t, answer, set, func(f *front) { test(f, to) })
	if err := spans.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestSpanOfACall(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	inTrace(t, good, func(f *front, to *tracetest.InMemoryExporter) {
		f.post(askFor("a secret prompt", ""), "X-Api-Key", aliceKey, "Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		span, got := spanOf(t, to)
		if span.Name != "chat claude-haiku-4-5" || span.SpanContext.TraceID().String() != trace || span.Parent.SpanID().String() != "00f067aa0ba902b7" {
			t.Errorf("%s in %s below %s", span.Name, span.SpanContext.TraceID(), span.Parent.SpanID())
		}
		for key, want := range map[string]string{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-haiku-4-5",
			"gen_ai.usage.input_tokens": "9", "gen_ai.usage.output_tokens": "3", "gen_ai.response.finish_reasons": `["end_turn"]`,
			"server.address": "api.anthropic.com", "flotilla.client": "alice", "flotilla.attempts": "1", "flotilla.priority": "normal",
			"http.response.status_code": "200",
		} {
			if v, ok := got[key]; !ok || v.String() != want {
				t.Errorf("%s is %q, want %q", key, v.String(), want)
			}
		}
		if org := got["flotilla.org"].AsString(); org != "high" && org != "low" {
			t.Errorf("org %q", org)
		}
		for key, v := range got {
			if text := v.String(); strings.Contains(text, "secret") || strings.Contains(text, "flk_") || strings.Contains(text, "Hello") {
				t.Errorf("%s tells %s", key, text)
			}
		}
	})
}

func TestSpanOfARefusal(t *testing.T) {
	inTrace(t, refuses(http.StatusBadRequest, "invalid_request_error", "messages: at least one"), func(f *front, to *tracetest.InMemoryExporter) {
		f.post(askFor("hello", ""), "X-Api-Key", aliceKey)
		_, got := spanOf(t, to)
		if got["error.type"].AsString() != "invalid_request_error" || got["http.response.status_code"].AsInt64() != 400 {
			t.Errorf("%v", got)
		}
	})
}

func TestEndpointOfSpans(t *testing.T) {
	for _, bad := range []string{"localhost:4318", "ftp://x", "http://", "::"} {
		if _, err := NewSpans(context.Background(), bad, "https://api.anthropic.com", ""); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
