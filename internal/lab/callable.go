package lab

import (
	"context"
	"fmt"

	"github.com/flotilla-llm/flotilla/price"
)

// callable sends one call of one token to every org and model.
type callable struct{}

// Callable is the experiment "callable".
func Callable() Experiment { return callable{} }

func (callable) Name() string { return "callable" }
func (callable) Question() string {
	return "Which models can each org really call, and with what error otherwise?"
}
func (callable) Speed() float64 { return 10 }

func (callable) Hypothesis(*Env) Hypothesis {
	return Hypothesis{Text: "Every org can call every model that is not retired or limited to chosen orgs.", Binding: "none"}
}

// models are those of the table that have a price and are not said to be
// retired; who is really gone, the answers say.
func (callable) models(e *Env) []price.Model {
	var out []price.Model
	for _, m := range e.table().Models() {
		if m.Status != price.Retired && m.Priced() {
			out = append(out, m)
		}
	}
	return out
}

func (x callable) Estimate(e *Env) Estimate {
	var est Estimate
	for _, o := range e.Syncing() {
		for _, m := range x.models(e) {
			est.Lines = append(est.Lines, Planned{Org: o.Name, Model: m.ID, Tier: Sync, Calls: 1, In: int64(one.In), Out: 1})
		}
	}
	return est
}

func (x callable) Run(ctx context.Context, b *Bench) (*Result, error) {
	r := &Result{Config: map[string]any{"shape": one}}
	models := x.models(b.env)
	_, err := Step(b, "calls", func() (nothing, error) {
		return nothing{}, together(b.env.Syncing(), func(o *Org) error {
			for _, m := range models {
				if _, err := b.Insist(ctx, Shot{Org: o.Name, Model: m.ID, Shape: one}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return r, err
	}
	last := map[string]Record{} // of several tries the last
	for _, rec := range b.Records("calls") {
		last[rec.Org+" "+rec.Model] = rec
	}
	yes := 0
	for _, o := range b.env.Syncing() {
		for _, m := range models {
			rec := last[o.Name+" "+m.ID]
			metric := Metric{Name: "callable", Org: o.Name, Pool: m.Pool, Model: m.ID, Unit: "yes", N: 1, Note: rec.Err}
			if rec.OK() {
				metric.Value, metric.Low, metric.High = 1, 1, 1
				yes++
			}
			r.Metrics = append(r.Metrics, metric)
		}
	}
	r.Verdict = fmt.Sprintf("%d of %d pairs of org and model answer", yes, len(r.Metrics))
	r.Confidence = 1
	return r, nil
}
