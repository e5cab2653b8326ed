package dashboard

import (
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// maxDepth bounds how deep values are looked into: a tool's input is as deep as
// a model makes it.
const maxDepth = 48

// silent are the members whose strings nobody searches for: words of the API,
// names, and bytes of images.
var silent = map[string]bool{
	"type": true, "role": true, "model": true, "id": true, "data": true, "media_type": true, "signature": true, "stop_reason": true,
	"tool_use_id": true, "cache_control": true, "service_tier": true, "usage": true, "metadata": true, "container": true, "ttl": true,
}

// strings gives the text of a Messages body, a Message or an error envelope: its
// strings in their order, without JSON's signs. It stops where take says so.
func stringsOf(raw []byte, take func(string) bool) {
	eachString(gjson.ParseBytes(raw), 0, take)
}

func eachString(v gjson.Result, depth int, take func(string) bool) bool {
	switch {
	case v.Type == gjson.String:
		return v.Str == "" || take(v.Str)
	case v.Type != gjson.JSON || depth > maxDepth:
		return true
	}
	goOn, object := true, v.IsObject()
	v.ForEach(func(k, m gjson.Result) bool {
		if !object || !silent[k.Str] || !plain(m) {
			goOn = eachString(m, depth+1, take)
		}
		return goOn
	})
	return goOn
}

// plain says that a member has one of the values that silent means: a tool may
// have an input called "data" that holds text.
func plain(m gjson.Result) bool { return m.Type == gjson.String || m.Type == gjson.JSON }

// fold appends text as it is searched: in lower case, each run of white space
// one blank.
func fold(dst []byte, s string) []byte {
	blank := true // no blank at the beginning
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			return foldRunes(dst, s[i:], blank)
		case c == ' ' || c-'\t' < 5:
			if !blank {
				dst = append(dst, ' ')
			}
			blank = true
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		dst, blank = append(dst, c), false
	}
	return dst
}

func foldRunes(dst []byte, s string, blank bool) []byte {
	for _, r := range s {
		if unicode.IsSpace(r) {
			if !blank {
				dst = append(dst, ' ')
			}
			blank = true
			continue
		}
		dst, blank = utf8.AppendRune(dst, unicode.ToLower(r)), false
	}
	return dst
}

// terms are the words of a query, folded: all of them must be found. What stands
// in quotes is one of them, blanks included.
func terms(query string) (out [][]byte) {
	word, quoted := []rune(nil), false
	end := func() {
		if t := trimmed(fold(nil, string(word))); len(t) > 0 {
			out = append(out, t)
		}
		word = word[:0]
	}
	for _, r := range query {
		switch {
		case r == '"':
			end()
			quoted = !quoted
		case unicode.IsSpace(r) && !quoted:
			end()
		default:
			word = append(word, r)
		}
	}
	end()
	return out
}

func trimmed(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}
