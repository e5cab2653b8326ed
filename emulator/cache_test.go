package emulator

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// cachedPrompt is a body whose system prompt bears a mark; Sonnet 4.6 caches
// from 1,024 tokens on.
func cachedPrompt(words int, mark, question string) string {
	return fmt.Sprintf(`{"model":"claude-sonnet-4-6","max_tokens":20,"system":[{"type":"text","text":%q,"cache_control":%s}],"messages":[{"role":"user","content":%q}]}`,
		strings.Repeat("abcd", words), mark, question)
}

const (
	fiveMinutes = `{"type":"ephemeral"}`
	oneHour     = `{"type":"ephemeral","ttl":"1h"}`
)

// cacheUse sends a body at now and gives what it used, once it is through.
func cacheUse(t *testing.T, m *Model, now time.Duration, org int, body string) Usage {
	t.Helper()
	a, err := m.Weigh(now, versionOld, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	a.Org = org
	x := m.Arrive(now, a)
	if x.Class != Admitted {
		t.Fatalf("refused: %d", x.Class)
	}
	u := x.Usage
	m.Release(x)
	u.Output = 0
	return u
}

func cacheWorld() *Model {
	return NewModel(Scenario{
		Orgs:    []Org{{Name: "a", Limits: Limits{1e6, 1e9, 1e9}}, {Name: "b", Limits: Limits{1e6, 1e9, 1e9}}},
		Latency: Latency{TTFT: time.Second, PerSecond: 10},
	}, 1, epoch)
}

func TestPromptCache(t *testing.T) {
	m := cacheWorld()
	send := func(at time.Duration, org int, body string, want Usage) {
		t.Helper()
		if got := cacheUse(t, m, at, org, body); got != want {
			t.Errorf("at %v: %+v, want %+v", at, got, want)
		}
	}
	const prefix = 7 + 2000 // the frame and the system prompt
	question := func(s string) string { return cachedPrompt(2000, fiveMinutes, s) }
	send(0, 0, question("abcd"), Usage{CacheWrite5m: prefix, Input: 5})
	send(500*time.Millisecond, 0, question("abcdabcd"), Usage{CacheWrite5m: prefix, Input: 6}) // nothing to read before the first token
	send(time.Second, 0, question("abcdabcd"), Usage{CacheRead: prefix, Input: 6})
	send(time.Second, 1, question("abcd"), Usage{CacheWrite5m: prefix, Input: 5}) // another org has its own
	send(5*time.Minute, 0, question("abcd"), Usage{CacheRead: prefix, Input: 5})  // refreshed by use at 1 s,
	send(10*time.Minute-1, 0, question("abcd"), Usage{CacheRead: prefix, Input: 5})
	send(15*time.Minute, 0, question("abcd"), Usage{CacheWrite5m: prefix, Input: 5}) // and gone five minutes after the last
	send(16*time.Minute, 0, cachedPrompt(2000, oneHour, "abcd"), Usage{CacheRead: prefix, Input: 5})
	send(16*time.Minute, 0, cachedPrompt(2500, oneHour, "abcd"), Usage{CacheWrite1h: prefix + 500, Input: 5})
	send(76*time.Minute, 0, cachedPrompt(2500, oneHour, "abcd"), Usage{CacheRead: prefix + 500, Input: 5})
	send(0, 0, cachedPrompt(900, fiveMinutes, "abcd"), Usage{Input: 7 + 900 + 5}) // below the minimum
}

// Cache reads use up no input limit, writes do.
func TestCacheAndTheInputLimit(t *testing.T) {
	m := cacheWorld()
	body := cachedPrompt(2000, fiveMinutes, "abcd")
	cacheUse(t, m, 0, 0, body)
	if used := 1e9 - m.Level(0, 0, "sonnet-4.x", Input); used != 2012 {
		t.Errorf("the write used %v", used)
	}
	m.lanes[0][poolIndex("sonnet-4.x")].dims[Input].level = 1e9
	cacheUse(t, m, 10*time.Second, 0, body)
	if used := 1e9 - m.Level(10*time.Second, 0, "sonnet-4.x", Input); used != 5 {
		t.Errorf("the read used %v", used)
	}
}

// A conversation whose mark moves on reads what its last turn wrote.
func TestCacheOfAConversation(t *testing.T) {
	m := cacheWorld()
	turn := func(n int) string {
		var b strings.Builder
		for i := range n {
			role, mark := "user", ""
			if i%2 == 1 {
				role = "assistant"
			}
			if i == n-1 {
				mark = `,"cache_control":` + fiveMinutes
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"role":%q,"content":[{"type":"text","text":"%d%s"%s}]}`, role, i, strings.Repeat("abcd", 1100), mark)
		}
		return `{"model":"claude-sonnet-4-6","max_tokens":20,"messages":[` + b.String() + `]}`
	}
	first := cacheUse(t, m, 0, 0, turn(1))
	second := cacheUse(t, m, time.Minute, 0, turn(3))
	if first.CacheWrite5m == 0 || second.CacheRead != first.CacheWrite5m || second.CacheWrite5m < 2200 || second.Input != 0 {
		t.Errorf("first %+v, second %+v", first, second)
	}
	automatic := strings.Replace(strings.Replace(turn(3), `,"cache_control":`+fiveMinutes, "", 1), `"max_tokens"`, `"cache_control":`+fiveMinutes+`,"max_tokens"`, 1)
	if third := cacheUse(t, m, 2*time.Minute, 0, automatic); third.CacheRead != second.CacheRead+second.CacheWrite5m || third.CacheWrite5m != 0 {
		t.Errorf("with a mark at the top level: %+v", third)
	}
}

// An exchange that breaks off before its first token leaves nothing behind.
func TestCacheOfABrokenExchange(t *testing.T) {
	m := cacheWorld()
	body := cachedPrompt(2000, fiveMinutes, "abcd")
	a, err := m.Weigh(0, versionOld, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	m.Cancel(500*time.Millisecond, m.Arrive(0, a))
	if got := cacheUse(t, m, 2*time.Second, 0, body); got.CacheRead != 0 || got.CacheWrite5m == 0 {
		t.Errorf("%+v", got)
	}
}

func TestMarksAreChecked(t *testing.T) {
	_, url := serve(t, Options{})
	five := strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, 5)
	for body, want := range map[string]string{
		cachedPrompt(1, `{"type":"ephemeral","ttl":"2h"}`, "a"): "cache_control.ttl",
		cachedPrompt(1, `{"type":"lasting"}`, "a"):              "cache_control.type",
		`{"model":"claude-sonnet-4-6","max_tokens":20,"messages":[{"role":"user","content":[` + strings.TrimSuffix(five, ",") + `]}]}`: "maximum of 4 blocks",
	} {
		if res, b := (ask{body: body}).do(t, url); res.StatusCode != 400 || !strings.Contains(string(b), want) {
			t.Errorf("%d %s", res.StatusCode, b)
		}
	}
}
