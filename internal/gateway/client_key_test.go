package gateway

import (
	"strings"
	"testing"
)

func TestNewKey(t *testing.T) {
	seen := map[string]bool{}
	letters := map[rune]int{}
	for range 500 {
		key := NewKey()
		rest, ok := strings.CutPrefix(key, "flk_")
		if !ok || len(rest) != 40 || strings.Trim(rest, keyLetters) != "" || seen[key] {
			t.Fatalf("%q", key)
		}
		seen[key] = true
		for _, r := range rest {
			letters[r]++
		}
	}
	// 20,000 letters of 62: each about 323 times, sd 18. A letter that is drawn
	// from bytes without care comes a quarter more often.
	for _, r := range keyLetters {
		if n := letters[r]; n < 230 || n > 416 {
			t.Errorf("%c came %d times", r, n)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"alice": true, "team-a.eval_2": true, "a@example.org": true, strings.Repeat("x", 64): true,
		"": false, "local": false, "-x": false, "a b": false, "a\n": false, "ä": false, "a/b": false, `a"b`: false, strings.Repeat("x", 65): false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
