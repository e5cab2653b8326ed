package flotilla_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// notebook is a Memory.
type notebook struct {
	mu    sync.Mutex
	hints map[string]map[string]float64
	uses  []flotilla.DayUse
}

func (n *notebook) DayUse(string, string, time.Time) ([]flotilla.DayUse, error) { return n.uses, nil }

func (n *notebook) Hints(org, pool string) (map[string]float64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hints[org+"/"+pool], nil
}

func (n *notebook) Remember(org, pool string, hints map[string]float64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hints == nil {
		n.hints = map[string]map[string]float64{}
	}
	if n.hints[org+"/"+pool] == nil {
		n.hints[org+"/"+pool] = map[string]float64{}
	}
	for k, v := range hints {
		n.hints[org+"/"+pool][k] = v
	}
	return nil
}

// What a run learned of its lanes opens the next one wider, and tells the
// limits that headers showed.
func TestTheNextRunRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		memory := &notebook{}
		run := func() time.Duration {
			cfg := w.config()
			cfg.Orgs, cfg.Memory = orgs("high"), memory
			fleet, err := flotilla.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			report, err := fleet.Carry(t.Context(), &rows{fleet: fleet, bodies: bodies(6000)}, flotilla.Options{N: 6000})
			if err != nil {
				t.Fatal(err)
			}
			if err := fleet.Close(); err != nil {
				t.Fatal(err)
			}
			return report.Ended.Sub(report.Started)
		}
		first, second := run(), run()
		if second >= first {
			t.Errorf("the second run took %v, the first %v", second, first)
		}
		if rpm := memory.hints["high/haiku-4.5"]["rpm"]; rpm != 30_000 {
			t.Errorf("%v requests a minute remembered, want 30,000", rpm)
		}
	})
}

// A daily cap that an earlier run learned, and what was used of it, hold from
// the first call on.
func TestADailyCapIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		memory := &notebook{
			hints: map[string]map[string]float64{"high/haiku-4.5": {"tokens_per_day": 100_000}},
			uses:  []flotilla.DayUse{{Start: time.Now().Add(-time.Hour), Tokens: 99_500}},
		}
		cfg := w.config()
		cfg.Orgs, cfg.Memory = orgs("high"), memory
		fleet := newFleet(t, cfg)
		src := &rows{fleet: fleet, bodies: bodies(500)}
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{N: 500, MaxWaitDaily: time.Minute, MaxWait: time.Minute})
		if err != nil || report.Cause != flotilla.LanesClosed {
			t.Fatalf("cause %v, %v, %d results", report.Cause, err, len(src.got))
		}
		if len(src.got) > 20 {
			t.Errorf("%d calls into a day that was used up", len(src.got))
		}
	})
}
