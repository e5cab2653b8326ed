package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// unit is the fraction of a token that text is weighed in; one twelfth makes
// every class whole.
const unit = 12

// weights gives what a byte adds, in units, to the estimate of the tokens of a
// text by the older tokenizer: 4 bytes a token for ASCII, 3 for digits, 2 for
// Cyrillic, Greek and other letters of two bytes, 1.5 for CJK (interface.md,
// Emulator). A character's whole weight is on its first byte.
var weights = func() (w [256]uint8) {
	for b := range w {
		switch {
		case b >= '0' && b <= '9':
			w[b] = unit / 3
		case b < 0x80:
			w[b] = unit / 4
		case b < 0xc0: // continuation
		case b < 0xe0:
			w[b] = 2 * unit / 2
		case b == 0xe2: // punctuation and symbols, about one token each
			w[b] = unit
		case b < 0xf0:
			w[b] = 3 * unit * 2 / 3
		default:
			w[b] = 4 * unit * 2 / 3
		}
	}
	return w
}()

// load is the weight of text: units of estimated tokens, and its length in
// bytes once its escapes are undone, which bounds its tokens from above.
type load struct{ units, bytes int64 }

// add weighs a raw JSON string, or any piece of JSON whose structure is read
// by the model too, such as a tool's schema.
func (l *load) add(raw []byte) {
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			l.plain(raw)
			return
		}
		l.plain(raw[:n])
		raw = l.escape(raw[n:])
	}
}

// plain weighs text without escapes: eight bytes a step as long as they are
// ASCII, of which digits alone weigh more than the rest.
func (l *load) plain(s []byte) {
	var u, digits int
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		if x&highs != 0 {
			for _, c := range s[i : i+8] {
				u += int(weights[c])
			}
			continue
		}
		// Below 0x80, adding 0x50 reaches the high bit from '0' on, 0x46 from ':' on.
		digits += bits.OnesCount64((x + ones*(0x80-'0')) &^ (x + ones*(0x80-':')) & highs)
		u += 8 * unit / 4
	}
	for _, c := range s[i:] {
		u += int(weights[c])
	}
	l.units += int64(u + digits*(unit/3-unit/4))
	l.bytes += int64(len(s))
}

// escape weighs the escape at the start of raw as the character it stands for,
// and gives what follows.
func (l *load) escape(raw []byte) []byte {
	if len(raw) < 6 || raw[1] != 'u' {
		l.units += unit / 4
		l.bytes++
		return raw[min(2, len(raw)):]
	}
	r, _ := hex4(raw[2:])
	n := 6
	if low, ok := lowSurrogate(raw[6:]); ok && r >= 0xd800 && r < 0xdc00 {
		r, n = 0x10000+(r-0xd800)<<10+(low-0xdc00), 12
	}
	var buf [utf8.UTFMax]byte
	l.plain(buf[:utf8.EncodeRune(buf[:], r)])
	return raw[n:]
}
