package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// A script of many small batches gets the fleet's route: its batches end about as
// soon as one job of all their rows would, and each has the results of its own
// rows.
func TestManySmallBatches(t *testing.T) {
	alone := took(t, 1, 10_000)
	many := took(t, 20, 500)
	t.Logf("10,000 rows: one batch %s, 20 batches of 500 %s, ratio %.2f", alone, many, many.Seconds()/alone.Seconds())
	if many > 2*alone {
		t.Errorf("20 batches take %s, one of all rows %s", many, alone)
	}
}

// took is how long some batches take, all created at once.
func took(t *testing.T, batches, rows int) (d time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.open()
		defer s.close()
		began := time.Now()
		var ids []string
		for i := range batches {
			ids = append(ids, s.made("ann", prompts(fmt.Sprintf("b%d", i), rows)))
		}
		first, last := time.Duration(0), time.Duration(0)
		for i, id := range ids {
			ended, err := time.Parse(time.RFC3339, s.ended("ann", id).get("ended_at").Str)
			if err != nil {
				t.Fatal(err)
			}
			took := ended.Sub(began)
			last = max(last, took)
			if first == 0 || took < first {
				first = took
			}
			for name, res := range s.results("ann", id) {
				if !strings.HasPrefix(name, fmt.Sprintf("b%d-", i)) || res.Get("type").Str != "succeeded" {
					t.Errorf("batch %d has %s: %s", i, name, res.Raw)
				}
			}
		}
		d = last
		t.Logf("%d × %d: the first ended after %s, the last after %s", batches, rows, first, last)
	})
	return d
}
