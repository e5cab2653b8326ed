package gateway

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/flotilla-llm/flotilla/emulator"
)

// A batch goes up with the version and the betas of its create, and so do those
// of its rows that an org gave back.
func TestVersionAndBetasGoUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, heads := watched(t, emulator.Options{})
		s.open()
		defer s.close()
		s.ended("ann", s.made("ann", prompts("x", 2), "anthropic-beta", "zeta-2026-01-01, alpha-2026-01-01", "anthropic-version", "2026-10-21"))
		s.ended("ann", s.made("ann", prompts("y", 2)))
		if len(*heads) < 2 {
			t.Fatalf("%d creates", len(*heads))
		}
		first, last := (*heads)[0], (*heads)[len(*heads)-1]
		if got := first.Get("Anthropic-Version") + " " + strings.Join(first["Anthropic-Beta"], ","); got != "2026-10-21 alpha-2026-01-01,zeta-2026-01-01" {
			t.Errorf("the first went up with %q", got)
		}
		if got := last.Get("Anthropic-Version") + " " + strings.Join(last["Anthropic-Beta"], ","); got != "2023-06-01 " {
			t.Errorf("the second went up with %q", got)
		}
	})
}
