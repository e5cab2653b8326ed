package emulator

import (
	"github.com/tidwall/gjson"
)

// Tokens are counted by class of text (interface.md "Emulator"): about 4 bytes
// a token for ASCII, 2 for Cyrillic and Greek, 1.5 for CJK, 3 for digits. The
// unit is a twelfth of a token, so that sums are exact.
const perToken = 12

// share is what a byte of JSON text adds, in twelfths: the first byte of a
// character stands for all of it.
var share = buildShares()

func buildShares() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= '0' && c <= '9':
			t[c] = perToken / 3
		case c < 0x80:
			t[c] = perToken / 4
		case c < 0xc0: // continuation
		case c < 0xe0: // two bytes: Greek, Cyrillic, accents, Hebrew, Arabic
			t[c] = perToken
		case c < 0xe3: // three bytes: Indic, punctuation, symbols
			t[c] = perToken * 3 / 2
		case c < 0xf0: // three bytes: CJK
			t[c] = perToken * 2
		default: // four bytes
			t[c] = perToken * 8 / 3
		}
	}
	return t
}

// stringShare counts JSON as it stands in the body. An escape counts as the
// character it means.
func stringShare(raw string) int64 {
	sum := int64(0)
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			sum += int64(share[c])
			continue
		}
		i++
		if i < len(raw) && raw[i] == 'u' && i+4 < len(raw) {
			sum += int64(share[lead(raw[i+1:i+5])])
			i += 4
			continue
		}
		sum += perToken / 4
	}
	return sum
}

// textShare counts a JSON string without its quotes.
func textShare(s gjson.Result) int64 {
	if s.Type != gjson.String || len(s.Raw) < 2 {
		return stringShare(s.Raw)
	}
	return stringShare(s.Raw[1 : len(s.Raw)-1])
}

// lead is the first UTF-8 byte of the UTF-16 unit that four hex digits spell;
// a surrogate counts half of what four bytes do, which the class of CJK is
// near enough to.
func lead(hex string) byte {
	u := 0
	for i := range len(hex) {
		u = u<<4 | digit(hex[i])
	}
	switch {
	case u < 0x80:
		return byte(u)
	case u < 0x800:
		return byte(0xc0 | u>>6)
	}
	return byte(0xe0 | u>>12)
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return int(c-'A') + 10
}

// What blocks without text of their own count, and what the API adds around
// text: middling values of the published ones.
const (
	baseShare     = 7 * perToken
	messageShare  = 4 * perToken
	toolsShare    = 346 * perToken
	imageShare    = 1500 * perToken
	pageShare     = 2300 * perToken
	pageBytes     = 60_000 // of base64 a page of PDF
	requestTokens = 1      // at least
)

// estimate is the server's estimate of a request's input tokens, made once.
func (r *request) estimate() int64 {
	if r.est == 0 {
		r.est = r.count()
	}
	return r.est
}

func (r *request) count() int64 {
	sum := int64(baseShare)
	sum += contentShare(r.system)
	r.messages.ForEach(func(_, m gjson.Result) bool {
		sum += messageShare + contentShare(m.Get("content"))
		return true
	})
	if r.tools.Exists() {
		sum += toolsShare + stringShare(r.tools.Raw)
	}
	n := (sum + perToken/2) / perToken
	if r.entry != nil && r.entry.newTokenizer {
		n = n * 13 / 10
	}
	return max(requestTokens, n)
}

// contentShare counts a string or a list of blocks.
func contentShare(c gjson.Result) int64 {
	if c.Type == gjson.String {
		return textShare(c)
	}
	sum := int64(0)
	c.ForEach(func(_, b gjson.Result) bool {
		sum += blockShare(b)
		return true
	})
	return sum
}

func blockShare(b gjson.Result) int64 {
	switch b.Get("type").Str {
	case "text":
		return textShare(b.Get("text"))
	case "image":
		return imageShare
	case "document":
		return documentShare(b.Get("source"))
	case "tool_result":
		return contentShare(b.Get("content"))
	}
	return stringShare(b.Raw)
}

func documentShare(source gjson.Result) int64 {
	switch source.Get("type").Str {
	case "text":
		return textShare(source.Get("data"))
	case "content":
		return contentShare(source.Get("content"))
	}
	return pageShare * int64(1+len(source.Get("data").Raw)/pageBytes)
}
