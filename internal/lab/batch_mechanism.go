package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// batchMechanism tells which of depth, size and hour starves batches
// (facts/control.md E.3).
type batchMechanism struct{}

// BatchMechanism is the experiment "batch-mechanism".
func BatchMechanism() Experiment { return batchMechanism{} }

func (batchMechanism) Name() string { return "batch-mechanism" }

func (batchMechanism) Question() string {
	return "Which of queue depth, batch size and hour of the day starves batches?"
}

// Speed lets the two days pass in a minute and a half.
func (batchMechanism) Speed() float64 { return 2000 }

func (batchMechanism) Hypothesis(*Env) Hypothesis {
	return Hypothesis{
		Text: "Batches of thousands of rows stall, and small ones do not, for one of three reasons that look alike from outside: " +
			"too many rows in the org's queue, too many in one batch, or a busy hour. Some effect above a factor of 2.5 is expected; which one is not.",
		Binding: "batch_queue",
	}
}

// beyondRows is the size of the batch that looks past the cells where they show
// neither depth nor size.
const beyondRows = 30_000

func (x batchMechanism) Estimate(e *Env) Estimate {
	orgs := x.orgs(e)
	if len(orgs) == 0 {
		est := e.needBatches(Estimate{}, 1)
		if est.Refused == "" {
			est = e.needRoom(est, e.roomiest(), bigRows+canaryRows)
		}
		return est
	}
	var lots []lot
	most := int64(0)
	for _, c := range cells() {
		for _, r := range c.rounds(orgs) {
			lots = append(lots, r.Lots...)
			most = max(most, sumRows(r.Lots))
		}
	}
	est := e.batchEstimate(lots)
	est.Reserve = e.rowCost(beyondRows + canaryRows)
	est.Takes = days * 24 * time.Hour
	e.reserveNeeded(&est, most)
	if len(orgs) < 3 {
		est.Warnings = append(est.Warnings, "with fewer than three orgs the arms go one after another, within the hour")
	}
	return est
}

// orgs are up to three with room for the largest arm.
func (batchMechanism) orgs(e *Env) []string {
	var names []string
	for _, o := range e.Batching() {
		if e.mayQueue(o) >= bigRows+canaryRows && len(names) < 3 {
			names = append(names, o.Name)
		}
	}
	return names
}

func (x batchMechanism) Run(ctx context.Context, b *Bench) (*Result, error) {
	past, err := Step(b, "past batches", func() ([]pastBatch, error) { return b.pastBatches(ctx) })
	if err != nil {
		return nil, err
	}
	orgs := x.orgs(b.env)
	var shown []cellSeen
	var beside disturbance
	err = eachCell(ctx, b.desk(), orgs, func(r round) (seen, error) {
		s, err := Step(b, r.Name, func() (seen, error) { return carry(ctx, b.desk(), &r) })
		beside.take(&s)
		return s, err
	}, func(c cellSeen) {
		shown = append(shown, c)
		b.env.log(fmt.Sprintf("%s: %d of %d cells", x.Name(), len(shown), days*len(cellHours)))
	})
	if err != nil && (len(shown) == 0 || ctx.Err() != nil) {
		return nil, err
	}
	m := classify(shown)
	r := x.result(b.env, orgs, shown, &m)
	r.addPast(past, &m)
	r.addDisturbance(&beside)
	if err == nil && !m.Depth.there() && !m.Size.there() {
		err = x.beyond(ctx, b, orgs, &m, r)
	}
	return r, err
}

// result states what the cells showed.
func (x batchMechanism) result(e *Env, orgs []string, shown []cellSeen, m *mechanism) *Result {
	model := e.Cheap().ID
	r := &Result{Confidence: m.Confidence, Config: map[string]any{
		"shape": batchShape, "orgs": orgs, "hours_utc": cellHours, "days": days, "looked_at_s": horizon.Seconds(),
		"big": bigRows, "canary": canaryRows, "many": fmt.Sprintf("%d x %d", manyLots, manyRows), "threshold": 2.5,
		"class": m.Class, "fast_hours_utc": m.Fast, "cells": len(shown),
	}}
	for _, f := range []struct {
		name string
		effect
	}{{"depth", m.Depth}, {"size", m.Size}, {"hour", m.Hour}} {
		r.addEffect("batch_effect_"+f.name, model, f.effect, "")
	}
	r.addPace(e, model, shown, m)
	r.Series = cellSeries(model, shown, m)
	if m.Class != "none" {
		for _, org := range orgs {
			r.Binding = append(r.Binding, Bound{
				Org: org, Tier: Batch, Limit: starver(m), Whose: "Anthropic", Signs: m.signs(),
			})
		}
	}
	r.Verdict = m.verdict()
	if n := days * len(cellHours); len(shown) < n {
		r.NotShown = append(r.NotShown, fmt.Sprintf("%d of %d cells", n-len(shown), n))
	}
	if a, b := byDay(shown); a != "" && b != "" && a != b {
		r.NotShown = append(r.NotShown, fmt.Sprintf("the two days do not agree: the first alone shows %s, the second %s", a, b))
	}
	return r
}

// addEffect adds an effect as a factor.
func (r *Result) addEffect(name, model string, f effect, source string) {
	if f.N == 0 {
		return
	}
	r.Metrics = append(r.Metrics, Metric{
		Name: name, Model: model, Value: math.Exp(f.Log), Unit: "x", Low: math.Exp(f.Log - 1.96*f.SE), High: math.Exp(f.Log + 1.96*f.SE),
		N: f.N, Source: source, Provisional: f.N < 2,
	})
}

// addPace adds what an undisturbed batch does on each org.
func (r *Result) addPace(e *Env, model string, shown []cellSeen, m *mechanism) {
	for _, o := range e.Batching() {
		var idle []outcome
		for i := range shown {
			if !slices.Contains(m.Fast, shown[i].Hour) {
				continue
			}
			for _, l := range shown[i].Lots {
				if l.Org == o.Name && l.At == 0 && l.Rows <= canaryRows {
					idle = append(idle, l)
				}
			}
		}
		r.addOrgPace(o.Name, model, idle)
	}
}

// addOrgPace adds the overhead and the rate of undisturbed batches of an org.
func (r *Result) addOrgPace(org, model string, lots []outcome) {
	overhead, n := overheadOf(lots)
	if n > 0 {
		s := overhead.Seconds()
		wide := s * 0.5 * 1.96 / math.Sqrt(float64(n)) // spread of facts/control.md D
		r.Metrics = append(r.Metrics, Metric{Name: "batch_overhead", Org: org, Model: model, Value: s, Unit: "s", Low: max(0, s-wide), High: s + wide, N: n})
	}
	canaries := slices.DeleteFunc(slices.Clone(lots), func(o outcome) bool { return o.Rows < 20 })
	if len(canaries) == 0 {
		return
	}
	var logs []float64
	for i := range canaries {
		logs = append(logs, logRate(canaries[i:i+1], overhead))
	}
	_, sd := meanSD(logs)
	v, half := pooledRate(canaries, overhead), 1.96*max(sd, leastSD)/math.Sqrt(float64(len(logs)))
	r.Metrics = append(r.Metrics, Metric{
		Name: "batch_row_rate", Org: org, Model: model, Value: v, Unit: "rows/s", Low: v * math.Exp(-half), High: v * math.Exp(half), N: len(logs),
	})
}

// addPast adds what earlier batches of the orgs told for nothing.
func (r *Result) addPast(past []pastBatch, m *mechanism) {
	depth, size, hour := pastEvidence(past, m.Overhead)
	for _, f := range []struct {
		name string
		effect
	}{{"depth", depth}, {"size", size}, {"hour", hour}} {
		r.addEffect("past_effect_"+f.name, "", f.effect, "past batches")
	}
	r.Config["past_batches"] = len(past)
	switch {
	case len(past) == 0:
		r.NotShown = append(r.NotShown, "what earlier batches of the orgs tell: there are none")
	case depth.N+size.N+hour.N == 0:
		r.NotShown = append(r.NotShown, fmt.Sprintf("what the %d batches that were there before tell: no two of them differ in one thing alone", len(past)))
	}
}
