package gateway

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the API's own clients say of themselves and ask for goes on; what they
// show to us, or to any host, does not.
func TestUpstreamHeader(t *testing.T) {
	got := upstreamHeader(http.Header{
		"Anthropic-Version": {"2026-10-21"}, "Anthropic-Beta": {"a", "b,c"}, "Anthropic-Of-Tomorrow": {"1"},
		"Anthropic-Workspace-Id": {"wrkspc_1"},
		"Content-Type":           {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"Anthropic/Go 2"}, "X-App": {"cli"},
		"X-Stainless-Retry-Count": {"1"}, "X-Claude-Code-Session-Id": {"s"},
		"X-Api-Key": {"flk_secret"}, "Authorization": {"Bearer flk_secret"}, "Cookie": {"c=1"}, "Proxy-Authorization": {"x"},
		"X-Flotilla-Priority": {"bulk"}, "X-Forwarded-For": {"10.0.0.1"}, "Forwarded": {"for=10.0.0.1"}, "Via": {"1.1 x"}, "Host": {"evil"},
		"Accept-Encoding": {"gzip"}, "Content-Encoding": {"gzip"}, "Content-Length": {"5"}, "Connection": {"close, Anthropic-Of-Yesterday"},
		"Anthropic-Of-Yesterday": {"1"}, "Transfer-Encoding": {"chunked"}, "Expect": {"100-continue"}, "Traceparent": {"00-1"},
	})
	want := http.Header{
		"Anthropic-Version": {"2026-10-21"}, "Anthropic-Beta": {"a", "b,c"}, "Anthropic-Of-Tomorrow": {"1"},
		"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"Anthropic/Go 2"}, "X-App": {"cli"},
		"X-Stainless-Retry-Count": {"1"}, "X-Claude-Code-Session-Id": {"s"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Everything the API says comes back, but what is the connection's or the
// provider's host's alone.
func TestCopyHeader(t *testing.T) {
	got := http.Header{}
	copyHeader(got, http.Header{
		"Request-Id": {"req_1"}, "Anthropic-Ratelimit-Requests-Remaining": {"9"}, "Anthropic-Organization-Id": {"o"}, "Cf-Ray": {"1"},
		"Retry-After": {"3"}, "Content-Type": {"application/json"}, "Content-Length": {"9"}, "X-Of-Tomorrow": {"a", "b"},
		"Connection": {"keep-alive, X-Hop"}, "X-Hop": {"1"}, "Keep-Alive": {"5"}, "Transfer-Encoding": {"chunked"}, "Trailer": {"T"}, "Upgrade": {"h2c"},
		"Set-Cookie": {"__cf_bm=1"}, "Strict-Transport-Security": {"max-age=1; includeSubDomains"}, "Alt-Svc": {`h3=":443"`},
		"X-Flotilla-Org": {"somebody else's"},
	})
	want := http.Header{
		"Request-Id": {"req_1"}, "Anthropic-Ratelimit-Requests-Remaining": {"9"}, "Anthropic-Organization-Id": {"o"}, "Cf-Ray": {"1"},
		"Retry-After": {"3"}, "Content-Type": {"application/json"}, "Content-Length": {"9"}, "X-Of-Tomorrow": {"a", "b"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestBetasOf(t *testing.T) {
	got := betasOf(http.Header{"Anthropic-Beta": {"a, b", "", "c,"}})
	if d := cmp.Diff([]string{"a", "b", "c"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
