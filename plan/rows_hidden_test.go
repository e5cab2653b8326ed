package plan

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// hiddenRows are rows 8 to 14 and 27: limits that headers do not tell, or tell
// wrongly.
func hiddenRows() []row {
	return []row{
		{
			n: 8, name: "hidden bucket of one second of requests",
			checks: []check{most("late 429 a minute", 2), least("eff", .95), most("lost", 0)},
			run:    solo{scenario: org1(func(o *emulator.Org) { o.Hidden = time.Second }), work: rpmWork}.figures(latePerMinute, physicalEff, lostCalls),
		},
		{
			n: 9, name: "additive acceleration, numbers in the text",
			checks: []check{most("429", 5), most("late 429", 0), least("eff, ceiling known", .97), most("lost", 0)},
			run:    solo{scenario: org1(func(o *emulator.Org) { o.Acceleration.Kind = "additive" }), work: rpmWork}.figures(refusals, lateRefusals, physicalEff, lostCalls),
		},
		{
			n: 10, name: "ratio acceleration, silent",
			checks: []check{most("429", 10), most("late 429", 0), least("eff", .93), most("lost", 0)},
			run:    solo{scenario: org1(func(o *emulator.Org) { o.Acceleration.Kind = "ratio" }), work: itpmWork}.figures(refusals, lateRefusals, physicalEff, lostCalls),
		},
		lyingRow(),
		{
			n: 12, name: "headers always full, real limit 0.6",
			checks: []check{most("429 a minute", 2), least("eff", .97), most("lost", 0)},
			run: solo{scenario: org1(func(o *emulator.Org) {
				o.Headers.Constant, o.Headers.Factor = true, 1/0.6
				o.Limits = emulator.Limits{Requests: 600, Input: 1_200_000, Output: 240_000}
			}), work: rpmWork}.figures(perMinute, physicalEff, lostCalls),
		},
		{
			n: 13, name: "no limit headers at all",
			checks: []check{most("429 a minute", 5), least("eff", .95), most("lost", 0)},
			run:    solo{scenario: org1(func(o *emulator.Org) { o.Headers.Missing = true }), work: rpmWork}.figures(perMinute, physicalEff, lostCalls),
		},
		{
			n: 14, name: "not streamed, 30 % of headers dropped, 6 s a call",
			checks: []check{most("429", 0), least("effP", .88), most("lost", 0)},
			run: solo{
				scenario: org1(func(o *emulator.Org) { o.Headers.Drop = 0.3 }), work: work{n: 10_000, in: 500, out: 400},
				change: []func(*Setting){func(s *Setting) { s.Streamed = false }},
			}.figures(refusals, politeEff, lostCalls),
		},
		{
			n: 27, name: "max_tokens reserved from the output limit",
			checks: []check{most("429", 5), most("lost", 0)},
			run: solo{
				scenario: org1(func(o *emulator.Org) { o.ReserveOutput = true }), work: otpmWork, cap: 200,
			}.figures(refusals, lostCalls),
		},
	}
}

// lyingRow is row 11: shown limits and remainders are 1.67 times the real ones.
func lyingRow() row {
	s := solo{scenario: org1(func(o *emulator.Org) {
		o.Headers.Factor = 1.67
		o.Limits = emulator.Limits{Requests: 600, Input: 1_200_000, Output: 240_000}
	}), work: rpmWork}
	return row{
		n: 11, name: "headers 1.67 times too high",
		checks:  []check{most("429", 0), least("eff", .97), most("lost", 0)},
		run:     s.figures(refusals, physicalEff, lostCalls),
		compare: s.rivals,
	}
}

func org1(change func(*emulator.Org)) func() emulator.Scenario {
	return func() emulator.Scenario { return world(one(startTier, change)) }
}

// figure is one number of a run.
type figure func(o *Outcome, b *bounds) float64

func (s solo) figures(fs ...figure) func(t *testing.T, seed uint64) []float64 {
	return func(_ *testing.T, seed uint64) []float64 {
		o, b := s.play(seed)
		out := make([]float64, len(fs))
		for i, f := range fs {
			out[i] = f(o, &b)
		}
		return out
	}
}

func refusals(o *Outcome, _ *bounds) float64     { return float64(o.RateLimited()) }
func lateRefusals(o *Outcome, _ *bounds) float64 { return float64(o.LateRateLimited()) }
func physicalEff(o *Outcome, b *bounds) float64  { return b.eff(o) }
func politeEff(o *Outcome, b *bounds) float64    { return b.effP(o, polite) }
func lostCalls(o *Outcome, _ *bounds) float64    { return lost(o) }

func perMinute(o *Outcome, _ *bounds) float64 {
	return float64(o.RateLimited()) / o.Makespan().Minutes()
}

func latePerMinute(o *Outcome, _ *bounds) float64 {
	return float64(o.LateRateLimited()) / (o.Makespan() - late).Minutes()
}
