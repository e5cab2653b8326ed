package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func sleepPoll() { time.Sleep(pollAgain) }

// Pages are cut as the API cuts them.
func TestListPagesAsAPI(t *testing.T) {
	inShop(t, func(s *shop) {
		var ours, theirs []string // newest first
		for range 7 {
			ours = append([]string{s.made("ann", prompts("x", 1))}, ours...)
			time.Sleep(time.Second)
		}
		for len(theirs) < 7 {
			theirs = append([]string{s.direct("POST", batchesPath, strings.NewReader(prompts("x", 1)), "x-api-key", "sk-ant-emulated-low").get("id").Str}, theirs...)
			time.Sleep(time.Second)
		}
		all := s.direct("GET", batchesPath+"?limit=1000", nil, "x-api-key", "sk-ant-emulated-low")
		var listed []string
		for _, v := range all.get("data.#.id").Array() {
			listed = append(listed, v.Str)
		}
		if len(listed) < 7 {
			t.Fatalf("direct: %s", all.body)
		}
		// what the gateway's own batches made there stands behind
		for _, query := range []string{
			"", "?limit=3", "?limit=7", "?limit=1000", "?limit=0", "?limit=1001", "?limit=x",
			"?limit=2&after_id=1", "?limit=2&after_id=4", "?after_id=6", "?limit=2&before_id=3", "?limit=3&before_id=3", "?limit=4&before_id=3", "?before_id=0",
			"?after_id=none", "?before_id=none",
		} {
			got := s.ask("ann", "GET", batchesPath+named(query, ours), nil)
			want := s.direct("GET", batchesPath+named(query, theirs), nil, "x-api-key", "sk-ant-emulated-low")
			if diff := cmp.Diff(paged(want, listed[:7]), paged(got, ours)); diff != "" && want.status == 200 && len(listed) == 7 {
				t.Errorf("%q (-direct +gateway)\n%s", query, diff)
			}
			if got.status != want.status || want.status != 200 && got.get("error.type").Str != want.get("error.type").Str {
				t.Errorf("%q: %s, direct %s", query, said(got), said(want))
			}
		}
		if r := s.ask("bob", "GET", batchesPath, nil); string(r.body) != `{"data":[],"has_more":false,"first_id":null,"last_id":null}` {
			t.Errorf("another client sees %s", r.body)
		}
	})
}

// named puts an id in the place of its number.
func named(query string, ids []string) string {
	for _, mark := range []string{"after_id=", "before_id="} {
		i := strings.Index(query, mark)
		if i >= 0 && query[i+len(mark)] != 'n' {
			return query[:i+len(mark)] + ids[query[i+len(mark)]-'0']
		}
	}
	return query
}

// page is a page with numbers in the place of ids.
type page struct {
	Data        []int
	More        bool
	First, Last int
}

func paged(h heard, ids []string) (p page) {
	number := func(v gjson.Result) int { return slices.Index(ids, v.Str) }
	for _, v := range h.get("data.#.id").Array() {
		p.Data = append(p.Data, number(v))
	}
	p.More, p.First, p.Last = h.get("has_more").Bool(), number(h.get("first_id")), number(h.get("last_id"))
	return p
}

// To anybody but its client a batch is none at all, whatever is asked of it.
func TestOthersBatchIsNone(t *testing.T) {
	inShop(t, func(s *shop) {
		id := s.made("ann", prompts("x", 2))
		s.ended("ann", id)
		for _, verb := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"POST", "/cancel"}, {"GET", "/results"}} {
			others := s.ask("bob", verb[0], batchesPath+"/"+id+verb[1], nil)
			none := s.ask("bob", verb[0], batchesPath+"/msgbatch_none"+verb[1], nil)
			direct := s.direct(verb[0], batchesPath+"/msgbatch_none"+verb[1], nil)
			if others.status != 404 || said(others) != strings.ReplaceAll(said(none), "msgbatch_none", id) {
				t.Errorf("%v: %s, of one that never was %s", verb, said(others), said(none))
			}
			if said(none) != said(direct) {
				t.Errorf("%v: %s, direct %s", verb, said(none), said(direct))
			}
		}
		for _, path := range []string{"/" + id + "/nothing", "/" + id + "/results/x", "//results", "/../x"} {
			if r := s.ask("ann", "GET", batchesPath+path, nil); r.status != http.StatusNotFound {
				t.Errorf("%s: %s", path, said(r))
			}
		}
		if r := s.ask("ann", "PUT", batchesPath+"/"+id, nil); r.status != http.StatusNotFound {
			t.Errorf("PUT: %s", said(r))
		}
		if got := len(s.results("ann", id)); got != 2 {
			t.Errorf("its client has %d results", got)
		}
	})
}

// A canceled batch ends with a result for every row.
func TestCancel(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 90 * time.Second, 3 * time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			inShop(t, func(s *shop) {
				id := s.made("ann", prompts("x", 400))
				time.Sleep(after)
				var wg sync.WaitGroup
				for range 3 { // whoever comes second changes nothing
					wg.Go(func() {
						r := s.ask("ann", "POST", batchesPath+"/"+id+"/cancel", nil)
						if r.status != 200 || r.get("processing_status").Str != "canceling" || !r.get("cancel_initiated_at").Exists() {
							t.Errorf("cancel: %d %s", r.status, r.body)
						}
					})
				}
				wg.Wait()
				began := s.ask("ann", "GET", batchesPath+"/"+id, nil).get("cancel_initiated_at").Str
				end := s.ended("ann", id)
				counts := end.get("request_counts")
				var n int64
				counts.ForEach(func(_, v gjson.Result) bool { n += v.Int(); return true })
				if n != 400 || counts.Get("processing").Int() != 0 || after < 2*time.Minute && counts.Get("canceled").Int() == 0 {
					t.Errorf("counts %s", counts.Raw)
				}
				types := map[string]int64{}
				for _, res := range s.results("ann", id) {
					types[res.Get("type").Str]++
				}
				if types["canceled"] != counts.Get("canceled").Int() || types["succeeded"] != counts.Get("succeeded").Int() {
					t.Errorf("results %v, counts %s", types, counts.Raw)
				}
				t.Logf("canceled after %s: %v", after, types)
				again := s.ask("ann", "POST", batchesPath+"/"+id+"/cancel", nil)
				if again.status != 200 || again.get("processing_status").Str != "ended" || again.get("cancel_initiated_at").Str != began {
					t.Errorf("cancel after the end: %d %s", again.status, again.body)
				}
			})
		})
	}
}
