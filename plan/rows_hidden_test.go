package plan

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// hiddenRows are rows 8 to 14 and 27: limits that headers do not tell, or tell
// wrongly.
func hiddenRows() []row {
	hidden := solo{scenario: org1(func(o *emulator.Org) { o.Hidden = time.Second }), work: rpmWork}
	additive := solo{scenario: org1(func(o *emulator.Org) { o.Acceleration.Kind = "additive" }), work: rpmWork}
	ratio := solo{scenario: org1(func(o *emulator.Org) { o.Acceleration.Kind = "ratio" }), work: itpmWork}
	lying := solo{scenario: org1(func(o *emulator.Org) { o.Headers.Factor, o.Limits = 1.67, sixTenths }), work: rpmWork}
	constant := solo{scenario: org1(func(o *emulator.Org) {
		o.Headers.Constant, o.Headers.Factor, o.Limits = true, 1/0.6, sixTenths
	}), work: rpmWork}
	blind := solo{scenario: org1(func(o *emulator.Org) { o.Headers.Missing = true }), work: rpmWork}
	dropped := solo{
		scenario: org1(func(o *emulator.Org) { o.Headers.Drop = 0.3 }), work: work{n: 10_000, in: 500, out: 400},
		change: []func(*Setting){func(s *Setting) { s.Streamed = false }},
	}
	reserve := solo{scenario: org1(func(o *emulator.Org) { o.ReserveOutput = true }), work: otpmWork, cap: 200}
	liar := lying.row(11, "headers 1.67 times too high",
		[]check{most("429", 0), least("eff", .97), most("lost", 0)}, refusals, physicalEff, lostCalls)
	liar.strict = true
	return []row{
		hidden.row(8, "hidden bucket of one second of requests",
			[]check{most("late 429 a minute", 2), least("eff", .95), most("lost", 0)}, latePerMinute, physicalEff, lostCalls),
		additive.row(9, "additive acceleration, numbers in the text",
			[]check{most("429", 5), most("late 429", 0), least("eff, ceiling known", .97), most("lost", 0)},
			refusals, lateRefusals, physicalEff, lostCalls),
		ratio.row(10, "ratio acceleration, silent",
			[]check{most("429", 10), most("late 429", 0), least("eff", .93), most("lost", 0)},
			refusals, lateRefusals, physicalEff, lostCalls),
		liar,
		constant.row(12, "headers always full, real limit 0.6",
			[]check{most("429 a minute", 2), least("eff", .97), most("lost", 0)}, perMinute, physicalEff, lostCalls),
		blind.row(13, "no limit headers at all",
			[]check{most("429 a minute", 5), least("eff", .95), most("lost", 0)}, perMinute, physicalEff, lostCalls),
		dropped.row(14, "not streamed, 30 % of headers dropped, 6 s a call",
			[]check{most("429", 0), least("effP", .88), most("lost", 0)}, refusals, politeEff, lostCalls),
		reserve.row(27, "max_tokens reserved from the output limit",
			[]check{most("429", 5), least("effP", .90), most("lost", 0)}, refusals, politeEff, lostCalls),
	}
}

// sixTenths are the real limits where headers show the Start tier's.
var sixTenths = emulator.Limits{Requests: 600, Input: 1_200_000, Output: 240_000}

func org1(change func(*emulator.Org)) func() emulator.Scenario {
	return func() emulator.Scenario { return world(one(startTier, change)) }
}

// figure is one number of a run.
type figure func(o *Outcome, b *bounds) float64

// row runs the job and takes a figure for each check.
func (s solo) row(n int, name string, checks []check, fs ...figure) row {
	return row{
		n: n, name: name, checks: checks, compare: s.rivals,
		run: func(_ *testing.T, seed uint64) []float64 {
			o, b := s.play(seed)
			out := make([]float64, len(fs))
			for i, f := range fs {
				out[i] = f(o, &b)
			}
			return out
		},
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
