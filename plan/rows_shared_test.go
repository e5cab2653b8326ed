package plan

import (
	"math"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// sharedRows are rows 15 to 21: others use the key, too.
func sharedRows() []row {
	poisson := emulator.Colleague{Kind: "poisson", Share: 0.4, In: 2000, Out: 60}
	bursts := emulator.Colleague{Kind: "burst", Requests: 25, In: 8000, Out: 60, Over: time.Second, Every: time.Minute}
	rows := []row{
		colleagueRow(15, "a colleague's Poisson load, 40 % of input", poisson, .001),
		colleagueRow(16, "a colleague's bursts of 10 % of the bucket", bursts, 0),
	}
	rows = append(rows, leavingRow(), endingRow(), pairRow())
	for _, k := range []int{3, 5, 10} {
		rows = append(rows, crowdRow(k))
	}
	return append(rows, unequalRow(), besideAIMD())
}

func colleagueRow(n int, name string, c emulator.Colleague, refused float64) row {
	s := solo{scenario: org1(func(o *emulator.Org) { o.Colleagues = []emulator.Colleague{c} }), work: itpmWork}
	return row{
		n: n, name: name,
		checks: []check{most("429", 0), most("colleague's refused share", refused), least("eff, net", .97), most("lost", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			o, b, m := s.playOn(seed)
			return []float64{float64(o.RateLimited()), othersRefused(m, o), b.eff(o), lost(o)}
		},
		compare: s.rivals, strict: true,
	}
}

// leaves is when the colleague of row 17 leaves, or the other job ends.
const leaves = 200 * time.Second

// leavingRow is row 17: how soon the whole refill is used after a colleague
// with 60 % has left.
func leavingRow() row {
	s := solo{scenario: org1(func(o *emulator.Org) {
		o.Colleagues = []emulator.Colleague{{Kind: "poisson", Share: 0.6, In: 2000, Out: 60, Until: leaves}}
	}), work: work{n: 5_000, in: 2_500, out: 20}, change: []func(*Setting){keepSends}}
	return row{
		n: 17, name: "a colleague with 60 % leaves",
		checks: []check{most("seconds to 95 % of refill", 20), most("429", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			o, _ := s.play(seed)
			return []float64{takesUp(o, leaves, 2_000_000.0/60/2_500), float64(o.RateLimited())}
		},
	}
}

// endingRow is the other half: another process of ours ends.
func endingRow() row {
	return row{
		n: 17, name: "another process of ours ends",
		checks: []check{most("seconds to 95 % of refill", 20), most("429", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			outs := together(world(one(startTier)), seed, day, []process{
				{work: work{n: 3_000, in: 800, out: 20}}, {work: work{n: 6_000, in: 800, out: 20}},
			})
			over := outs[0].Sends[len(outs[0].Sends)-1].At
			return []float64{takesUp(outs[1], over, 1_000.0/60), float64(outs[0].RateLimited() + outs[1].RateLimited())}
		},
	}
}

func keepSends(s *Setting) { s.KeepSends = true }

// takesUp is how many seconds after from the sends of the last five seconds
// first reach 95 % of a rate.
func takesUp(o *Outcome, from time.Duration, perSecond float64) float64 {
	const window = 5 * time.Second
	need := 0.95 * perSecond * window.Seconds()
	for i, first := 0, 0; i < len(o.Sends); i++ {
		at := o.Sends[i].At
		for o.Sends[first].At <= at-window {
			first++
		}
		if at >= from && float64(i-first+1) >= need {
			return (at - from).Seconds()
		}
	}
	return math.Inf(1)
}

// process is one of several jobs on the same key.
type process struct {
	work   work
	begin  time.Duration
	cap    int // 0: 100
	share  sched.ShareMode
	policy string // "": ours
}

// together runs processes side by side, up to a limit.
func together(sc emulator.Scenario, seed uint64, limit time.Duration, ps []process) []*Outcome {
	m := emulator.NewModel(sc, seed, epoch)
	var settings []Setting
	for i, p := range ps {
		p.work.salt = uint64(i + 1)
		s := setting(&sc, p.work, seed, keepSends)
		s.Core.Seed, s.Core.Share = seed*100+uint64(i), p.share
		s.Begin = p.begin
		if p.cap > 0 {
			s.Lanes[0].Cap = p.cap
		}
		if p.policy != "" {
			s.Brain = newNaive(s.Core.Seed, policies[p.policy])
		}
		settings = append(settings, s)
	}
	return Rehearse(m, limit, settings...)
}

// sentIn is how many sends of a job fell into a span.
func sentIn(o *Outcome, from, to time.Duration) float64 {
	n := 0
	for i := range o.Sends {
		if at := o.Sends[i].At; from <= at && at < to {
			n++
		}
	}
	return float64(n)
}

// overlap is when all jobs are at work, after some time to settle.
func overlap(outs []*Outcome, settle time.Duration) (from, to time.Duration) {
	to = day
	for _, o := range outs {
		from = max(from, o.Began+settle)
		to = min(to, o.Sends[len(o.Sends)-1].At)
	}
	return from, to
}

// pairRow is row 18: two processes, started together and two minutes apart,
// bound by each dimension.
func pairRow() row {
	return row{
		n: 18, name: "two processes, same and different start",
		checks: []check{
			most("deviation from half: requests", .05), most("… input tokens", .05), most("… output tokens", .05), most("429", 0),
		},
		run: func(_ *testing.T, seed uint64) []float64 {
			var figures []float64
			refused := 0
			for _, p := range []process{
				{work: work{n: 5_000, in: 800, out: 20}},
				{work: work{n: 1_500, in: 8_000, out: 20}},
				{work: work{n: 3_000, in: 500, out: 700}, cap: 200},
			} {
				dev := 0.0
				for _, apart := range []time.Duration{0, 2 * time.Minute} {
					q := p
					q.begin = apart
					outs := together(world(one(startTier)), seed, day, []process{p, q})
					from, to := overlap(outs, time.Minute)
					a, b := sentIn(outs[0], from, to), sentIn(outs[1], from, to)
					dev = max(dev, math.Abs(a/(a+b)-0.5))
					refused += outs[0].RateLimited() + outs[1].RateLimited()
				}
				figures = append(figures, dev)
			}
			return append(figures, float64(refused))
		},
	}
}

// crowdRow is row 19: k processes, 30 s apart.
func crowdRow(k int) row {
	return row{
		n: 19, name: number(float64(k)) + " processes, 30 s apart",
		checks: []check{{"Jain's index", true, .99, 0}, {"use of the refill", true, .97, .02}, most("429", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			ps := make([]process, k)
			for i := range ps {
				ps[i] = process{work: work{n: 8_000, in: 800, out: 20}, begin: time.Duration(i) * 30 * time.Second}
			}
			from := ps[k-1].begin + time.Minute
			to := from + 4*time.Minute
			outs := together(world(one(startTier)), seed, to, ps)
			sum, squares, refused := 0.0, 0.0, 0
			for _, o := range outs {
				x := sentIn(o, from, to)
				sum += x
				squares += x * x
				refused += o.RateLimited()
			}
			return []float64{sum * sum / (float64(k) * squares), sum / ((to - from).Seconds() * 1_000 / 60), float64(refused)}
		},
	}
}

// unequalRow is row 20: long prompts beside short ones share tokens, not calls.
// More requests a minute than the Start tier has, or those would bind.
func unequalRow() row {
	return row{
		n: 20, name: "8k-token prompts beside 1k-token prompts",
		checks: []check{most("deviation from half of tokens", .05), most("429", 0)},
		run: func(_ *testing.T, seed uint64) []float64 {
			limits := startTier
			limits.Requests = 4_000
			outs := together(world(one(limits)), seed, day, []process{
				{work: work{n: 1_200, in: 8_000, out: 20}}, {work: work{n: 9_600, in: 1_000, out: 20}},
			})
			from, to := overlap(outs, time.Minute)
			a, b := 8*sentIn(outs[0], from, to), sentIn(outs[1], from, to)
			return []float64{math.Abs(a/(a+b) - 0.5), float64(outs[0].RateLimited() + outs[1].RateLimited())}
		},
	}
}

// besideAIMD is row 21: our share beside a plain AIMD client that always has
// work. Answers are of ordinary length: with 20 tokens of output the client
// needs a handful of calls in flight and keeps the level below our hard floor
// all the time, which leaves us about .05 by default, as a floor should.
func besideAIMD() row {
	share := func(seed uint64, w work, mode sched.ShareMode) float64 {
		other := w
		other.n *= 4
		outs := together(world(one(startTier)), seed, day, []process{{work: w, share: mode}, {work: other, policy: "aimd"}})
		from, to := overlap(outs, time.Minute)
		a, b := sentIn(outs[0], from, to), sentIn(outs[1], from, to)
		return a / (a + b)
	}
	return row{
		n: 21, name: "beside plain AIMD, requests and input tokens",
		checks: []check{
			{"share, default", true, .08, .02}, {"share, fair, least", true, .40, .02}, {"share, fair, most", false, .60, .02},
		},
		run: func(_ *testing.T, seed uint64) []float64 {
			requests, tokens := work{n: 4_000, in: 800, out: 150}, work{n: 2_500, in: 3_000, out: 200}
			f, g := share(seed, requests, sched.ShareFair), share(seed, tokens, sched.ShareFair)
			return []float64{
				min(share(seed, requests, sched.ShareDefault), share(seed, tokens, sched.ShareDefault)), min(f, g), max(f, g),
			}
		},
	}
}
