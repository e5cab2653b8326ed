package lab

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// odd runs refill in a world that is not the plain one.
func odd(t *testing.T, sc emulator.Scenario, check func(t *testing.T, r *Result, err error)) {
	t.Helper()
	virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
		env.Orgs = env.Orgs[:1]
		r, err := Run(t.Context(), env, Refill())
		if r == nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s; %d steady, %d acceleration, %d overloaded of %d", sc.Name, r.Verdict, r.Totals.Steady, r.Totals.Accelerated, r.Totals.Overloaded, r.Totals.Calls)
		check(t, r, err)
	})
}

func holds(t *testing.T, r *Result, name string, truth, within float64) {
	t.Helper()
	m, ok := r.Metric(name, "high", "")
	if !ok || math.Abs(m.Value/truth-1) > within {
		t.Errorf("%s is %.0f [%.0f, %.0f] (%v), true %.0f", name, m.Value, m.Low, m.High, ok, truth)
	}
}

func TestRefillFindsASmallBucket(t *testing.T) {
	for _, kappa := range []float64{0.3, 0.1} {
		sc := scenario(t, "tier-start")
		sc.Orgs[0].Capacity = kappa
		odd(t, sc, func(t *testing.T, r *Result, err error) {
			if err != nil {
				t.Fatal(err)
			}
			holds(t, r, "capacity_itpm", kappa*2_000_000, 0.02)
			holds(t, r, "capacity_rpm", kappa*1000, 0.02)
			holds(t, r, "refill_itpm", 2_000_000, 0.002)
			if r.Totals.Steady > 0 {
				t.Errorf("%d calls were refused", r.Totals.Steady)
			}
		})
	}
}

func TestRefillFindsALimitOnConcurrency(t *testing.T) {
	sc := scenario(t, "tier-start")
	sc.Orgs[0].Concurrency = 36
	odd(t, sc, func(t *testing.T, r *Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		holds(t, r, "concurrency_limit", 36, 0)
		holds(t, r, "refill_itpm", 2_000_000, 0.002)
	})
}

// A ceiling of acceleration refuses few calls, and the refill is found under it.
func TestRefillUnderAcceleration(t *testing.T) {
	for _, name := range []string{"acceleration", "acceleration-silent"} {
		odd(t, scenario(t, name), func(t *testing.T, r *Result, err error) {
			if err != nil {
				t.Fatal(err)
			}
			holds(t, r, "refill_itpm", 2_000_000, 0.005)
		})
	}
}

func TestRefillThroughStormsAndFaults(t *testing.T) {
	for _, name := range []string{"overload-storm", "flaky-network", "stragglers"} {
		odd(t, scenario(t, name), func(t *testing.T, r *Result, err error) {
			if err != nil {
				t.Fatal(err)
			}
			holds(t, r, "refill_itpm", 10_000_000, 0.01)
		})
	}
}

// Beside someone who empties the bucket nothing is measured, and it is said.
func TestRefillGivesWay(t *testing.T) {
	odd(t, scenario(t, "greedy-colleague"), func(t *testing.T, r *Result, err error) {
		var abort *AbortError
		if !errors.As(err, &abort) || r.Stopped == "" {
			t.Errorf("it went on: %v", err)
		}
	})
	odd(t, scenario(t, "no-headers"), func(t *testing.T, r *Result, err error) {
		if err != nil || !strings.Contains(strings.Join(r.NotShown, "\n"), "headers do not show it") {
			t.Errorf("%v, not shown: %q", err, r.NotShown)
		}
	})
}
