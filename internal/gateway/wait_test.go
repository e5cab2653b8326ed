package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestReadAsk(t *testing.T) {
	limited := Caller{Name: "team", Priority: flotilla.Normal}
	for name, c := range map[string]struct {
		caller Caller
		header map[string]string
		want   ask
	}{
		"nothing":              {local, nil, ask{Priority: flotilla.Normal, MaxWait: usualWait}},
		"the SDK's timeout":    {local, map[string]string{"X-Stainless-Timeout": "60"}, ask{Priority: flotilla.Normal, MaxWait: 54 * time.Second}},
		"the Python SDK's":     {local, map[string]string{"X-Stainless-Read-Timeout": "100.0"}, ask{Priority: flotilla.Normal, MaxWait: 90 * time.Second}},
		"no timeout":           {local, map[string]string{"X-Stainless-Timeout": "0"}, ask{Priority: flotilla.Normal, MaxWait: usualWait}},
		"a timeout of nothing": {local, map[string]string{"X-Stainless-Timeout": "NOT_GIVEN"}, ask{Priority: flotilla.Normal, MaxWait: usualWait}},
		"interactive, local":   {local, map[string]string{headerPriority: "Interactive"}, ask{Priority: flotilla.Interactive, MaxWait: usualWait}},
		"lower than its key":   {limited, map[string]string{headerPriority: "bulk"}, ask{Priority: flotilla.Bulk, MaxWait: usualWait}},
		"as its key":           {limited, map[string]string{headerPriority: " normal "}, ask{Priority: flotilla.Normal, MaxWait: usualWait}},
		"higher, as its key may": {
			Caller{Name: "team", Priority: flotilla.Normal, Highest: flotilla.Interactive},
			map[string]string{headerPriority: "interactive"},
			ask{Priority: flotilla.Interactive, MaxWait: usualWait},
		},
		"prefer":              {local, map[string]string{headerPrefer: "fast"}, ask{Priority: flotilla.Normal, Prefer: flotilla.Fast, PreferGiven: true, MaxWait: usualWait}},
		"max-wait in seconds": {local, map[string]string{headerMaxWait: "1.5"}, ask{Priority: flotilla.Normal, MaxWait: 1500 * time.Millisecond}},
		"max-wait over the SDK's timeout": {
			local, map[string]string{headerMaxWait: "2h", "X-Stainless-Timeout": "60"}, ask{Priority: flotilla.Normal, MaxWait: 2 * time.Hour},
		},
		"max-wait without end": {local, map[string]string{headerMaxWait: "Inf"}, ask{Priority: flotilla.Normal, MaxWait: longestWait}},
		"deadline":             {local, map[string]string{headerDeadline: "2026-11-30T12:01:00Z"}, ask{Priority: flotilla.Normal, Deadline: noon.Add(time.Minute), MaxWait: time.Minute}},
		"deadline from now":    {local, map[string]string{headerDeadline: "45m"}, ask{Priority: flotilla.Normal, Deadline: noon.Add(45 * time.Minute), MaxWait: usualWait}},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		got, e := readAsk(h, c.caller, noon)
		if e != nil {
			t.Errorf("%s: %+v", name, e)
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// A value that is not understood is refused by name, with what would be.
func TestReadAskRefuses(t *testing.T) {
	limited := Caller{Name: "team", Priority: flotilla.Normal}
	for _, c := range []struct {
		header, value string
		status        int
		says          string
	}{
		{headerPriority, "urgent", 400, "bulk, normal, interactive"},
		{headerPriority, "", 400, "bulk, normal, interactive"},
		{headerPriority, "interactive", 403, "bulk, normal"},
		{headerPrefer, "quick", 400, "balanced, fast, cheap"},
		{headerMaxWait, "-1", 400, "30s"},
		{headerMaxWait, "0", 400, "30s"},
		{headerMaxWait, "NaN", 400, "30s"},
		{headerMaxWait, "soon", 400, "30s"},
		{headerDeadline, "tomorrow", 400, "2026-"},
		{headerDeadline, "2026-11-30T11:59:59Z", 400, "has passed"},
		{headerDeadline, "-5m", 400, "has passed"},
		{headerPriority, strings.Repeat("x", 4000), 400, "…"},
	} {
		h := http.Header{}
		h.Set(c.header, c.value)
		_, e := readAsk(h, limited, noon)
		if e == nil || e.status != c.status || !strings.Contains(e.message, c.says) || !strings.HasPrefix(e.message, strings.ToLower(c.header)) {
			t.Errorf("%s %q: %+v", c.header, c.value, e)
			continue
		}
		if len(e.message) > 300 {
			t.Errorf("%s: a message of %d bytes", c.header, len(e.message))
		}
	}
	doubled := http.Header{headerPriority: {"bulk", "normal"}}
	if _, e := readAsk(doubled, local, noon); e == nil {
		t.Error("a header given twice is taken")
	}
}
