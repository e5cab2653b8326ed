package flotilla_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/flotilla-llm/flotilla"
)

// What the API says of a batch that it does not accept is told, once an org: none
// goes there again.
func TestRefusedBatchIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []flotilla.Notice
		d := &desk{create: func(int) (int, bool) { return 400, false }}
		cfg := d.config()
		cfg.Notify = func(n flotilla.Notice) {
			if n.Kind == flotilla.BatchRefused {
				told = append(told, n)
			}
		}
		fleet := newFleet(t, cfg)
		report, err := fleet.Carry(t.Context(), newPile(fleet, bodies(600)), flotilla.Options{Route: onlyBatches(), N: 600})
		if err != nil || report.Cause != flotilla.LanesClosed || d.creates < 2 {
			t.Errorf("%v, %v after %d creates", report.Cause, err, d.creates)
		}
		if len(told) != 1 || told[0].Org != "high" || !strings.Contains(told[0].Says, "not now") || told[0].Value == 0 {
			t.Errorf("%+v", told)
		}
	})
}
