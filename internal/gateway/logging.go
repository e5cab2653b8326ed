package gateway

import (
	"context"
	"log/slog"

	"github.com/flotilla-llm/flotilla/price"
)

// logged writes a request's line: refusals and failures where people look,
// everything else only where they look closely. What stands in a line is named
// here one by one; bodies, keys and headers are not.
func (s *shell) logged(rec *Record) {
	level := slog.LevelDebug
	ours := rec.Status >= 500 && rec.Status != statusOverloaded || rec.Status == 0 && rec.Kind != kindCanceled
	switch {
	case ours:
		level = slog.LevelWarn
	case rec.Status >= 400:
		level = slog.LevelInfo
	}
	ctx := context.Background()
	if !s.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 16)
	add := func(a slog.Attr) { attrs = append(attrs, a) }
	add(slog.String("client", rec.Client))
	add(slog.String("method", rec.Method))
	add(slog.String("route", rec.Route))
	add(slog.Int("status", rec.Status))
	if rec.Kind != "" {
		add(slog.String("error", rec.Kind))
	}
	if rec.Model != "" {
		add(slog.String("model", rec.Model))
	}
	if rec.Org != "" {
		add(slog.String("org", rec.Org))
		add(slog.Int("attempts", rec.Attempts))
		add(slog.Duration("queued", rec.Queued))
	}
	add(slog.Duration("took", rec.Took))
	if rec.Cost > 0 {
		add(slog.Float64("usd", float64(rec.Cost)/float64(price.Dollar)))
	}
	if rec.Cached {
		add(slog.Bool("cached", true))
	}
	// What a caller did wrong may quote what it sent: its words are the caller's.
	if rec.Cause != nil && (ours || rec.Status < 400) {
		add(slog.String("cause", rec.Cause.Error()))
	}
	s.log.LogAttrs(ctx, level, "request", attrs...)
}
