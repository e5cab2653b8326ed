package emulator

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTokensByClassOfText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int64
	}{
		{"ASCII, 4 bytes a token", strings.Repeat("abcd", 300), 300},
		{"digits, 3", strings.Repeat("123", 300), 300},
		{"Cyrillic, 2", strings.Repeat("жд", 150), 300},
		{"Greek, 2", strings.Repeat("λω", 150), 300},
		{"CJK, 1.5", strings.Repeat("漢", 150), 300},
		{"Kana, 1.5", strings.Repeat("か", 150), 300},
		{"Hangul, 1.5", strings.Repeat("한", 150), 300},
	} {
		raw, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := stringShare(string(raw)[1:len(raw)-1]) / perToken; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Escapes count as what they mean.
func TestTokensOfEscapes(t *testing.T) {
	for escaped, plain := range map[string]string{
		`\u0436\u0434`: "жд", `\u6f22`: "漢", `\n\t\"`: "abc", `\u0031\u0061`: "1a", `\\u0436`: `xu0436`,
	} {
		if got, want := stringShare(escaped), stringShare(plain); got != want {
			t.Errorf("%s: %d twelfths, %s: %d", escaped, got, plain, want)
		}
	}
}

func estimateOf(t *testing.T, body string) int64 {
	t.Helper()
	r, e := readRequest([]byte(body))
	if e == nil {
		e = r.check(epoch, versionOld, false, false)
	}
	if e != nil {
		t.Fatal(e)
	}
	return r.estimate()
}

// From Opus 4.7 on the same text is 1.3 times as many tokens, on all models.
func TestNewTokenizer(t *testing.T) {
	long := strings.Replace(hello, "Hello", strings.Repeat("word ", 4000), 1)
	old := estimateOf(t, long)
	for _, m := range []string{"claude-opus-4-7", "claude-haiku-5-5", "claude-fable-5-2"} {
		if got := estimateOf(t, strings.Replace(long, "claude-sonnet-4-6", m, 1)); got != old*13/10 {
			t.Errorf("%s: %d, 4.6 has %d", m, got, old)
		}
	}
}

// What is not text is not counted by its bytes.
func TestTokensOfBlocks(t *testing.T) {
	image := func(bytes int) string {
		return `{"model":"claude-sonnet-4-6","max_tokens":5,"system":[{"type":"text","text":"abcd"}],"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"` +
			strings.Repeat("A", bytes) + `"}},{"type":"text","text":"abcd"}]}]}`
	}
	small, large := estimateOf(t, image(10)), estimateOf(t, image(100_000))
	if small != large || small != 7+4+1+1+1500 {
		t.Errorf("%d and %d tokens", small, large)
	}
}
