package plan

import (
	"math"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// short is the usual job here: short prompts and answers.
var short = work{n: 12_000, in: 400, out: 60, maxTokens: 120}

func hopes() []hope {
	return append(append(calm(), limited()...), troubled()...)
}

// calm are the scenarios in which nothing goes wrong.
func calm() []hope {
	return []hope{
		{
			scenario: "steady", work: short,
			checks:  []check{most("429", 0), least("eff", .97)},
			figures: func(r *result) []float64 { return []float64{r.limited(), r.eff()} },
		},
		{
			scenario: "default", work: short,
			checks:  []check{most("429", 0), least("eff", .97)},
			figures: func(r *result) []float64 { return []float64{r.limited(), r.eff()} },
		},
		{
			scenario: "tier-start", work: short,
			checks:  []check{most("429", 0), least("eff", .95)},
			figures: func(r *result) []float64 { return []float64{r.limited(), r.eff()} },
		},
		{
			// With hedges, as --prefer fast has it: only the last calls wait.
			scenario: "stragglers", work: short, change: []func(*Setting){hedged},
			checks: []check{most("429", 0), least("eff", 1.05), most("extra calls, share", .01)},
			figures: func(r *result) []float64 {
				return []float64{r.limited(), r.eff(), float64(r.o.Hedges) / float64(r.o.N)}
			},
		},
	}
}

func hedged(s *Setting) { s.Core.Hedge = true }

// limited are the scenarios whose limits are more than the headers say.
func limited() []hope {
	heavy := work{n: 10_000, in: 2_000, out: 60, maxTokens: 120}
	return []hope{
		{
			scenario: "acceleration", work: heavy,
			checks: []check{most("429 of three orgs", 15), most("late", 0), least("eff, ceiling known", .93)},
			figures: func(r *result) []float64 {
				return []float64{r.limited(), float64(r.o.LateRateLimited()), r.eff()}
			},
		},
		{
			scenario: "acceleration-silent", work: heavy,
			// The bound does not know of the rule, which costs the first minutes.
			checks: []check{most("429 of three orgs", 30), most("late", 0), least("eff, rule unknown", .55)},
			figures: func(r *result) []float64 {
				return []float64{r.limited(), float64(r.o.LateRateLimited()), r.eff()}
			},
		},
		{
			scenario: "hidden-limit", work: short,
			checks:  []check{most("429 a minute and org", 4), least("eff", .95)},
			figures: func(r *result) []float64 { return []float64{r.perOrgMinute(), r.eff()} },
		},
		{
			// What high shows is 1.67 times what it has.
			scenario: "lying-headers", work: short,
			checks:  []check{most("429", 0), least("eff", .95)},
			figures: func(r *result) []float64 { return []float64{r.limited(), r.eff()} },
		},
		{
			scenario: "no-headers", work: short,
			checks:  []check{most("429 a minute and org", 5), least("eff", .97)},
			figures: func(r *result) []float64 { return []float64{r.perOrgMinute(), r.eff()} },
		},
		{
			// The others carry the job on: it ends no later than they would end it alone.
			scenario: "daily-cap", work: dayWork,
			checks: []check{most("429 of the cap", 60), most("other 429", 0), least("eff of the two others", 1), most("closings of high", 1)},
			figures: func(r *result) []float64 {
				c := r.refused(emulator.DailyLimit)
				return []float64{c, r.limited() - c, r.without(high), r.closed(high, sched.Daily)}
			},
		},
		{
			scenario: "daily-cap-known", work: dayWork, change: []func(*Setting){tellDay},
			checks: []check{most("429", 0), least("eff of the two others", 1), {"share of the cap used", true, .85, 0}, most("… at most", .905)},
			figures: func(r *result) []float64 {
				share := float64(r.o.Lanes[high].DayTokens) / dayCap
				return []float64{r.limited(), r.without(high), share, share}
			},
		},
		{
			scenario: "spend-cap", work: short,
			checks: []check{most("429 of the cap", 3), most("other 429", 0), most("closings of high", 1), {"… at least", true, 1, 0}, least("eff of the two others", 1)},
			figures: func(r *result) []float64 {
				c, closed := r.refused(emulator.SpendLimit), r.closed(high, sched.Spend)
				return []float64{c, r.limited() - c, closed, closed, r.without(high)}
			},
		},
	}
}

// dayCap is high's in the daily-cap scenarios; dayWork would use more there.
const dayCap = 20_000_000

var dayWork = work{n: 80_000, in: 1_000, out: 60, maxTokens: 120}

// tellDay is what the Rate Limits API tells where an admin key is given.
func tellDay(s *Setting) { s.Lanes[high].TokensPerDay = dayCap }

// troubled are the scenarios with others at the keys or trouble on the way.
func troubled() []hope {
	return []hope{
		{
			scenario: "overload-storm", work: work{n: 30_000, in: 400, out: 60, maxTokens: 120},
			checks: []check{most("429", 0), {"529 of three orgs", false, 360, 36}, least("eff, storms taken out", .90)},
			figures: func(r *result) []float64 {
				m := polite
				m.storm = func(t float64) float64 { return stormsLost(&r.sc.Storm, t) }
				return []float64{r.limited(), r.refused(emulator.Overload), r.promise(&r.b, m)}
			},
		},
		{
			scenario: "colleague", work: work{n: 12_000, in: 2_000, out: 60, maxTokens: 120},
			checks:  []check{most("429", 0), most("colleague's refused share", .001), least("eff, net", .95)},
			figures: func(r *result) []float64 { return []float64{r.limited(), r.others(), r.eff()} },
		},
		{
			// Beside a client that takes all of high, the two others carry the
			// job; we leave him what he wants and meet few of the refusals he causes.
			scenario: "greedy-colleague", work: short,
			checks:  []check{most("429", 10), least("eff of the two others", 1)},
			figures: func(r *result) []float64 { return []float64{r.limited(), r.without(high)} },
		},
		{
			scenario: "flaky-network", work: short,
			checks: []check{most("429", 0), least("eff", .80), most("billed, of the account", 1), most("closings", 0)},
			figures: func(r *result) []float64 {
				return []float64{r.limited(), r.eff(), float64(r.o.Billed) / float64(r.o.Cost), float64(len(r.parked))}
			},
		},
		{
			scenario: "everything", work: work{n: 12_000, in: 1_000, out: 60, maxTokens: 120}, change: []func(*Setting){hedged},
			checks: []check{most("429", 5), most("minutes", 12), most("closings", 0)},
			figures: func(r *result) []float64 {
				return []float64{r.limited(), r.o.Makespan().Minutes(), float64(len(r.parked))}
			},
		},
		{
			// A storm refuses colleagues, too; without it nobody may.
			scenario: "everything", note: ", no storm", work: work{n: 12_000, in: 1_000, out: 60, maxTokens: 120},
			scene:  func(sc *emulator.Scenario) { sc.Storm = emulator.Storm{} },
			checks: []check{most("429", 5), most("colleague's refused share", .001), least("eff, net", .80)},
			figures: func(r *result) []float64 {
				return []float64{r.limited(), r.others(), r.eff()}
			},
		},
	}
}

// stormsLost is how many seconds up to t a scenario's storms take from whom
// they refuse.
func stormsLost(s *emulator.Storm, t float64) float64 {
	lost := 0.0
	for begin := s.Start; begin.Seconds() < t; begin += s.Every {
		at := begin.Seconds()
		for _, p := range s.Phases {
			lost += p.Share * max(0, min(t-at, p.For.Seconds()))
			at += p.For.Seconds()
		}
		if s.Every == 0 {
			break
		}
	}
	return lost
}

// The twin of stormsLost: a storm of 90 s costs 69.
func TestStormsLost(t *testing.T) {
	s := emulator.Storm{Start: 2 * time.Minute, Every: 10 * time.Minute, Phases: storm.Phases}
	for _, c := range []struct{ at, want float64 }{{100, 0}, {130, 9}, {210, 69}, {719, 69}, {740, 69 + 18}, {820, 138}} {
		if got := stormsLost(&s, c.at); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("storms up to %v s cost %v s, want %v", c.at, got, c.want)
		}
	}
}
