package lab

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// meanLatency is how long a call takes on average in a scenario, in seconds.
func meanLatency(sc *emulator.Scenario, family string, in, out float64) float64 {
	l, ok := sc.Families[family]
	if !ok {
		l = sc.Latency
	}
	mean := l.TTFT.Seconds()*math.Exp(l.TTFTSD*l.TTFTSD/2) + out/l.PerSecond*math.Exp(l.PerSecondSD*l.PerSecondSD/2)
	if l.Prefill > 0 {
		mean += in / l.Prefill
	}
	s := sc.Stragglers
	return mean * (1 + s.Share*((s.Min+s.Max)/2-1))
}

// wantBinding is the truth of every scenario for kneeShape, on the org high; the
// others are as in the scenario it is made of.
var wantBinding = map[string]string{
	"default": "cap", "steady": "cap", "overload-storm": "cap", "stragglers": "cap", "flaky-network": "cap", "unlimited": "cap", "daily-cap": "cap",
	"tier-start": "rpm", "acceleration": "acceleration", "acceleration-silent": "rpm", "hidden-limit": "rpm", "lying-headers": "rpm", "no-headers": "rpm",
	"colleague": "rpm", "everything": "rpm",
	"spend-cap": "spend", "greedy-colleague": "rpm",
}

// inShort are scenarios that are run under -short too.
var inShort = map[string]bool{"default": true, "tier-start": true, "hidden-limit": true, "acceleration": true}

func TestKnee(t *testing.T) {
	t.Logf("%-20s %-6s %-12s %12s %12s %8s  95 %%", "scenario", "org", "limit", "truth", "estimate", "off")
	for _, name := range emulator.Scenarios() {
		want, ok := wantBinding[name]
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !inShort[name] {
				t.Skip("many calls")
			}
			sc := scenario(t, name)
			virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
				r, err := Run(t.Context(), env, Knee())
				if err != nil {
					t.Fatal(err)
				}
				if got, bill := int64(r.Cost.Total), billed(s); got != bill && name != "flaky-network" && name != "everything" && name != "overload-storm" {
					t.Errorf("billed %d nano-dollars, the emulator %d", got, bill)
				}
				for _, n := range r.NotShown {
					t.Log("not shown: ", n)
				}
				for i := range sc.Orgs {
					checkKnee(t, &sc, r, i, name, want)
				}
				var others, refused int64
				for _, o := range s.Stats().Orgs {
					for _, p := range o.Pools {
						if most := int64(env.Cap(p.Pool)); p.PeakInFlight > most {
							t.Errorf("%s %s: %d in flight, the etiquette cap is %d", o.Name, p.Pool, p.PeakInFlight, most)
						}
					}
					others, refused = others+o.OtherRequests, refused+o.OtherRefused
				}
				t.Logf("refused: steady %d, acceleration %d of %d; colleagues' %d of %d; cost %s (estimated %s) in %.0f s", r.Totals.Steady, r.Totals.Accelerated, r.Totals.Calls, refused, others, r.Cost.Total, r.Cost.Estimated, r.Totals.WallS)
				if name != "greedy-colleague" && name != "everything" && float64(refused) > 0.001*float64(others) {
					t.Errorf("%d of %d calls of colleagues were refused", refused, others)
				}
			})
		})
	}
}

func checkKnee(t *testing.T, sc *emulator.Scenario, r *Result, i int, name, want string) {
	t.Helper()
	o := &sc.Orgs[i]
	if others := map[string]string{"spend-cap": "cap", "greedy-colleague": "rpm"}[name]; i > 0 && others != "" {
		want = others
	}
	m, ok := r.Metric("knee_calls_per_min", o.Name, kneeModel)
	at := slices.IndexFunc(r.Binding, func(b Bound) bool { return b.Org == o.Name && b.Pool == "sonnet-4.x" })
	if at < 0 {
		t.Errorf("%s: no limit is named", o.Name)
		return
	}
	if c, ok := r.Metric("knee_concurrency", o.Name, "haiku-4.5"); ok && want == "rpm" && (c.Value < 4 || c.Value > 14) { // 17 calls a second of .5 s
		t.Errorf("%s: the knee of haiku is at %.1f in flight", o.Name, c.Value)
	}
	bound := r.Binding[at]
	if unmeasured := i == 0 && (name == "spend-cap" || name == "greedy-colleague"); unmeasured || !ok {
		t.Logf("%-20s %-6s %-12s not measured", name, o.Name, bound.Limit)
		if ok != !unmeasured || bound.Limit != want {
			t.Errorf("%s: %s binds, want %s; measured: %v", o.Name, bound.Limit, want, ok)
		}
		return
	}
	truth := 60 * float64(flotillaConc) / meanLatency(sc, "sonnet", float64(kneeShape.In), 39)
	if want == "rpm" {
		truth = float64(o.Limits.Requests)
		for _, c := range o.Colleagues {
			truth -= c.Share * float64(o.Limits.Input) / 2000
		}
	}
	if want == "acceleration" { // the ceiling at first
		truth = 0.1 * float64(o.Limits.Input) / float64(kneeShape.In)
	}
	if truth == 0 || math.IsInf(truth, 0) {
		return
	}
	off := m.Value/truth - 1
	t.Logf("%-20s %-6s %-12s %12.0f %2s%10.0f %+7.2f%%  [%.0f, %.0f] n=%d", name, o.Name, bound.Limit, truth, m.Bound, m.Value, 100*off, m.Low, m.High, m.N)
	c, _ := r.Metric("knee_concurrency", o.Name, kneeModel)
	t.Logf("%-20s %-6s %-12s %12.1f %2s%10.1f           [%.1f, %.1f]", "", "", "in flight", truth*meanLatency(sc, "sonnet", float64(kneeShape.In), 39)/60, c.Bound, c.Value, c.Low, c.High)
	if bound.Limit != want || len(bound.Signs) < 2 {
		t.Errorf("%s: %s binds, want %s; signs %q", o.Name, bound.Limit, want, bound.Signs)
	}
	within := 0.03
	if name == "everything" { // of what is let pass some never arrives
		within = 0.06
	}
	if want == "rpm" && (math.Abs(off) > within && len(o.Colleagues) == 0 || m.Bound != "") {
		t.Errorf("%s: the knee is off by %.2f %%", o.Name, 100*off)
	}
	for _, other := range []string{"claude-haiku-4-5-20251001", "claude-opus-4-8"} {
		if m, ok := r.Metric("knee_calls_per_min", o.Name, other); ok && want == "rpm" && name != "everything" && (m.Bound != "" || math.Abs(m.Value/truth-1) > 2*within) {
			t.Errorf("%s %s: %s %.0f, want %.0f", o.Name, other, m.Bound, m.Value, truth)
		}
	}
	if want == "acceleration" && (m.Bound != ">=" || math.Abs(off) > 0.15) {
		t.Errorf("%s: %s %.0f, want >= about %.0f", o.Name, m.Bound, m.Value, truth)
	}
	if want == "cap" && name != "unlimited" && (m.Bound != ">=" || math.Abs(off) > 0.12) {
		t.Errorf("%s: %s %.0f, want >= about %.0f", o.Name, m.Bound, m.Value, truth)
	}
	if want == "cap" && !strings.Contains(r.Verdict, "latency-bound") {
		t.Errorf("verdict %q", r.Verdict)
	}
}

const flotillaConc = 100

// Limits of tokens and of concurrency are told from those of requests.
func TestKneeOfOtherLimits(t *testing.T) {
	sc := scenario(t, "tier-start")
	sc.Orgs[0].Limits = emulator.Limits{Requests: 4000, Input: 200_000, Output: 400_000}
	sc.Orgs[1].Limits = emulator.Limits{Requests: 4000, Input: 2_000_000, Output: 20_000}
	sc.Orgs[2].Concurrency = 20
	virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
		r := run(t, env, s, Knee())
		t.Log(r.Verdict)
		var in, out, n float64
		for i := range r.Raw {
			if u := r.Raw[i].Usage; u.Output > 1 && r.Raw[i].Model == kneeModel {
				in, out, n = in+float64(u.Input), out+float64(u.Output), n+1
			}
		}
		t.Logf("%-12s %10s %10s  95 %%", "limit", "truth", "estimate")
		for i, want := range []struct {
			limit  string
			perMin float64
			within float64
		}{{"itpm", 200_000 / (in / n), 0.03}, {"otpm", 20_000 / (out / n), 0.03}, {"concurrency", 60 * 20 / meanLatency(&sc, "sonnet", float64(kneeShape.In), 39), 0.1}} {
			b := r.Binding[i]
			m, _ := r.Metric("knee_calls_per_min", sc.Orgs[i].Name, kneeModel)
			t.Logf("%-12s %10.0f %10.0f  [%.0f, %.0f] %q", b.Limit, want.perMin, m.Value, m.Low, m.High, b.Signs)
			if b.Limit != want.limit || len(b.Signs) < 2 || math.Abs(m.Value/want.perMin-1) > want.within {
				t.Errorf("%s: %s at %.0f, want %s at %.0f", b.Org, b.Limit, m.Value, want.limit, want.perMin)
			}
		}
	})
}

// What is broken off goes on: finished steps are not sent again, and the
// verdict is that of an experiment that was not.
func TestSyncExperimentsGoOn(t *testing.T) {
	for _, c := range []struct {
		x     Experiment
		after time.Duration
		want  string
	}{
		{Knee(), 150 * time.Second, "calls/min from"},
		{Acceleration(), 22*time.Minute + 30*time.Second, "pass at first"},
		{Fanout(), 200 * time.Second, "the sum of the parts"},
	} {
		t.Run(c.x.Name(), func(t *testing.T) {
			sc := scenario(t, "tier-start")
			if c.x.Name() == "acceleration" {
				sc = scenario(t, "acceleration")
			}
			sc.Orgs = sc.Orgs[:2]
			virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
				ctx, cut := context.WithTimeout(t.Context(), c.after)
				defer cut()
				if _, err := Run(ctx, env, c.x); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("it was not broken off: %v", err)
				}
				synctest.Wait()
				before := s.Stats().Requests
				r, err := Run(t.Context(), env, c.x)
				if err != nil {
					t.Fatal(err)
				}
				sent := int(s.Stats().Requests - before)
				t.Logf("%s: %d calls before, %d after; %d discarded", r.Verdict, before, sent, r.Cost.Discarded.Calls)
				if !strings.Contains(r.Verdict, c.want) || sent >= len(r.Raw) {
					t.Errorf("%q; %d calls after, %d timings in all", r.Verdict, sent, len(r.Raw))
				}
				if got, want := int64(r.Cost.Total), billed(s); got > want || want > got+int64(r.Cost.InDoubt) {
					t.Errorf("the bill has %d nano-dollars and %d in doubt, the emulator billed %d", got, r.Cost.InDoubt, want)
				}
			})
		})
	}
}
