package dashboard

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A snippet shows this many characters, of which so many before what was found.
const (
	snippetLen    = 160
	snippetBefore = 40
)

// snippet is a piece of text for a list of rows: around the first word that is
// found, in the answer or else in the prompt; without words the beginning of the
// answer, or of the prompt's last text.
func snippet(words [][]byte, answer, prompt []byte) string {
	for _, raw := range [][]byte{answer, prompt} {
		if text, ok := around(words, raw); ok {
			return text
		}
	}
	text := ""
	stringsOf(answer, func(s string) bool { text = s; return strings.TrimSpace(s) == "" })
	if text == "" {
		stringsOf(prompt, func(s string) bool { text = s; return true })
	}
	return cutAt(text, 0)
}

// around finds the first of the words in a value's strings.
func around(words [][]byte, raw []byte) (text string, ok bool) {
	if len(words) == 0 {
		return "", false
	}
	stringsOf(raw, func(s string) bool {
		folded := fold(nil, s)
		for _, w := range words {
			if i := bytes.Index(folded, w); i >= 0 {
				text, ok = cutAt(s, unfold(s, i)), true
				return false
			}
		}
		return true
	})
	return text, ok
}

// unfold is the place in a text whose folded form has got to so many bytes.
func unfold(s string, folded int) int {
	n, blank := 0, true
	for i, r := range s {
		if unicode.IsSpace(r) {
			if !blank {
				n++
			}
			blank = true
			continue
		}
		if n >= folded {
			return i
		}
		n, blank = n+utf8.RuneLen(unicode.ToLower(r)), false
	}
	return len(s)
}

// cutAt is the piece of a text around a place, on one line.
func cutAt(s string, at int) string {
	from := at
	for n := 0; n < snippetBefore && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(s[:from])
		from -= size
	}
	to := from
	for n := 0; n < snippetLen && to < len(s); n++ {
		_, size := utf8.DecodeRuneInString(s[to:])
		to += size
	}
	text := strings.Join(strings.Fields(s[from:to]), " ")
	if from > 0 {
		text = "…" + text
	}
	if to < len(s) {
		text += "…"
	}
	return text
}
