package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/journal"
)

// Two gateways on one journal leave each other's batches alone; when the one that
// carries a batch goes, the other goes on with it.
func TestTwoGatewaysOnOneJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newShop(t, emulator.Options{})
		first.open()
		second := &shop{t: t, net: first.net, server: first.server, dir: first.dir}
		id := first.made("ann", prompts("x", 300))
		time.Sleep(time.Second)
		second.open()
		defer second.close()
		time.Sleep(10 * time.Second)
		if r := second.ask("ann", "GET", batchesPath+"/"+id, nil); r.get("processing_status").Str != "in_progress" {
			t.Errorf("the other sees %s", r.body)
		}
		first.close()
		second.ended("ann", id)
		if got := len(second.results("ann", id)); got != 300 {
			t.Errorf("%d results", got)
		}
		if rows, distinct := second.billed(); rows != 300 || distinct != 300 {
			t.Errorf("%d rows are billed, %d different", rows, distinct)
		}
	})
}

// A batch that came while both served goes on, too, at the one that is left.
func TestLaterBatchOutlivesItsGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newShop(t, emulator.Options{})
		first.open()
		second := &shop{t: t, net: first.net, server: first.server, dir: first.dir}
		second.open()
		defer second.close()
		id := first.made("ann", prompts("x", 300))
		time.Sleep(time.Second)
		first.close()
		began := time.Now()
		second.ended("ann", id)
		if took := time.Since(began); took > 30*time.Minute {
			t.Errorf("it ended after %s", took)
		}
		if got := len(second.results("ann", id)); got != 300 {
			t.Errorf("%d results", got)
		}
		if rows, distinct := second.billed(); rows != 300 || distinct != 300 {
			t.Errorf("%d rows are billed, %d different", rows, distinct)
		}
	})
}

// A cancel is heard by whichever gateway carries the batch.
func TestCancelAtAnotherGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newShop(t, emulator.Options{})
		first.open()
		defer first.close()
		id := first.made("ann", prompts("x", 300))
		time.Sleep(time.Second)
		second := &shop{t: t, net: first.net, server: first.server, dir: first.dir}
		second.open()
		defer second.close()
		if r := second.ask("ann", "POST", batchesPath+"/"+id+"/cancel", nil); r.get("processing_status").Str != "canceling" {
			t.Errorf("cancel: %s", r.body)
		}
		began := time.Now()
		if end := first.ended("ann", id); end.get("request_counts.canceled").Int() != 300 || time.Since(began) > 5*time.Minute {
			t.Errorf("after %s it is %s", time.Since(began), end.body)
		}
	})
}

// Whoever runs the gateway may pause and cancel the job of a batch like any other.
func TestJobOfBatchIsControlled(t *testing.T) {
	inShop(t, func(s *shop) {
		id := s.made("ann", prompts("x", 100))
		time.Sleep(2 * time.Second)
		rec, _, err := s.journal.ClientBatch(t.Context(), id)
		if err != nil || rec.Job == 0 {
			t.Fatalf("job %d, %v", rec.Job, err)
		}
		list, err := s.journal.Jobs(t.Context(), time.Time{})
		if err != nil || len(list) != 1 || list[0].ID != rec.Job || list[0].Kind != journal.KindBatch || list[0].Client != "ann" {
			t.Errorf("jobs %+v, %v", list, err)
		}
		if err := s.journal.Signal(t.Context(), rec.Job, journal.Pause); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if r := s.ask("ann", "GET", batchesPath+"/"+id, nil); r.get("processing_status").Str != "in_progress" {
			t.Errorf("paused for an hour: %s", r.body)
		}
		if err := s.journal.Signal(t.Context(), rec.Job, journal.Cancel); err != nil {
			t.Fatal(err)
		}
		end := s.ended("ann", id)
		if end.get("request_counts.canceled").Int()+end.get("request_counts.succeeded").Int() != 100 || end.get("cancel_initiated_at").Type == gjson.Null {
			t.Errorf("canceled by the owner: %s", end.body)
		}
	})
}

// Batches of an emulator, or of another provider, are not carried on at this one.
func TestOtherProvidersBatchesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.open()
		id := s.made("ann", prompts("x", 5))
		s.close()
		s.fit = func(c *Config) { c.Emulated = "another/1" }
		s.open()
		time.Sleep(time.Hour)
		if r := s.ask("ann", "GET", batchesPath+"/"+id, nil); r.status != 404 {
			t.Errorf("another provider's: %s", said(r))
		}
		if rows, _ := s.billed(); rows > 5 {
			t.Errorf("%d rows are billed", rows)
		}
		s.close()
		s.fit = nil
		s.open()
		defer s.close()
		s.ended("ann", id)
		if rows, _ := s.billed(); rows != 5 {
			t.Errorf("%d rows are billed", rows)
		}
		if strings.Contains(id, ".") {
			t.Errorf("the id %s would be cut in file names", id)
		}
	})
}
