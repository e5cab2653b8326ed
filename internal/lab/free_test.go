package lab

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/price"
)

// run carries an experiment out and holds its bill against the emulator's.
func run(t *testing.T, env *Env, s *emulator.Server, x Experiment) *Result {
	t.Helper()
	r, err := Run(t.Context(), env, x)
	if err != nil {
		t.Fatalf("%s: %v", x.Name(), err)
	}
	if got, want := int64(r.Cost.Total), billed(s); got != want {
		t.Errorf("%s billed %d nano-dollars, the emulator %d", x.Name(), got, want)
	}
	if stored, err := Read(env.File(x.Name())); err != nil || stored.Verdict != r.Verdict {
		t.Errorf("stored: %v", err)
	}
	return r
}

func TestLimitsWithAnAdminKey(t *testing.T) {
	sc := scenario(t, "lying-headers")
	virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
		r := run(t, env, s, Limits())
		t.Log(r.Verdict)
		for _, o := range sc.Orgs {
			for name, want := range map[string]int64{"rpm": o.Limits.Requests, "itpm": o.Limits.Input, "otpm": o.Limits.Output} {
				if m, ok := r.Metric(name, o.Name, "haiku-4.5"); !ok || int64(m.Value) != want || m.Source != sourceAPI {
					t.Errorf("%s %s: %v of %q, want %d", o.Name, name, m.Value, m.Source, want)
				}
			}
			if m, ok := r.Metric("batch_queue", o.Name, ""); !ok || int64(m.Value) != o.BatchQueue {
				t.Errorf("%s: queue %v, want %d", o.Name, m.Value, o.BatchQueue)
			}
		}
		if m, ok := r.Metric("itpm_shown", "high", "haiku-4.5"); !ok || m.Value != math.Round(2_000_000*1.67) {
			t.Errorf("the lie was not noted: %v", m)
		}
	})
}

func TestLimitsWithoutAnAdminKey(t *testing.T) {
	sc := scenario(t, "tier-start")
	virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
		for i := range env.Orgs {
			env.Orgs[i].Admin = ""
		}
		if est := Limits().Estimate(env); len(est.Warnings) != 3 || len(est.Lines) < 3 {
			t.Errorf("estimate %+v", est)
		}
		r := run(t, env, s, Limits())
		if m, ok := r.Metric("itpm", "low", "haiku-4.5"); !ok || m.Value != 2_000_000 || m.Source != sourceHeaders {
			t.Errorf("itpm of low: %+v", m)
		}
		if _, ok := r.Metric("batch_queue", "low", ""); ok {
			t.Error("no header tells the queue's cap")
		}
	})
}

func TestTwoKeysOfOneOrg(t *testing.T) {
	virtual(t, scenario(t, "tier-start"), func(t *testing.T, env *Env, s *emulator.Server) {
		env.Orgs = append(env.Orgs, Org{Name: "second", Key: flotilla.Key(emulator.Key("high") + "-2")})
		lines, err := Greet(t.Context(), env)
		if err != nil || len(lines) != 1 || env.Org("second").SameAs != "high" || len(env.Distinct()) != 3 {
			t.Fatalf("%v, %q, %+v", err, lines, env.Orgs)
		}
		if r := run(t, env, s, Limits()); !strings.Contains(r.Verdict, "second is a second key of high's org") {
			t.Errorf("verdict %q", r.Verdict)
		}
	})
}

func TestCallable(t *testing.T) {
	virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, s *emulator.Server) {
		r := run(t, env, s, Callable())
		t.Log(r.Verdict)
		no := 0
		for _, m := range r.Metrics {
			if m.Value == 0 {
				no++
				if m.Note == "" {
					t.Errorf("%s does not say why", m.Model)
				}
			}
		}
		if m, ok := r.Metric("callable", "low", "claude-sonnet-4-6"); !ok || m.Value != 1 || no == len(r.Metrics) {
			t.Errorf("%+v; %d do not answer", m, no)
		}
	})
}

func TestLatency(t *testing.T) {
	sc := scenario(t, "default")
	virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
		r := run(t, env, s, Latency())
		t.Log(r.Verdict)
		t.Logf("%-20s %10s %10s  [%s]", "latency", "truth", "estimate", "95 %")
		for _, m := range []struct{ model, family string }{{"claude-haiku-4-5-20251001", "haiku"}, {"claude-sonnet-4-6", ""}, {"claude-opus-4-8", ""}} {
			l := sc.Latency
			if m.family != "" {
				l = sc.Families[m.family]
			}
			for name, want := range map[string]float64{"ttft": l.TTFT.Seconds() + latencyInput/l.Prefill, "output_rate": l.PerSecond} {
				got, ok := r.Metric(name, "high", m.model)
				t.Logf("%-20s %10.3f %10.3f  [%.3f, %.3f] %s", name, want, got.Value, got.Low, got.High, m.model)
				if !ok || math.Abs(got.Value/want-1) > 0.15 {
					t.Errorf("%s of %s is %v, want about %v", name, m.model, got.Value, want)
				}
			}
		}
	})
}

// Answers whose bytes come together tell no rate; their lengths do.
func TestRateOfAnswersThatComeAtOnce(t *testing.T) {
	var tokens, whole []float64
	for i := range 60 {
		n := []float64{16, 128, 512}[i%3]
		tokens, whole = append(tokens, n), append(whole, 0.25+n/200+0.01*float64(i%5))
	}
	longer := ols(tokens, whole)
	if got := agreed(Metric{Value: 15_288, Low: 13_576, High: 17_921}, longer); got.Value < 190 || got.Value > 210 || !got.Provisional || got.Low > 200 || got.High < 200 {
		t.Errorf("%+v, want about 200, provisional", got)
	}
	for _, rate := range []float64{180, 200, 230} {
		if got := agreed(Metric{Value: rate}, longer); got.Value != rate || got.Provisional {
			t.Errorf("%+v, want %v as it was", got, rate)
		}
	}
}

func TestRefused(t *testing.T) {
	virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, _ *emulator.Server) {
		env.MaxSpend = 1000
		_, err := Run(t.Context(), env, Latency())
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Hint, "--max-spend") {
			t.Errorf("a cap that is too low: %v", err)
		}
		env.MaxSpend, env.Orgs = 0, nil
		if _, err = Run(t.Context(), env, Callable()); !errors.As(err, &refused) || refused.Hint == "" {
			t.Errorf("without an org: %v", err)
		}
	})
}

// What limits found is what the next experiment starts from, if it is the same
// provider.
func TestLearn(t *testing.T) {
	virtual(t, scenario(t, "tier-start"), func(t *testing.T, env *Env, s *emulator.Server) {
		r := run(t, env, s, Limits())
		other := *r
		other.Emulated = "other/1"
		env.Known = []*Result{&other}
		if env.Learn(); env.Orgs[0].BatchQueue != 0 {
			t.Error("learned from another provider")
		}
		env.Known = []*Result{r}
		env.Learn()
		if o := env.Orgs[0]; o.BatchQueue != 200_000 || o.BatchRPM != 1000 || o.Limits["haiku-4.5"].Input != 2_000_000 || o.Limits["haiku-4.5"].Source != sourceAPI {
			t.Errorf("learned %+v", o)
		}
	})
}

// What is estimated beforehand is near what is billed, and cheap.
func TestEstimatesHold(t *testing.T) {
	for _, x := range []Experiment{Limits(), Callable(), AdditivitySync(), Refill(), Latency()} {
		virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, s *emulator.Server) {
			env.Known = []*Result{run(t, env, s, Limits())}
			env.Learn()
			before := billed(s)
			est := x.Estimate(env)
			r, err := Run(t.Context(), env, x)
			if err != nil {
				t.Fatal(err)
			}
			want, got := est.Cost(env.table()), billed(s)-before
			t.Logf("%-16s estimated %s, billed %.4f in %.0f s (said %v)", x.Name(), want, float64(got)/1e9, r.Totals.WallS, est.Takes)
			if want > 8*price.Dollar || got > int64(want)*13/10 || r.Cost.Estimated != want {
				t.Errorf("%s: estimated %s, billed %d", x.Name(), want, got)
			}
		})
	}
}
