package plan

import (
	"math"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// troubleRows are rows 22 to 24: the provider has trouble, not we.
func troubleRows() []row {
	return []row{stormRow(), unknownDayRow("silent", false), unknownDayRow("named in the text", true), othersDayRow(), knownDayRow(), stragglerRow()}
}

// storm is row 22's: 60 s of which 0.9 is refused, then 30 s of half.
var storm = emulator.Storm{
	Start: 2 * time.Minute, Streams: 0.02,
	Phases: []emulator.StormPhase{{For: 60 * time.Second, Share: 0.9}, {For: 30 * time.Second, Share: 0.5}},
}

// stormLost is how many seconds up to t the storm takes from whom it refuses.
func stormLost(t float64) float64 {
	lost, at := 0.0, storm.Start.Seconds()
	for _, p := range storm.Phases {
		lost += p.Share * max(0, min(t-at, p.For.Seconds()))
		at += p.For.Seconds()
	}
	return lost
}

func stormRow() row {
	s := solo{
		scenario: world1(scaleTier, func(sc *emulator.Scenario) { sc.Storm = storm }), work: capWork,
	}
	mannered := polite
	mannered.storm = stormLost
	over := storm.Start + 90*time.Second
	return row{
		n: 22, name: "529 storm, 60 s at .9 and 30 s at .5",
		checks: []check{most("failures", 120), least("effP, storm taken out", .88), most("seconds back to 90 % of the cap", 40), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			g := &gauge{level: 90, after: over}
			o, b := s.play(seed, func(s *Setting) { s.Observe = g.see })
			return []float64{float64(o.Failures), b.effP(o, mannered), g.reached(), lost(o)}
		},
		compare: s.rivals,
	}
}

// gauge notes when so many are in flight again.
type gauge struct {
	level  int
	after  time.Duration
	flying int
	at     time.Duration // when the level was reached; 0: not yet
}

func (g *gauge) see(now time.Duration, ev sched.Event, acts []sched.Action) {
	switch ev.(type) {
	case *sched.Done, *sched.Refused, *sched.Failed:
		g.flying--
	}
	for _, act := range acts {
		if _, ok := act.(*sched.Send); ok {
			g.flying++
		}
	}
	if g.at == 0 && now >= g.after && g.flying >= g.level {
		g.at = now
	}
}

func (g *gauge) reached() float64 {
	if g.at == 0 {
		return math.Inf(1)
	}
	return (g.at - g.after).Seconds()
}

// daily is a world with a rolling cap that two thirds of the job use up.
func daily(text bool) solo {
	return solo{
		scenario: org1(func(o *emulator.Org) {
			o.Daily = emulator.DailyCap{Tokens: 5_000_000, RetryAfter: 30 * time.Second, Text: text}
		}),
		work: work{n: 9_000, in: 800, out: 20},
	}
}

// days is how long a job with a daily cap may take.
const days = 3 * day

func (s solo) playDays(seed uint64, change func(*Setting)) *Outcome {
	sc := s.scenario()
	set := setting(&sc, s.work, seed, change)
	return Rehearse(emulator.NewModel(sc, seed, epoch), days, set)[0]
}

// unknownDayRow is row 23 where nobody told the cap.
func unknownDayRow(name string, text bool) row {
	s := daily(text)
	return row{
		n: 23, name: "daily cap, unknown, " + name,
		checks: []check{most("attempts wasted", 60), most("minutes after the day allowed it", 5), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			o := s.playDays(seed, func(*Setting) {})
			return []float64{float64(o.Refused[emulator.DailyLimit]), afterTheDay(o).Minutes(), lost(o)}
		},
	}
}

// othersDayRow is row 23 where another process used most of the day's tokens
// up long before: our own ledger cannot tell when it reopens, only probes can,
// which come every half hour (with a fifth of jitter).
func othersDayRow() row {
	const ours = 12 * time.Hour
	return row{
		n: 23, name: "daily cap, unknown, used up by another process",
		checks: []check{most("attempts wasted", 60), most("minutes closed after the window opened", 37), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			sc := daily(false).scenario()
			m := emulator.NewModel(sc, seed, epoch)
			other := setting(&sc, work{n: 4_500, in: 800, out: 20, salt: 1}, seed)
			back := sched.Never
			s := setting(&sc, work{n: 3_000, in: 800, out: 20, salt: 2}, seed, func(s *Setting) {
				s.Begin = ours
				s.Observe = func(now time.Duration, ev sched.Event, _ []sched.Action) {
					if _, ok := ev.(*sched.Done); ok && now > day {
						back = min(back, now)
					}
				}
			})
			o := Rehearse(m, days, other, s)[1]
			return []float64{float64(o.Refused[emulator.DailyLimit]), (back - day).Minutes(), lost(o)}
		},
	}
}

// afterTheDay is how much later a job ended than its daily cap allowed: what
// was done within the first day may be done again as it leaves the window, in
// whole minutes.
func afterTheDay(o *Outcome) time.Duration {
	first := 0
	for i := 0; i < min(len(o.Done), 24*3600); i++ {
		first += o.Done[i]
	}
	rest := o.N - first
	for i := 0; i < len(o.Done); i++ {
		if rest -= o.Done[i]; rest <= 0 {
			return o.Ended - (day + time.Duration(i/60+1)*time.Minute)
		}
	}
	return o.Ended - day
}

// knownDayRow is row 23 where the cap is known: the lane stops at 90 % and says
// when it reopens.
func knownDayRow() row {
	s := daily(false)
	return row{
		n: 23, name: "daily cap, known",
		checks: []check{
			most("429", 0), most("tokens in the first day, of the cap", .9),
			{"… at least", true, .88, 0},
			most("hours until the reopening it says", 24.1), most("minutes after the day allowed it", 5), most("lost", 0),
		},
		run: func(_ *testing.T, seed uint64) []float64 {
			says, first := math.Inf(1), int64(0)
			o := s.playDays(seed, func(set *Setting) {
				set.Lanes[0].TokensPerDay = 5_000_000
				set.Observe = func(now time.Duration, ev sched.Event, acts []sched.Action) {
					if d, ok := ev.(*sched.Done); ok && now < day {
						first += d.Usage.Input + d.Usage.Output
					}
					for _, act := range acts {
						if n, ok := act.(*sched.Note); ok && n.Kind == sched.NoteParked && now < day {
							says = min(says, n.Until.Hours())
						}
					}
				}
			})
			share := float64(first) / 5_000_000
			return []float64{float64(o.RateLimited()), share, share, says, afterTheDay(o).Minutes(), lost(o)}
		},
	}
}

// stragglerRow is row 24: hedges cut the tail. A single seed may win nothing:
// under seed 1 the last straggler's hedge straggles, too.
func stragglerRow() row {
	s := solo{
		scenario: func() emulator.Scenario {
			return world(emulator.Uniform(2, scaleTier), func(sc *emulator.Scenario) {
				sc.Stragglers = emulator.Stragglers{Share: 0.01, Min: 4, Max: 10}
			})
		},
		work: work{n: 3_000, in: 500, out: 300},
	}
	return row{
		n: 24, name: "1 % stragglers, two orgs, 3,000 calls, hedged",
		checks: []check{{"cut of the makespan", true, .20, .20}, most("extra calls, share", .01), most("429", 0), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			plain, _ := s.play(seed)
			hedged, _ := s.play(seed, func(set *Setting) { set.Core.Hedge = true })
			return []float64{
				1 - hedged.Makespan().Seconds()/plain.Makespan().Seconds(), float64(hedged.Hedges) / float64(hedged.N),
				float64(hedged.RateLimited()), lost(hedged) + lost(plain),
			}
		},
	}
}
