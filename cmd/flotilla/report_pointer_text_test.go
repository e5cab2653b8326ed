package main

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPointerIsOneLine(t *testing.T) {
	const line = "see X " + pointerMark
	for _, c := range []struct{ text, want string }{
		{"", line + "\n"},
		{"a\nb", "a\nb\n" + line + "\n"},
		{"a\nold " + pointerMark + "\nb\n", "a\n" + line + "\nb\n"},
		{"a\r\nold " + pointerMark + "\r\nb", "a\r\n" + line + "\r\nb"},
		{"1 " + pointerMark + "\na\n2 " + pointerMark + "\n", line + "\na\n"},
		{"a " + pointerMark + " in the middle\n", "a " + pointerMark + " in the middle\n" + line + "\n"},
	} {
		if got := string(withPointer([]byte(c.text), line)); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}

// Writing it again changes nothing, whatever the file holds.
func TestPointerSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab\r\n"+pointerMark))).Draw(t, "text")
		once := withPointer([]byte(text), "x "+pointerMark)
		if twice := withPointer(once, "x "+pointerMark); string(twice) != string(once) {
			t.Fatalf("%q became %q, then %q", text, once, twice)
		}
	})
}
