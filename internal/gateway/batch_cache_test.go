package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// A script of batches that is run again after a crash pays for nothing twice:
// what has ended is answered from the journal, what has not is given back. A
// second batch of the same requests is another one.
func TestCachedBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.fit = func(c *Config) { c.Cache = true }
		s.open()
		done := s.made("ann", prompts("a", 40))
		s.ended("ann", done)
		want := s.results("ann", done)
		open := s.made("ann", prompts("b", 40))
		time.Sleep(10 * time.Second)
		s.close()

		s.open()
		defer s.close()
		again := s.made("ann", prompts("a", 40))
		if again == done {
			t.Errorf("a batch that had ended was given out as a new one")
		}
		time.Sleep(time.Second)
		if r := s.ask("ann", "GET", batchesPath+"/"+again, nil); r.get("processing_status").Str != "ended" || r.get("request_counts.succeeded").Int() != 40 {
			t.Errorf("a second later: %s", r.body)
		}
		for id, res := range s.results("ann", again) {
			if res.Raw != want[id].Raw {
				t.Errorf("%s is answered %s, before %s", id, res.Raw, want[id].Raw)
			}
		}
		bobs := s.made("bob", prompts("b", 40))
		if bobs == open {
			t.Errorf("another client was given the batch")
		}
		s.ended("bob", bobs)
		if got := s.made("ann", prompts("b", 40)); got != open {
			t.Errorf("the batch that had not ended was created anew: %s, %s", got, open)
		}
		second := s.made("ann", prompts("b", 40))
		if second == open {
			t.Errorf("a second batch of the same requests was not created")
		}
		for _, id := range []string{open, second} {
			s.ended("ann", id)
			if got := len(s.results("ann", id)); got != 40 {
				t.Errorf("%s has %d results", id, got)
			}
		}
		if rows, distinct := s.billed(); rows != 160 || distinct != 80 {
			t.Errorf("%d rows are billed, %d different; want those of a, and b for ann twice, for bob once", rows, distinct)
		}
	})
}
