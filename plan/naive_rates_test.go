package plan

import (
	"math"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// The naive controllers behave as the study's did (facts/control.md F.2):
// efficiency within 0.05 of its table, and refusals in its order of magnitude.
func TestNaiveControllersAsStudied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		world   string
		limits  emulator.Limits
		work    work
		cap     int
		policy  string
		eff     float64
		refused int
	}{
		{"RPM", startTier, rpmWork, 100, "aimd", .986, 183},
		{"ITPM", startTier, itpmWork, 100, "aimd", .997, 141},
		{"OTPM", startTier, otpmWork, 200, "aimd", .656, 37},
		{"cap", scaleTier, capWork, 100, "aimd", .742, 0},
		{"RPM", startTier, rpmWork, 100, "inspect", .997, 2308},
		{"ITPM", startTier, itpmWork, 100, "inspect", .999, 3820},
		{"OTPM", startTier, otpmWork, 200, "inspect", .962, 914},
		{"cap", scaleTier, capWork, 100, "inspect", .963, 0},
	} {
		sc := world(one(c.limits))
		s := setting(&sc, c.work, 1)
		s.Lanes[0].Cap = c.cap
		s.Brain = newNaive(1, policies[c.policy])
		o := rehearse(sc, 1, s)
		b := boundsOf(&sc, c.cap, o)
		if eff := b.eff(o); math.Abs(eff-c.eff) > .05 {
			t.Errorf("%s at %s: efficiency %.3f, studied %.3f", c.policy, c.world, eff, c.eff)
		}
		if got := o.RateLimited(); got > 5*c.refused || c.refused > 5*got {
			t.Errorf("%s at %s: %d refusals, studied %d", c.policy, c.world, got, c.refused)
		}
		if o.Succeeded != c.work.n {
			t.Errorf("%s at %s: %d of %d succeeded", c.policy, c.world, o.Succeeded, c.work.n)
		}
	}
}
