package dashboard

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestStringsOfABody(t *testing.T) {
	body := `{"model":"claude-haiku-4-5","max_tokens":9,"system":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}],
		"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"text","text":"What \"is\" this?\n<b>é</b>"}]},
		{"role":"assistant","content":"I see"}],"metadata":{"user_id":"u1"},"tools":[{"name":"look","description":"Looks","input_schema":{"type":"object"}}]}`
	var got []string
	stringsOf([]byte(body), func(s string) bool { got = append(got, s); return true })
	want := []string{"Be kind.", "What \"is\" this?\n<b>é</b>", "I see", "look", "Looks"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStringsOfSomethingDeepEnd(t *testing.T) {
	deep := strings.Repeat(`[`, 100_000) + `"x"` + strings.Repeat(`]`, 100_000)
	stringsOf([]byte(deep), func(string) bool { t.Error("this is deeper than anybody looks"); return true })
}

func TestTerms(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"", nil},
		{"  \t", nil},
		{"Straße ZÜRICH", []string{"straße", "zürich"}},
		{`"two  words" third`, []string{"two words", "third"}},
		{`never "closed one`, []string{"never", "closed one"}},
		{`""`, nil},
		{`a"b"c`, []string{"a", "b", "c"}},
		{"line\nbreak", []string{"line", "break"}},
	} {
		var got []string
		for _, w := range terms(c.query) {
			got = append(got, string(w))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.query, diff)
		}
	}
}

// What is found in the folded text is found at its place in the text itself.
func TestUnfold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aBÄß \n\tİΣx"))).Draw(t, "text")
		folded := fold(nil, text)
		for i := range len(folded) {
			if folded[i]&0xc0 == 0x80 || folded[i] == ' ' {
				continue // within a character, or a blank, which may stand for several
			}
			rest := fold(nil, text[unfold(text, i):])
			if !bytes.HasPrefix(rest, trimmed(folded[i:])) {
				t.Fatalf("%q at %d of %q: what follows is %q", folded[i:], i, text, rest)
			}
		}
	})
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("before ", 40) + "the NEEDLE is here " + strings.Repeat("after ", 60)
	got := snippet(terms("needle"), message(long, "end_turn"), nil)
	if !strings.Contains(got, "NEEDLE") || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") || len([]rune(got)) > snippetLen+2 {
		t.Errorf("around a word: %q", got)
	}
	if got := snippet(nil, nil, []byte(`{"system":"Rules","messages":[{"role":"user","content":"The\nquestion"}]}`)); got != "The question" {
		t.Errorf("of a row without an answer: %q", got)
	}
	if got := snippet(terms("question"), message("Nothing of it", "end_turn"), []byte(`{"messages":[{"role":"user","content":"A question"}]}`)); got != "A question" {
		t.Errorf("of a word in the prompt: %q", got)
	}
	if got := snippet(nil, message("<script>alert(1)</script>", "end_turn"), nil); got != "<script>alert(1)</script>" {
		t.Errorf("hostile text stays what it is: %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"Hello"}]}`), "hello")
	f.Add([]byte(`{"a":`), `"x`)
	f.Add([]byte("{\"text\":\"\xff\\ud800 İ\"}"), "\xff")
	f.Fuzz(func(t *testing.T, raw []byte, query string) {
		text := foldAll(nil, raw)
		if bytes.IndexByte(text, endOfDocument) >= 0 {
			t.Fatalf("%q: the end of a document is in its text", text)
		}
		words := terms(query)
		for _, w := range words {
			if len(w) == 0 || bytes.IndexByte(w, endOfDocument) >= 0 || bytes.IndexByte(w, betweenStrings) >= 0 {
				t.Fatalf("%q: the term %q", query, w)
			}
		}
		if s := snippet(words, raw, raw); len([]rune(s)) > snippetLen+2 || strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }) {
			t.Fatalf("the snippet %q", s)
		}
	})
}
