package main

import (
	"context"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/gateway"
)

// watch lets the metrics look at what was opened.
func (v *server) watch() {
	w := gateway.Watched{Snapshot: v.fleet.Snapshot, Spent: v.budgets.Spent}
	if v.pot != nil {
		w.Pot = v.pot
	}
	v.metrics.Watch(w)
}

// observed is told of every attempt that has ended.
func (v *server) observed(o flotilla.Observation) {
	v.tally.observe(o)
	v.metrics.Observe(o)
}

// told is told of every request that is over.
func (v *server) told(r *gateway.Record) {
	v.tally.told(r)
	v.metrics.Told(r)
}

// openSpans opens the export of spans where one is asked for.
func (v *server) openSpans(ctx context.Context) (err error) {
	if v.flags.otel == "" && v.settings.Env.real["OTEL_EXPORTER_OTLP_ENDPOINT"] == "" && v.settings.Env.real["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == "" {
		return nil
	}
	v.spans, err = gateway.NewSpans(ctx, v.flags.otel, v.settings.BaseURL, buildVersion().Version)
	return withHint(err, "--otel-endpoint http://localhost:4318")
}

func (v *server) closeSpans() {
	if v.spans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	if err := v.spans.Close(ctx); err != nil {
		v.log.Warn("the last spans were not taken", "cause", err)
	}
}
