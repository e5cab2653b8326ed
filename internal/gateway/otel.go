package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Spans tells of each request by a span of OpenTelemetry's conventions for
// generative AI: which model, how many tokens, which error. Never what was
// asked or answered. It is a Tracer.
type Spans struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	server   []attribute.KeyValue // the provider behind us
}

// NewSpans sends spans to an endpoint by OTLP over HTTP ("http://host:4318");
// empty: to that of the environment (OTEL_EXPORTER_OTLP_ENDPOINT). upstream is
// the base URL that calls go to.
func NewSpans(ctx context.Context, endpoint, upstream, version string) (*Spans, error) {
	var opt []otlptracehttp.Option
	if endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("%q is no URL of an OTLP endpoint such as http://localhost:4318", endpoint)
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces" // as OTEL_EXPORTER_OTLP_ENDPOINT is read
		}
		opt = append(opt, otlptracehttp.WithEndpointURL(u.String()))
	}
	exporter, err := otlptracehttp.New(ctx, opt...)
	if err != nil {
		return nil, fmt.Errorf("opening the export of spans: %w", err)
	}
	return spansTo(sdktrace.WithBatcher(exporter), upstream, version), nil
}

// spansTo makes Spans that go anywhere.
func spansTo(to sdktrace.TracerProviderOption, upstream, version string) *Spans {
	about := resource.NewSchemaless(attribute.String("service.name", "flotilla"), attribute.String("service.version", version))
	p := sdktrace.NewTracerProvider(to, sdktrace.WithResource(about))
	s := &Spans{provider: p, tracer: p.Tracer("github.com/flotilla-llm/flotilla", trace.WithInstrumentationVersion(version))}
	if u, err := url.Parse(upstream); err == nil {
		s.server = append(s.server, attribute.String("server.address", u.Hostname()))
		if port, err := strconv.Atoi(u.Port()); err == nil {
			s.server = append(s.server, attribute.Int("server.port", port))
		}
	}
	return s
}

// Close sends what is left.
func (s *Spans) Close(ctx context.Context) error { return s.provider.Shutdown(ctx) }

// traceContext continues the trace of a caller that has one (traceparent).
var traceContext = propagation.TraceContext{}

// Begin is part of Tracer.
func (s *Spans) Begin(r *http.Request) (context.Context, func(*Record)) {
	ctx := traceContext.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	kind := trace.SpanKindServer
	if r.URL.Path == "/v1/messages" {
		kind = trace.SpanKindClient // what the conventions want of a call to a model
	}
	ctx, span := s.tracer.Start(ctx, "request", trace.WithSpanKind(kind))
	return ctx, func(rec *Record) {
		s.fill(span, rec)
		span.End()
	}
}

// fill writes a record into its span.
func (s *Spans) fill(span trace.Span, rec *Record) {
	if !span.IsRecording() {
		return
	}
	if rec.Route == "messages" && rec.Model != "" {
		span.SetName("chat " + rec.Model)
		span.SetAttributes(s.server...)
		span.SetAttributes(chatAttributes(rec)...)
	} else {
		span.SetName(rec.Method + " " + rec.Route)
	}
	span.SetAttributes(
		attribute.String("flotilla.client", rec.Client),
		attribute.Int("http.response.status_code", rec.Status),
	)
	if rec.Kind != "" {
		span.SetAttributes(attribute.String("error.type", rec.Kind))
		span.SetStatus(codes.Error, rec.Kind)
	}
}

// chatAttributes are those of a call (OpenTelemetry semantic conventions,
// generative AI, "Inference").
func chatAttributes(rec *Record) []attribute.KeyValue {
	all := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "anthropic"),
		attribute.String("gen_ai.request.model", rec.Model),
		attribute.String("flotilla.priority", rec.Priority.String()),
		attribute.Int64("flotilla.queue_ms", rec.Queued.Milliseconds()),
		attribute.Int("flotilla.attempts", rec.Attempts),
		attribute.Bool("flotilla.cached", rec.Cached),
	}
	if rec.Org != "" {
		all = append(all, attribute.String("flotilla.org", rec.Org))
	}
	if rec.Answering != "" {
		all = append(all, attribute.String("gen_ai.response.model", rec.Answering))
	}
	if rec.Stop != "" {
		all = append(all, attribute.StringSlice("gen_ai.response.finish_reasons", []string{rec.Stop}))
	}
	if u := &rec.Usage; u.Prompt() > 0 || u.Output > 0 {
		all = append(all,
			attribute.Int64("gen_ai.usage.input_tokens", u.Prompt()),
			attribute.Int64("gen_ai.usage.output_tokens", u.Output),
			attribute.Int64("gen_ai.usage.cache_read.input_tokens", u.CacheRead),
			attribute.Int64("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite5m+u.CacheWrite1h),
		)
	}
	return all
}
