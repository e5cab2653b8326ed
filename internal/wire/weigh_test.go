package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slowPlain is the twin of load.plain: a byte a step.
func slowPlain(s []byte) (l load) {
	for _, c := range s {
		l.units += int64(weights[c])
		l.bytes++
	}
	return l
}

// Text weighs the same eight bytes a step and one by one, whatever is in it and
// wherever it begins.
func TestPlainWeighsAsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 100),
			rapid.Custom(func(t *rapid.T) []byte {
				return []byte(rapid.StringMatching(`[ -~0-9ж漢😀]{0,60}`).Draw(t, "text"))
			}),
		).Draw(t, "bytes")
		var l load
		l.plain(s)
		if want := slowPlain(s); l != want {
			t.Fatalf("%q weighs %+v, want %+v", s, l, want)
		}
	})
	for c := range 256 { // each byte in each place of a step
		for at := range 8 {
			s := []byte(strings.Repeat("a", 16))
			s[at] = byte(c)
			var l load
			l.plain(s)
			if want := slowPlain(s); l != want {
				t.Fatalf("byte %#x at %d weighs %+v, want %+v", c, at, l, want)
			}
		}
	}
}
