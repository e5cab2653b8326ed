package emulator

import (
	"math"
	"slices"
	"testing"
	"time"
)

// sample draws n answers of one model in a scenario without limits.
func sample(t *testing.T, sc Scenario, name string, n int, a Arrival) []*Exchange {
	t.Helper()
	for i := range sc.Orgs {
		sc.Orgs[i].Limits = Limits{}
	}
	m := NewModel(sc, 1, epoch)
	out := make([]*Exchange, n)
	for i := range out {
		a.Model, a.Hash = model(t, name), hashOf(i)
		out[i] = m.Arrive(0, a)
	}
	return out
}

func quantile(xs []*Exchange, q float64, f func(*Exchange) float64) float64 {
	v := make([]float64, len(xs))
	for i, x := range xs {
		v[i] = f(x)
	}
	slices.Sort(v)
	return v[int(q*float64(len(v)-1))]
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: %.4g, want %.4g within %v", what, got, want, tolerance)
	}
}

// The medians and spreads of interface.md.
func TestLatency(t *testing.T) {
	ttft := func(x *Exchange) float64 { return x.FirstToken.Seconds() }
	rate := func(x *Exchange) float64 { return float64(x.Full) / (x.End - x.FirstToken).Seconds() }
	const oneSD = 0.8413
	for _, c := range []struct {
		model      string
		ttft, rate float64
	}{
		{"claude-sonnet-4-6", 1, 75}, {"claude-opus-5", 1, 75}, {"claude-fable-5", 1, 75}, {"claude-haiku-4-5", 0.25, 200},
	} {
		sc := base()
		sc.Stragglers = Stragglers{}
		xs := sample(t, sc, c.model, 20_000, Arrival{Est: 4000, In: 4000, Out: 100, MaxTokens: 100})
		near(t, c.model+" first token", quantile(xs, 0.5, ttft), c.ttft+0.1, 0.02) // 4,000/40,000 s of prompt
		near(t, c.model+" rate", quantile(xs, 0.5, rate), c.rate, 0.02)
		near(t, c.model+" first token, one sd up", quantile(xs, oneSD, ttft), c.ttft*math.Exp(0.35)+0.1, 0.02)
		near(t, c.model+" rate, one sd up", quantile(xs, oneSD, rate), c.rate*math.Exp(0.25), 0.02)
	}
}

func TestStragglers(t *testing.T) {
	sc := steady()
	sc.Stragglers = Stragglers{Share: 0.02, Min: 4, Max: 10}
	xs := sample(t, sc, "claude-sonnet-4-6", 50_000, Arrival{Est: 1, In: 1, Out: 75, MaxTokens: 75})
	usual := quantile(xs, 0.5, func(x *Exchange) float64 { return x.End.Seconds() })
	slow, least, most := 0, math.Inf(1), 0.0
	for _, x := range xs {
		if k := x.End.Seconds() / usual; k > 1.01 {
			slow++
			least, most = min(least, k), max(most, k)
		}
	}
	near(t, "share", float64(slow)/50_000, 0.02, 0.1)
	near(t, "least factor", least, 4, 0.02)
	near(t, "greatest factor", most, 10, 0.02)
}

// Steady answers all take the same time.
func TestSteadyIsConstant(t *testing.T) {
	for _, x := range sample(t, steady(), "claude-opus-5", 100, Arrival{Est: 40_000, In: 40_000, Out: 150, MaxTokens: 150}) {
		if x.End != 4*time.Second { // 1 s, 1 s of prompt, 2 s of output
			t.Fatalf("end %v", x.End)
		}
	}
}

func TestLoadSlowsDown(t *testing.T) {
	sc := steady()
	sc.LoadKnee = 10
	xs := sample(t, sc, "claude-sonnet-4-6", 21, Arrival{Est: 1, In: 1, Out: 75, MaxTokens: 75})
	flow := func(x *Exchange) float64 { return (x.End - x.FirstToken).Seconds() }
	near(t, "alone", flow(xs[0]), 1.01, 0.001)
	near(t, "the 20th", flow(xs[19]), 5, 0.001)
}

// Output tokens: median 60 or 0.6 of max_tokens, sd .3, cut at max_tokens.
func TestAnswerLengths(t *testing.T) {
	out := func(x *Exchange) float64 { return float64(x.Full) }
	xs := sample(t, base(), "claude-sonnet-4-6", 20_000, Arrival{Est: 1, MaxTokens: 4000})
	near(t, "median", quantile(xs, 0.5, out), 60, 0.02)
	near(t, "one sd up", quantile(xs, 0.8413, out), 60*math.Exp(0.3), 0.02)
	xs = sample(t, base(), "claude-sonnet-4-6", 20_000, Arrival{Est: 1, MaxTokens: 50})
	near(t, "median under max_tokens 50", quantile(xs, 0.5, out), 30, 0.04)
	cut := 0
	for _, x := range xs {
		if x.Full > 50 || x.Full == 50 != (x.Stop == MaxTokens) && x.Stop == MaxTokens {
			t.Fatalf("%d tokens, stop %d", x.Full, x.Stop)
		}
		if x.Stop == MaxTokens {
			cut++
		}
	}
	near(t, "share cut", float64(cut)/20_000, 0.5*math.Erfc(math.Log(50.5/30)/0.3/math.Sqrt2), 0.15)
}

// True input tokens spread around the estimate, so that it can be short.
func TestInputNoise(t *testing.T) {
	xs := sample(t, base(), "claude-sonnet-4-6", 20_000, Arrival{Est: 10_000, MaxTokens: 50})
	in := func(x *Exchange) float64 { return float64(x.Usage.Input) }
	near(t, "median", quantile(xs, 0.5, in), 10_000, 0.005)
	near(t, "one sd up", quantile(xs, 0.8413, in), 10_000*math.Exp(0.08), 0.005)
	a, b := modelOf(t, "default", 1), modelOf(t, "default", 99)
	if a.trueInput(500, hashOf(1)) != b.trueInput(500, hashOf(1)) {
		t.Error("the same body has other tokens under another seed")
	}
}

// An answer that fills the context window ends there.
func TestContextWindow(t *testing.T) {
	m := NewModel(one(Org{Limits: Limits{1e9, 1e12, 1e12}}), 1, epoch)
	x := m.Arrive(0, Arrival{Model: model(t, "claude-haiku-4-5"), Hash: hashOf(1), Est: 199_990, In: 199_990, Out: 50, MaxTokens: 60})
	if x.Stop != WindowExceeded || x.Usage.Output != 10 {
		t.Errorf("stop %d after %d tokens", x.Stop, x.Usage.Output)
	}
}

// Deltas spread over the whole answer, in order, and are at most twelve.
func TestDeltas(t *testing.T) {
	for _, out := range []int64{1, 9, 10, 11, 60, 120, 121, 5000} {
		x := sample(t, steady(), "claude-sonnet-4-6", 1, Arrival{Est: 1, In: 1, Out: out, MaxTokens: out, Stream: true})[0]
		n := x.Deltas()
		if n < 1 || n > 12 || out <= 10 && n != 1 {
			t.Errorf("%d tokens in %d deltas", out, n)
		}
		for i := range n {
			if at := x.DeltaAt(i); at < x.FirstByte || at >= x.End || i > 0 && at <= x.DeltaAt(i-1) {
				t.Errorf("%d tokens: delta %d of %d at %v, first byte %v, end %v", out, i, n, at, x.FirstByte, x.End)
			}
		}
	}
}
