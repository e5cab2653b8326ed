package plan

import (
	"math"
	"slices"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// solo is a row in which one job runs alone.
type solo struct {
	scenario func() emulator.Scenario
	work     work
	cap      int // 0: 100
	change   []func(*Setting)
}

// play runs ours.
func (s solo) play(seed uint64, more ...func(*Setting)) (*Outcome, bounds) {
	o, b, _ := s.playOn(seed, more...)
	return o, b
}

// playOn gives the model, too, as the run left it.
func (s solo) playOn(seed uint64, more ...func(*Setting)) (*Outcome, bounds, *emulator.Model) {
	sc := s.scenario()
	set := setting(&sc, s.work, seed, append(s.change[:len(s.change):len(s.change)], more...)...)
	if s.cap == 0 {
		s.cap = 100
	}
	for i := range set.Lanes {
		set.Lanes[i].Cap = s.cap
	}
	m := emulator.NewModel(sc, seed, epoch)
	o := Rehearse(m, day, set)[0]
	return o, boundsOf(&sc, s.cap, o), m
}

// rivals runs ours and the naive controllers under seed 1.
func (s solo) rivals(*testing.T) []rival {
	var out []rival
	for _, name := range []string{"ours", "aimd", "inspect", "sdk"} {
		o, b, m := s.playOn(1, controller(name))
		r := rival{name: name, eff: b.eff(o), refused: o.Failures - o.Faults, others: othersRefused(m, o), notEnded: o.Stalled}
		r.failed = o.Outcomes[sched.Errored]
		out = append(out, r)
	}
	return out
}

// othersRefused is the share of colleagues' requests that were refused; NaN
// without colleagues.
func othersRefused(m *emulator.Model, o *Outcome) float64 {
	requests, refused := int64(0), int64(0)
	for _, org := range m.Stats(o.Ended).Orgs {
		requests += org.OtherRequests
		refused += org.OtherRefused
	}
	if requests == 0 {
		return math.NaN()
	}
	return float64(refused) / float64(requests)
}

// controller puts a naive brain in; "ours" leaves the scheduler.
func controller(name string) func(*Setting) {
	return func(s *Setting) {
		if name != "ours" {
			s.Brain = newNaive(s.Core.Seed, policies[name])
		}
	}
}

func rampFast(s *Setting) { s.Core.Ramp = sched.RampFast }

// lost is how many calls have no answer.
func lost(o *Outcome) float64 { return float64(o.N - o.Succeeded) }

func world1(l emulator.Limits, changes ...func(*emulator.Scenario)) func() emulator.Scenario {
	return func() emulator.Scenario { return world(one(l), changes...) }
}

// unequal is k orgs of the Start tier, half of it and 0.8 of it, again and again.
func unequal(k int) []emulator.Org {
	orgs := emulator.Uniform(k, startTier)
	for i := range orgs {
		l := &orgs[i].Limits
		switch i % 3 {
		case 1:
			*l = emulator.Limits{Requests: 500, Input: 1_000_000, Output: 200_000}
		case 2:
			*l = emulator.Limits{Requests: 800, Input: 1_600_000, Output: 320_000}
		}
	}
	return orgs
}

// steadyRow is a row that asks for no refusal and a physical efficiency.
func steadyRow(n int, name string, s solo, eff float64) row {
	return row{
		n: n, name: name,
		checks: []check{most("429", 0), least("eff", eff), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			o, b := s.play(seed)
			return []float64{float64(o.RateLimited()), b.eff(o), lost(o)}
		},
		compare: s.rivals, strict: true,
	}
}

func steadyRows() []row {
	rpm := solo{scenario: world1(startTier), work: rpmWork}
	itpm := solo{scenario: world1(startTier), work: itpmWork}
	otpm := solo{scenario: world1(startTier), work: otpmWork, cap: 200}
	capped := solo{scenario: world1(scaleTier), work: capWork}
	rows := []row{
		steadyRow(1, "bound by requests", rpm, .95),
		steadyRow(2, "bound by input tokens", itpm, .95),
		steadyRow(3, "bound by output tokens, cap 200", otpm, .94),
		capRow(capped),
	}
	rows = append(rows, orgRows()...)
	rows = append(rows, lengthRow("requests", rpm), lengthRow("input tokens", itpm), lengthRow("output tokens", otpm), lengthRow("cap", capped))
	return append(rows,
		steadyRow(7, "buckets of a tenth of a minute", solo{
			scenario: func() emulator.Scenario {
				return world(one(startTier, func(o *emulator.Org) { o.Capacity = 0.1 }))
			},
			work: itpmWork,
		}, .97),
	)
}

// capRow is row 4: never above the cap, and what the ramp costs.
func capRow(s solo) row {
	return row{
		n: 4, name: "bound by the cap, Scale tier",
		checks: []check{most("in flight", 100), least("effP", .95), least("eff, fast ramp", .95), most("429", 0), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			o, b := s.play(seed)
			f, fb := s.play(seed, rampFast)
			return []float64{
				float64(max(o.PeakInFlight, f.PeakInFlight)), b.effP(o, polite), fb.eff(f),
				float64(o.RateLimited() + f.RateLimited()), lost(o) + lost(f),
			}
		},
		compare: s.rivals, strict: true,
	}
}

// orgRows is row 5. For eight orgs the bound is .92 (head of control.md).
func orgRows() []row {
	three := solo{scenario: func() emulator.Scenario { return world(unequal(3)) }, work: rpmWork}
	eight := solo{scenario: func() emulator.Scenario { return world(unequal(8)) }, work: work{n: 40_000, in: 1_500, out: 150}}
	return []row{orgRow("3 unequal orgs", three, .94), orgRow("8 unequal orgs, 40,000 calls", eight, .92)}
}

func orgRow(name string, s solo, effP float64) row {
	return row{
		n: 5, name: name,
		checks: []check{most("429", 0), least("effP", effP), most("in flight of an org", 100), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			o, b := s.play(seed)
			peak := slices.Max(o.PeakByLane)
			return []float64{float64(o.RateLimited()), b.effP(o, polite), float64(peak), lost(o)}
		},
		compare: s.rivals, strict: true,
	}
}

// lengthRow is row 6: the longer the job, the nearer to the bound (.96 for
// 30,000 calls, head of control.md).
func lengthRow(name string, s solo) row {
	return row{
		n: 6, name: "30,000 and 100,000 calls, bound by " + name,
		checks: []check{least("eff(30k)", .96), least("eff(100k)", .99), most("429", 0), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			s := s
			s.work.n = 30_000
			o, b := s.play(seed)
			s.work.n = 100_000
			p, pb := s.play(seed)
			return []float64{b.eff(o), pb.eff(p), float64(o.RateLimited() + p.RateLimited()), lost(o) + lost(p)}
		},
		compare: func(t *testing.T) []rival {
			s := s
			s.work.n = 30_000
			return s.rivals(t)
		},
		strict: true,
	}
}

// sizeRows are rows 25 and 26.
func sizeRows() []row {
	heavy := solo{scenario: world1(startTier), work: work{n: 10_000, in: 8_000, out: 20, inSD: 1.2, inMost: 800_000}}
	tier1 := solo{
		scenario: world1(emulator.Limits{Requests: 50, Input: 30_000, Output: 8_000}),
		work:     work{n: 400, in: 300, out: 60},
	}
	rows := []row{
		{
			n: 25, name: "heavy-tailed prompts, up to 40 % of the bucket",
			checks: []check{most("429", 1), least("eff", .95), most("lost", 0)},
			run: func(_ *testing.T, seed uint64) []float64 {
				o, b := heavy.play(seed)
				return []float64{float64(o.RateLimited()), b.eff(o), lost(o)}
			},
		},
		steadyRow(26, "the smallest tier, 50 requests/min", tier1, .97),
	}
	rows[1].strict = false
	return rows
}
