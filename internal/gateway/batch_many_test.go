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
	for _, of := range []struct{ batches, rows int }{{20, 500}, {100, 100}} {
		many := took(t, of.batches, of.rows)
		ratio := many.Seconds() / alone.Seconds()
		t.Logf("10,000 rows: one batch %s, %d batches of %d %s, ratio %.2f", alone, of.batches, of.rows, many, ratio)
		if ratio > 1.25 {
			t.Errorf("%d batches of %d take %s, one of all rows %s", of.batches, of.rows, many, alone)
		}
	}
}

// A small batch does not wait for what a large one of its client has begun.
func TestSmallBatchBesideLarge(t *testing.T) {
	inShop(t, func(s *shop) {
		large := s.made("ann", prompts("x", 20_000))
		time.Sleep(5 * time.Minute)
		began := time.Now()
		small := s.made("ann", prompts("y", 3))
		s.ended("ann", small)
		took := time.Since(began)
		if s.ask("ann", "GET", batchesPath+"/"+large, nil).get("processing_status").Str == "ended" {
			t.Fatal("the large one has ended before")
		}
		t.Logf("3 rows beside 20,000: %s", took)
		if took > 15*time.Minute {
			t.Errorf("3 rows beside 20,000 take %s", took)
		}
		s.ask("ann", "POST", batchesPath+"/"+large+"/cancel", nil)
		s.ended("ann", large)
	})
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
