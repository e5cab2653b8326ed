package gateway

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/flotilla-llm/flotilla/emulator"
)

// A batch lives as one at the provider does: it is created, polled, ends, is read,
// and deleted.
func TestBatchLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, emulator.Options{})
		s.open()
		defer s.close()
		id := s.made("ann", prompts("q", 50))

		r := s.ask("ann", "GET", batchesPath+"/"+id, nil)
		if got := r.get("processing_status").Str; got != "in_progress" || r.header.Get("Retry-After") != "10" {
			t.Errorf("at first: %s, retry-after %q", got, r.header.Get("Retry-After"))
		}
		if got := r.get("request_counts").Raw; got != `{"processing":50,"succeeded":0,"errored":0,"canceled":0,"expired":0}` {
			t.Errorf("at first: %s", got)
		}
		if r = s.ask("ann", "GET", batchesPath+"/"+id+"/results", nil); r.status != 404 || r.get("error.message").Str != "Message Batch "+id+" has no available results." {
			t.Errorf("results before the end: %d %s", r.status, r.body)
		}
		if r = s.ask("ann", "DELETE", batchesPath+"/"+id, nil); r.status != 400 ||
			r.get("error.message").Str != "In progress batches cannot be deleted. Consider canceling the batch instead." {
			t.Errorf("delete before the end: %d %s", r.status, r.body)
		}

		r = s.ended("ann", id)
		if got := r.get("request_counts").Raw; got != `{"processing":0,"succeeded":50,"errored":0,"canceled":0,"expired":0}` {
			t.Errorf("at the end: %s", got)
		}
		if got := r.get("results_url").Str; got != "http://gateway.test:8787/v1/messages/batches/"+id+"/results" {
			t.Errorf("results_url is %q", got)
		}
		all := s.results("ann", id)
		for i := range 50 {
			res := all[fmt.Sprintf("q-%d", i)]
			if res.Get("type").Str != "succeeded" || res.Get("message.usage.service_tier").Str != "batch" {
				t.Errorf("row %d: %s", i, res.Raw)
			}
		}
		if len(all) != 50 {
			t.Errorf("%d results", len(all))
		}

		if r = s.ask("ann", "DELETE", batchesPath+"/"+id, nil); r.status != 200 || string(r.body) != `{"id":"`+id+`","type":"message_batch_deleted"}` {
			t.Errorf("delete: %d %s", r.status, r.body)
		}
		for _, path := range []string{"", "/results"} {
			if r = s.ask("ann", "GET", batchesPath+"/"+id+path, nil); r.status != http.StatusNotFound {
				t.Errorf("after the delete, %q answers %d", path, r.status)
			}
		}
		if ids, err := s.gateway.own.files.ids(); err != nil || len(ids) != 0 {
			t.Errorf("after the delete there are files of %v, %v", ids, err)
		}
	})
}
