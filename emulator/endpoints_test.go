package emulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestModelsAPI(t *testing.T) {
	_, url := serve(t, Options{})
	key := map[string]string{"X-Api-Key": Key("low")}
	list := func(query string) modelList {
		t.Helper()
		res, body := ask{method: "GET", path: "/v1/models" + query, header: key}.do(t, url)
		var l modelList
		if err := json.Unmarshal(body, &l); err != nil || res.StatusCode != 200 {
			t.Fatalf("%d %s", res.StatusCode, body)
		}
		return l
	}
	all := list("?limit=1000")
	ids := func(l modelList) (out []string) {
		for _, m := range l.Data {
			out = append(out, m.ID)
		}
		return out
	}
	if got := ids(all); !slices.Contains(got, "claude-haiku-4-5-20251001") || slices.Contains(got, "claude-sonnet-4-5-20250929") || slices.Contains(got, "claude-mythos-5") {
		t.Errorf("models %v", got)
	}
	// Pages of four, forwards, are the whole list; a page back is the one before.
	var walked []string
	page := list("?limit=4")
	for {
		walked = append(walked, ids(page)...)
		if !page.HasMore {
			break
		}
		page = list("?limit=4&after_id=" + *page.LastID)
	}
	if !slices.Equal(walked, ids(all)) {
		t.Errorf("pages %v, all %v", walked, ids(all))
	}
	if back := list("?limit=2&before_id=" + walked[5]); !slices.Equal(ids(back), walked[3:5]) || !back.HasMore {
		t.Errorf("before %s: %v", walked[5], ids(back))
	}
	if retired := ids(list("?lifecycle[]=retired")); !slices.Contains(retired, "claude-3-opus-20240229") || slices.Contains(retired, "claude-opus-5") {
		t.Errorf("retired %v", retired)
	}
	res, body := ask{method: "GET", path: "/v1/models/claude-haiku-4-5", header: key}.do(t, url)
	var m modelJSON
	if err := json.Unmarshal(body, &m); err != nil || m.ID != "claude-haiku-4-5-20251001" || m.MaxTokens != 64000 || m.MaxInput != 200000 || m.Lifecycle != "active" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	for _, path := range []string{"/v1/models/claude-none", "/v1/models?limit=0", "/v1/models?after_id=x"} {
		if res, body := (ask{method: "GET", path: path, header: key}).do(t, url); res.StatusCode < 400 || !strings.Contains(string(body), `"type":"error"`) {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}

func TestRateLimitsAPI(t *testing.T) {
	sc, _ := Named("daily-cap-known")
	_, url := serve(t, Options{Scenario: sc})
	fetch := func(query, version string) limitPage {
		t.Helper()
		res, body := ask{method: "GET", path: "/v1/organizations/rate_limits" + query, header: map[string]string{"X-Api-Key": AdminKey("high"), "Anthropic-Version": version}}.do(t, url)
		var p limitPage
		if err := json.Unmarshal(body, &p); err != nil || res.StatusCode != 200 {
			t.Fatalf("%d %s", res.StatusCode, body)
		}
		if res.Header.Get("Anthropic-Workspace-Id") != "" || res.Header.Get("Anthropic-Organization-Id") != OrgID("high") {
			t.Errorf("headers %v", res.Header)
		}
		return p
	}
	old, now := fetch("", versionOld), fetch("", versionNew)
	seen := map[string]bool{}
	for i, e := range old.Data {
		if e.GroupType != e.Group.Type || now.Data[i].GroupType != "" {
			t.Errorf("%s: group_type %q under the old version, %q under the new", e.Group.DisplayName, e.GroupType, now.Data[i].GroupType)
		}
		for _, m := range e.Models {
			if seen[m] {
				t.Errorf("%s is in two groups", m)
			}
			seen[m] = true
		}
	}
	p := fetch("?model=claude-haiku-4-5", versionNew)
	want := []limitValue{
		{"requests_per_minute", 30_000},
		{"input_tokens_per_minute_cache_aware", 10_000_000},
		{"output_tokens_per_minute", 1_000_000},
		{"tokens_per_day", 20_000_000},
	}
	if len(p.Data) != 1 || !slices.Equal(p.Data[0].Limits, want) || p.Data[0].Group.DisplayName != "Claude Haiku 4.5" {
		t.Errorf("%+v", p)
	}
	p = fetch("?group_type=batch", versionNew)
	if len(p.Data) != 1 || !slices.Contains(p.Data[0].Limits, limitValue{"enqueued_batch_requests", 500_000}) || p.Data[0].Models != nil {
		t.Errorf("%+v", p)
	}
	n := 0
	for page := fetch("?limit=5", versionNew); ; page = fetch("?limit=5&page="+*page.NextPage, versionNew) {
		n += len(page.Data)
		if page.NextPage == nil {
			break
		}
	}
	if n != len(now.Data) {
		t.Errorf("%d on pages, %d in all", n, len(now.Data))
	}
	for query, key := range map[string]string{"?model=claude-none": AdminKey("high"), "?limit=x": AdminKey("high"), "?page=x": AdminKey("high"), "": Key("high")} {
		if res, body := (ask{method: "GET", path: "/v1/organizations/rate_limits" + query, header: map[string]string{"X-Api-Key": key}}).do(t, url); res.StatusCode < 400 {
			t.Errorf("%q with %s: %d %s", query, key, res.StatusCode, body)
		}
	}
}

func TestMe(t *testing.T) {
	_, url := serve(t, Options{})
	var me map[string]string
	get(t, url, "/v1/organizations/me", &me)
	if me["id"] != OrgID("high") || me["type"] != "organization" || me["name"] != "high" {
		t.Errorf("%v", me)
	}
}

// The usage report adds up to what the answers said.
func TestUsageReport(t *testing.T) {
	_, url := serve(t, Options{Start: epoch})
	var in, out int64
	for _, m := range []string{"claude-haiku-4-5", "claude-haiku-4-5", "claude-sonnet-4-6"} {
		_, body := ask{body: strings.Replace(hello, "claude-sonnet-4-6", m, 1)}.do(t, url)
		var v struct {
			Usage struct {
				In  int64 `json:"input_tokens"`
				Out int64 `json:"output_tokens"`
			}
		}
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
		in, out = in+v.Usage.In, out+v.Usage.Out
	}
	day := epoch.Truncate(24 * time.Hour).Format(time.RFC3339)
	var p usagePage
	get(t, url, "/v1/organizations/usage_report/messages?bucket_width=1h&starting_at="+epoch.Add(20*time.Minute-time.Hour).Format(time.RFC3339), &p)
	if len(p.Data) != 2 || p.Data[0].StartingAt != "2026-11-30T08:00:00Z" {
		t.Errorf("buckets do not begin at whole hours: %+v", p)
	}
	get(t, url, "/v1/organizations/usage_report/messages?starting_at="+day, &p)
	if len(p.Data) != 1 || len(p.Data[0].Results) != 1 || p.Data[0].Results[0].Uncached != in || p.Data[0].Results[0].Output != out || p.Data[0].Results[0].Model != nil {
		t.Errorf("%+v, want %d in, %d out", p, in, out)
	}
	get(t, url, "/v1/organizations/usage_report/messages?bucket_width=1m&group_by[]=model&group_by[]=service_tier&starting_at="+epoch.Format(time.RFC3339), &p)
	if len(p.Data) != 1 || len(p.Data[0].Results) != 2 || *p.Data[0].Results[0].ServiceTier != "standard" {
		t.Errorf("%+v", p)
	}
	get(t, url, "/v1/organizations/usage_report/messages?service_tiers[]=batch&starting_at="+day, &p)
	if len(p.Data) != 1 || len(p.Data[0].Results) != 0 {
		t.Errorf("batch: %+v", p)
	}
	get(t, url, "/v1/organizations/usage_report/messages?bucket_width=1h&limit=2&starting_at="+day, &p)
	if len(p.Data) != 2 || !p.HasMore {
		t.Errorf("%d buckets, more %v", len(p.Data), p.HasMore)
	}
	n := len(p.Data)
	for p.HasMore {
		get(t, url, "/v1/organizations/usage_report/messages?bucket_width=1h&limit=2&starting_at="+day+"&page="+*p.NextPage, &p)
		n += len(p.Data)
	}
	if n != 10 { // midnight to nine, and the hour that has begun
		t.Errorf("%d hours", n)
	}
	if res, _ := (ask{method: "GET", path: "/v1/organizations/usage_report/messages", header: map[string]string{"X-Api-Key": AdminKey("high")}}).do(t, url); res.StatusCode != 400 {
		t.Errorf("without starting_at: %d", res.StatusCode)
	}
}

// count_tokens needs no max_tokens, costs nothing, counts for no pool and has
// a limit of its own.
func TestCountTokens(t *testing.T) {
	sc := unlimited()
	sc.Name = "count"
	sc.Orgs[0].CountRPM = 3
	s, url := serve(t, Options{Scenario: sc})
	body := strings.Replace(hello, `"max_tokens":100,`, "", 1)
	for i := range 4 {
		res, b := ask{path: "/v1/messages/count_tokens", body: body}.do(t, url)
		if i < 3 {
			var v map[string]int64
			if err := json.Unmarshal(b, &v); err != nil || v["input_tokens"] != estimateOf(t, hello) {
				t.Errorf("%d %s", res.StatusCode, b)
			}
			continue
		}
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "20" {
			t.Errorf("%d, retry after %q: %s", res.StatusCode, res.Header.Get("Retry-After"), b)
		}
	}
	if st := s.Stats(); st.Requests != 0 || st.Billed != 0 {
		t.Errorf("counted as calls: %+v", st)
	}
}
