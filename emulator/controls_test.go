package emulator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func get(t *testing.T, url, path string, v any) {
	t.Helper()
	res, body := ask{method: "GET", path: path, header: map[string]string{"X-Api-Key": AdminKey("high")}}.do(t, url)
	if res.StatusCode != 200 {
		t.Fatalf("GET %s: %d %s", path, res.StatusCode, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, body)
	}
}

func control(t *testing.T, url, path, body string) string {
	t.Helper()
	res, b := ask{path: "/emulator/" + path, body: body}.do(t, url)
	if res.StatusCode != 200 {
		t.Fatalf("POST %s: %d %s", path, res.StatusCode, b)
	}
	return string(b)
}

// The stats object has exactly the fields that interface.md promises, and two
// more.
func TestStatsJSON(t *testing.T) {
	_, url := serve(t, Options{Seed: 5, Speed: 2})
	for i := range 3 {
		ask{body: strings.Replace(hello, "Hello", fmt.Sprint("body ", i/2), 1)}.do(t, url)
	}
	ask{body: `{"model":"claude-sonnet-4-6"}`}.do(t, url)
	ask{body: `{"model":"claude-none","max_tokens":1,"messages":[]}`}.do(t, url)
	ask{body: hello, header: map[string]string{"X-Api-Key": "sk-ant-emulated-nobody"}}.do(t, url)
	var got map[string]any
	get(t, url, "/emulator/stats", &got)
	if _, err := time.Parse(time.RFC3339, got["now"].(string)); err != nil {
		t.Error(err)
	}
	high := got["orgs"].(map[string]any)["high"].(map[string]any)
	pool := high["pools"].(map[string]any)["sonnet-4.x"].(map[string]any)
	if pool["billed_usd"] != got["billed_usd"] || len(got["billed_usd"].(string)) != len("0.123456789") {
		t.Errorf("billed %v and %v", pool["billed_usd"], got["billed_usd"])
	}
	for _, k := range []string{"input_tokens", "output_tokens", "billed_usd"} {
		if pool[k] == 0.0 || pool[k] == "0.000000000" {
			t.Errorf("%s is %v", k, pool[k])
		}
		delete(pool, k)
	}
	delete(got, "now")
	delete(got, "billed_usd")
	delete(got["orgs"].(map[string]any), "batch")
	delete(got["orgs"].(map[string]any), "low")
	refused := func(invalid float64) map[string]any {
		return map[string]any{
			"steady": 0.0, "acceleration": 0.0, "hidden": 0.0, "concurrency": 0.0, "overload": 0.0, "daily": 0.0,
			"spend": 0.0, "auth": 0.0, "queue_full": 0.0, "invalid": invalid, "injected": 0.0,
		}
	}
	want := map[string]any{
		"scenario": "unlimited", "seed": 5.0, "speed": 2.0, "requests": 6.0, "succeeded": 3.0,
		"distinct_bodies_succeeded": 2.0, "unknown_key": 1.0,
		"orgs": map[string]any{"high": map[string]any{
			"org_id": OrgID("high"),
			"pools": map[string]any{
				"sonnet-4.x": map[string]any{"requests": 3.0, "succeeded": 3.0, "refused": refused(0), "peak_in_flight": 1.0},
				"none": map[string]any{
					"requests": 2.0, "succeeded": 0.0, "refused": refused(2), "peak_in_flight": 0.0,
					"input_tokens": 0.0, "output_tokens": 0.0, "billed_usd": "0.000000000",
				},
			},
			"batches": map[string]any{
				"created": 0.0, "rows": 0.0, "succeeded": 0.0, "errored": 0.0, "canceled": 0.0, "expired": 0.0,
				"peak_queued": 0.0, "http_requests": 0.0, "billed_usd": "0.000000000",
			},
			"colleagues": map[string]any{"requests": 0.0, "refused": 0.0},
		}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, fault string
		check       func(res *http.Response, body string, err error) string
	}{
		{"status", `{"org":"high","path":"/v1/messages","kind":"status","status":529}`, wantStatus(529, `"overloaded_error"`)},
		{"status with body", `{"kind":"status","status":520,"body":"<html>","headers":{"Content-Type":"text/html"}}`, wantStatus(520, "<html>")},
		{"another org", `{"org":"low","kind":"status","status":500}`, wantStatus(200, "end_turn")},
		{"another path", `{"path":"/v1/models","kind":"status","status":500}`, wantStatus(200, "end_turn")},
		{"never", `{"share":0,"kind":"status","status":500}`, wantStatus(200, "end_turn")},
		{"used up", `{"count":0,"kind":"status","status":500}`, wantStatus(200, "end_turn")},
		{"later", `{"after_s":3600,"kind":"status","status":500}`, wantStatus(200, "end_turn")},
		{"drop before", `{"kind":"drop_before"}`, wantBroken},
		{"drop after", `{"kind":"drop_after"}`, wantBroken},
		{"truncate", `{"kind":"truncate"}`, wantBroken},
		{"no headers", `{"kind":"strip_headers"}`, wantLimit("")},
		{"lying headers", `{"kind":"lie_headers","factor":0.5}`, wantLimit("500000000")},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, url := serve(t, Options{})
			if got := control(t, url, "faults", c.fault); got != `{"id":"f1"}` {
				t.Errorf("made %s", got)
			}
			res, body, err := try(t, url)
			if fault := c.check(res, body, err); fault != "" {
				t.Error(fault)
			}
			res2, _ := ask{method: "DELETE", path: "/emulator/faults/f1"}.do(t, url)
			if res2.StatusCode != 200 {
				t.Errorf("deleting it: %d", res2.StatusCode)
			}
			if fault := wantStatus(200, "end_turn")(try(t, url)); fault != "" {
				t.Errorf("after it: %s", fault)
			}
		})
	}
}

func try(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	res, err := ask{body: hello}.send(t, url)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

func wantStatus(status int, part string) func(*http.Response, string, error) string {
	return func(res *http.Response, body string, err error) string {
		if err != nil || res.StatusCode != status || !strings.Contains(body, part) {
			return fmt.Sprint(res, body, err)
		}
		return ""
	}
}

func wantBroken(res *http.Response, body string, err error) string {
	if err == nil {
		return "no error: " + body
	}
	return ""
}

func wantLimit(limit string) func(*http.Response, string, error) string {
	return func(res *http.Response, body string, err error) string {
		if err != nil || res.Header.Get("Anthropic-Ratelimit-Requests-Limit") != limit {
			return fmt.Sprint(res, body, err)
		}
		return ""
	}
}

// A share of requests is drawn per arrival: a retry of a struck body may pass.
func TestFaultShareDrawsAnew(t *testing.T) {
	s, url := serve(t, Options{Seed: 4})
	control(t, url, "faults", `{"share":0.5,"kind":"status","status":500}`)
	passed, struck := 0, 0
	for range 60 {
		if res, _ := (ask{body: hello}).do(t, url); res.StatusCode == 200 {
			passed++
		} else {
			struck++
		}
	}
	if passed < 15 || struck < 15 {
		t.Errorf("%d passed, %d struck of one body", passed, struck)
	}
	if got := s.Stats().Orgs[0].Pools[0].Refused[Injected]; int(got) != struck {
		t.Errorf("%d counted, %d struck", got, struck)
	}
}

func TestFaultsAreChecked(t *testing.T) {
	_, url := serve(t, Options{})
	for _, body := range []string{
		`{"kind":"explode"}`, `{"kind":"status"}`, `{"kind":"delay","share":2}`,
		`{"kind":"delay","delay":5}`, `{"kind":"delay","delay_ms":5,"org":"nobody"}`, `{`,
		`{"kind":"delay"}`, `{"kind":"delay","delay_ms":-5}`, `{"kind":"lie_headers","factor":-3}`,
		`{"kind":"drop_before","for_s":-5}`, `{"kind":"drop_before","after_s":1e300}`,
	} {
		if res, b := (ask{path: "/emulator/faults", body: body}).do(t, url); res.StatusCode < 400 {
			t.Errorf("%s: %d %s", body, res.StatusCode, b)
		}
	}
	if res, _ := (ask{method: "DELETE", path: "/emulator/faults/f9"}).do(t, url); res.StatusCode != 404 {
		t.Errorf("deleting an unknown fault: %d", res.StatusCode)
	}
}

func TestClockSpeedIsChecked(t *testing.T) {
	_, url := serve(t, Options{})
	for _, body := range []string{`{}`, `{"speed":0}`, `{"speed":-1}`, `{"speed":1e18}`} {
		if res, b := (ask{path: "/emulator/clock", body: body}).do(t, url); res.StatusCode != 400 {
			t.Errorf("%s: %d %s", body, res.StatusCode, b)
		}
	}
	if got := control(t, url, "clock", `{"speed":20}`); !strings.HasPrefix(got, `{"speed":20,`) {
		t.Errorf("speed 20: %s", got)
	}
}

// A lie of no stated size is the usual one, not none.
func TestLieWithoutFactor(t *testing.T) {
	_, url := serve(t, Options{})
	limit := func(body string) float64 {
		res, _ := ask{body: body}.do(t, url)
		n, err := strconv.ParseFloat(res.Header.Get("anthropic-ratelimit-requests-limit"), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	honest := limit(hello)
	control(t, url, "faults", `{"kind":"lie_headers"}`)
	if got := limit(hello); got != honest*usualLie {
		t.Errorf("limit %g, then %g", honest, got)
	}
}

func TestResetBeginsAnew(t *testing.T) {
	_, url := serve(t, Options{Seed: 1})
	_, first := ask{body: hello}.do(t, url)
	if got := control(t, url, "reset", `{}`); got != `{"seed":1,"scenario":"unlimited"}` {
		t.Errorf("reset said %s", got)
	}
	_, again := ask{body: hello}.do(t, url)
	if string(first) != string(again) {
		t.Errorf("the same seed answers\n%s\nand\n%s", first, again)
	}
	control(t, url, "reset", `{"seed":9,"scenario":"tier-start"}`)
	var st statsJSON
	get(t, url, "/emulator/stats", &st)
	if st.Scenario != "tier-start" || st.Seed != 9 || st.Requests != 0 {
		t.Errorf("after a reset: %+v", st)
	}
	if res, _ := (ask{path: "/emulator/reset", body: `{"scenario":"no-such"}`}).do(t, url); res.StatusCode != 404 {
		t.Errorf("an unknown scenario: %d", res.StatusCode)
	}
}

func TestClockChangesSpeed(t *testing.T) {
	s, url := serve(t, Options{})
	control(t, url, "clock", `{"speed":1000}`)
	if got := s.clock.speed(); got != 1000 {
		t.Errorf("speed %v", got)
	}
	res, _ := ask{method: "GET", path: "/emulator/healthz"}.do(t, url)
	if res.StatusCode != 200 || res.Header.Get("Flotilla-Speed") != "1000" {
		t.Errorf("%d, speed header %q", res.StatusCode, res.Header.Get("Flotilla-Speed"))
	}
	if res, _ := (ask{path: "/emulator/clock", body: `{"speed":0}`}).do(t, url); res.StatusCode != 400 {
		t.Errorf("speed 0: %d", res.StatusCode)
	}
}

func TestFaultCount(t *testing.T) {
	_, url := serve(t, Options{})
	control(t, url, "faults", `{"count":2,"kind":"status","status":500}`)
	var got []int
	for range 4 {
		res, _ := ask{body: hello}.do(t, url)
		got = append(got, res.StatusCode)
	}
	if d := cmp.Diff([]int{500, 500, 200, 200}, got); d != "" {
		t.Error(d)
	}
}
