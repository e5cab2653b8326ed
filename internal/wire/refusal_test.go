package wire

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// env is the API's error envelope.
func env(kind, message, code string) string {
	details := "null"
	if code != "" {
		details = `{"error_code":"` + code + `"}`
	}
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `","details":` + details + `},"request_id":"req_1"}`
}

func header(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(kv); i += 2 {
		h.Add(kv[i], kv[i+1])
	}
	return h
}

const challenge = `<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>cf-challenge</body></html>`

// Every row of facts/claude-api.md 2.2, 2.4 and 8 that is an answer.
func TestClassify(t *testing.T) {
	const (
		perMinute = `This request would exceed your organization's rate limit of 30,000 input tokens per minute (org: 0-0, model: m).`
		ramp      = `This request would exceed your organization's maximum usage increase rate for input tokens per minute.`
	)
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   Class
	}{
		// 2.2
		{"400", 400, nil, env("invalid_request_error", "max_tokens: Field required", ""), Invalid},
		{"401", 401, nil, env("authentication_error", "API key is invalid.", ""), Auth},
		{"401 older text", 401, nil, env("authentication_error", "invalid x-api-key", ""), Auth},
		{"402", 402, nil, env("billing_error", "payment problem", ""), Permission},
		{"402 linked billing", 402, nil, env("billing_error", "x", "linked_organization_billing_unavailable"), Permission},
		{"402 linked spend", 402, nil, env("billing_error", "x", "linked_organization_spend_limit_reached"), Spend},
		{"403", 403, nil, env("permission_error", "Your API key does not have permission to use the specified resource.", ""), Permission},
		{"403 model", 403, nil, env("permission_error", "Your workspace may not use the model claude-x.", ""), NoModel},
		{"403 model named", 403, nil, env("permission_error", "Your organization does not have access to claude-mythos-5.", ""), NoModel},
		{"403 profile", 403, nil, env("permission_error", "model", "user_profile_not_billable"), Permission},
		{"404 model", 404, nil, env("not_found_error", "model: claude-sonnet-4-5", ""), NoModel},
		{"404 path", 404, nil, env("not_found_error", "Not Found", ""), Invalid},
		{"404 batch", 404, nil, env("not_found_error", "Message Batch msgbatch_1 not found.", ""), Invalid},
		{"408", 408, nil, "", Conflict},
		{"409", 409, nil, env("conflict_error", "x", ""), Conflict},
		{"413", 413, nil, env("request_too_large", "Request exceeds the maximum size", ""), Invalid},
		{"413 decoded", 413, nil, env("request_too_large", "x", "request_body_too_large_after_decoding"), Invalid},
		{"429", 429, header("retry-after", "7"), env("rate_limit_error", perMinute, ""), RateLimited},
		{"500", 500, nil, env("api_error", "Internal server error", ""), ServerError},
		{"502 HTML", 502, nil, "<html>bad gateway</html>", ServerError},
		{"503", 503, nil, env("api_error", "x", ""), ServerError},
		{"503 cmek", 503, nil, env("invalid_request_error", "x", "cmek_key_unreachable"), ServerError},
		{"504", 504, nil, env("timeout_error", "Request timed out", ""), Unknown504},
		{"504 api_error", 504, nil, env("api_error", "x", ""), Unknown504},
		{"504 HTML", 504, nil, "<html>gateway time-out</html>", Unknown504},
		{"529", 529, nil, env("overloaded_error", "Overloaded", ""), Overloaded},
		{"529 compaction", 529, nil, env("overloaded_error", "x", "compaction_unavailable"), Overloaded},
		// 2.4
		{"ramp code", 429, header("retry-after", "5"), env("rate_limit_error", "x", "ramp_limit_exceeded"), Acceleration},
		{"ramp text", 429, header("retry-after", "5"), env("rate_limit_error", ramp, ""), Acceleration},
		{"tier spend cap", 429, nil, env("rate_limit_error", "You have reached your API usage limits: your organization has crossed its monthly API usage threshold. You will regain access on 2026-12-01 at 00:00 UTC.", "enforced_spend_limit_reached"), Spend},
		{"contract spend", 429, nil, env("rate_limit_error", "x", "contract_spend_limit_reached"), Spend},
		{"spend by text alone", 429, nil, env("rate_limit_error", "You have reached your API usage limits: x", ""), Spend},
		{"own org limit", 400, nil, env("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.", ""), Spend},
		{"own workspace limit", 400, nil, env("invalid_request_error", "You have reached your specified workspace API usage limits.", ""), Spend},
		{"credit", 400, nil, env("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.", ""), Credit},
		{"hold", 400, nil, env("invalid_request_error", "x", "organization_on_hold"), Hold},
		{"cmek disabled", 400, nil, env("invalid_request_error", "x", "cmek_key_disabled"), Permission},
		{"unknown code", 400, nil, env("invalid_request_error", "x", "code_of_tomorrow"), Invalid},
		{"unknown type", 429, nil, env("error_of_tomorrow", "x", ""), RateLimited},
		// texts of 2.4 and control.md 0, B.6
		{"older text", 429, nil, env("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit", ""), RateLimited},
		{"account text", 429, nil, env("rate_limit_error", "This request would exceed your account's rate limit. Please try again later.", ""), RateLimited},
		{"bare text", 429, nil, env("rate_limit_error", "Rate limited", ""), RateLimited},
		{"no fast mode", 429, nil, env("rate_limit_error", "x rate limit of 0 fast mode input tokens per minute", ""), NoModel},
		{"concurrency", 429, nil, env("rate_limit_error", "Number of concurrent connections has exceeded your rate limit. Please try again later.", ""), Concurrency},
		{"daily", 429, header("retry-after", "30"), env("rate_limit_error", "Number of request tokens has exceeded your daily rate limit", ""), Daily},
		{"per day", 429, header("retry-after", "30"), env("rate_limit_error", "rate limit of 20,000,000 tokens per day", ""), Daily},
		{"long wait", 429, header("retry-after", "301"), env("rate_limit_error", "Rate limited", ""), Daily},
		{"not so long", 429, header("retry-after", "300"), env("rate_limit_error", "Rate limited", ""), RateLimited},
		{"queue", 429, nil, env("rate_limit_error", "rate limit of 200,000 batch requests in processing queue", ""), QueueFull},
		{"queue, other words", 429, nil, env("rate_limit_error", "Your batch queue is full.", ""), QueueFull},
		{"rate of batch calls", 429, nil, env("rate_limit_error", "rate limit of 1,000 batch requests per minute", ""), RateLimited},
		// 8
		{"529 without anything", 529, header("x-should-retry", "true"), "", Overloaded},
		{"429 without headers", 429, header("x-should-retry", "true"), env("rate_limit_error", "Rate limited", ""), RateLimited},
		{"429 HTML", 429, header("content-type", "text/html"), "<html>1015</html>", RateLimited},
		{"520 HTML", 520, nil, "<html>unknown error</html>", ServerError},
		{"524 HTML", 524, nil, "<html>a timeout occurred</html>", ServerError},
		{"520 empty", 520, nil, "", ServerError},
		{"403 challenge", 403, header("content-type", "text/html; charset=UTF-8"), challenge, ServerError},
		{"403 challenge, empty", 403, header("content-type", "text/html"), "", ServerError},
		{"403 empty", 403, nil, "", Permission},
		{"522 problem", 522, nil, `{"type":"x","title":"t","status":522,"cloudflare_error":true,"retryable":true,"retry_after":120}`, ServerError},
		{"403 problem", 403, nil, `{"cloudflare_error":true,"retryable":false}`, ServerError},
		{"error event, overload", 200, nil, `{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}`, Overloaded},
		{"error event, internal", 200, nil, `{"type":"error","error":{"details":null,"type":"api_error","message":"x"}}`, ServerError},
		{"error event, limit", 200, nil, env("rate_limit_error", perMinute, ""), RateLimited},
		{"413 of the network", 413, nil, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, Invalid},
		{"413 HTML", 413, nil, "<html>413</html>", Invalid},
		// others
		{"batch row", 0, nil, env("overloaded_error", "Overloaded", ""), Overloaded},
		{"404 HTML", 404, nil, "<html>nginx</html>", ServerError},
		{"407", 407, nil, "", ServerError},
		{"302", 302, nil, "", ServerError},
		{"400 empty", 400, nil, "", Invalid},
		{"401 JSON of a proxy", 401, nil, `{"message":"Unauthorized"}`, Auth},
		{"prompt too long", 400, nil, env("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ""), Invalid},
	} {
		r := Classify(c.status, c.header, []byte(c.body))
		if r.Class != c.want {
			t.Errorf("%s: %s, want %s (%+v)", c.name, r.Class, c.want, r)
		}
	}
}

func TestClassifyDetails(t *testing.T) {
	h := header("retry-after", "12", "request-id", "req_9")
	r := Classify(429, h, []byte(env("rate_limit_error", "x", "ramp_limit_exceeded")))
	if r.RetryAfter != 12*time.Second || r.RequestID != "req_9" || r.Type != "rate_limit_error" || r.Code != "ramp_limit_exceeded" || !r.Envelope {
		t.Errorf("%+v", r)
	}
	r = Classify(522, nil, []byte(`{"cloudflare_error":true,"retry_after":120}`))
	if r.RetryAfter != 2*time.Minute || r.Envelope {
		t.Errorf("problem report: %+v", r)
	}
	r = Classify(429, header("retry-after", "1"), []byte(`{"retry_after":120}`))
	if r.RetryAfter != time.Second {
		t.Errorf("a header yields to a body: %+v", r)
	}
	r = Classify(403, nil, []byte(challenge))
	if !strings.HasPrefix(r.Message, "<!DOCTYPE html>") || r.Type != "" || r.Envelope {
		t.Errorf("challenge: %+v", r)
	}
	long := Classify(500, nil, []byte(strings.Repeat("é\n", 300)))
	if len(long.Message) > 2*excerptBytes || strings.Contains(long.Message, "\n") {
		t.Errorf("excerpt: %q", long.Message)
	}
}

func TestRefusalNamesItsLimit(t *testing.T) {
	for text, want := range map[string]Dim{
		"would exceed your organization's rate limit of 30,000 input tokens per minute (org: x)": Input,
		"would exceed your organization's rate limit of 8,000 output tokens per minute":          Output,
		"would exceed your organization's rate limit of 50 requests per minute":                  Requests,
		"would exceed your organization's rate limit of 90,000 tokens per minute":                Tokens,
		"Number of request tokens has exceeded your per-minute rate limit":                       Input,
		"Number of requests has exceeded your per-minute rate limit":                             Requests,
		"Rate limited": Unnamed,
	} {
		if r := Classify(429, nil, []byte(env("rate_limit_error", text, ""))); r.Dim != want || r.Class != RateLimited {
			t.Errorf("%s: dimension %d, class %s; want %d", text, r.Dim, r.Class, want)
		}
	}
}

// facts/control.md 0: the text that hands us ceiling, step and clock.
func TestAccelerationNumbers(t *testing.T) {
	text := "This request would exceed your organization's maximum usage increase rate for input tokens per minute (org: x). " +
		"Your current limit is 58,276 input tokens per minute, and will increase to 68,276 at the next minute boundary."
	r := Classify(429, header("retry-after", "22"), []byte(env("rate_limit_error", text, "")))
	if r.Class != Acceleration || r.Dim != Input || r.CeilingNow != 58276 || r.CeilingNext != 68276 {
		t.Errorf("%+v", r)
	}
	r = Classify(429, nil, []byte(env("rate_limit_error", "maximum usage increase rate for output tokens per minute", "ramp_limit_exceeded")))
	if r.Class != Acceleration || r.Dim != Output || r.CeilingNow != 0 || r.CeilingNext != 0 {
		t.Errorf("without numbers: %+v", r)
	}
}

func TestSpendReopens(t *testing.T) {
	for text, want := range map[string]time.Time{
		"You have reached your API usage limits: … You will regain access on 2026-12-01 at 00:00 UTC.": time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		"You have reached your API usage limits. You will regain access on 2026-12-01 at 06:30 UTC.":   time.Date(2026, 12, 1, 6, 30, 0, 0, time.UTC),
		"You have reached your API usage limits. You will regain access on 2026-12-01":                 time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		"You have reached your API usage limits. You will regain access on Tuesday":                    {},
		"You have reached your API usage limits.":                                                      {},
	} {
		r := Classify(400, nil, []byte(env("invalid_request_error", text, "")))
		if r.Class != Spend || !r.ReopensAt.Equal(want) {
			t.Errorf("%s: %s, reopens %s; want %s", text, r.Class, r.ReopensAt, want)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(429, "12", "application/json", []byte(env("rate_limit_error", "current limit is 5, and will increase to", "ramp_limit_exceeded")))
	f.Add(403, "", "text/html", []byte(challenge))
	f.Add(522, "x", "", []byte(`{"cloudflare_error":true,"retry_after":1e999,"error":"s"}`))
	f.Add(400, "-1", "", []byte(`{"error":{"type":"a","details":{"error_code":5},"message":["regain access on "]}}`))
	f.Add(0, "", "", []byte{0xff, 0xfe})
	f.Fuzz(func(t *testing.T, status int, wait, media string, body []byte) {
		r := Classify(status, header("retry-after", wait, "content-type", media), body)
		if r.Class >= NumClasses || r.RetryAfter < 0 || r.RetryAfter > longestWait || r.CeilingNow < 0 {
			t.Fatalf("%+v", r)
		}
		if r.Envelope != (r.Type != "") {
			t.Fatalf("envelope without a type: %+v", r)
		}
	})
}
