package job

import (
	"bytes"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// found is what a line of an OUT says of itself.
type found struct {
	id      string
	body    string // 16 hex digits
	outcome string
	whose   Whose // of a craft's line
}

var (
	lineHead   = []byte(`{"custom_id":"`)
	lineResult = []byte(`,"result":{"type":"`)
	lineTail   = []byte(`"}}`)
	lineBody   = []byte(`"body":"`)
)

// readFound reads a line that this package wrote; ok is false for any other.
// Only its two ends are looked at, which is all that telling rows apart needs;
// a tail that is not known to be durable is validated besides.
func readFound(line []byte) (f found, ok bool) {
	rest, ok := bytes.CutPrefix(line, lineHead)
	if !ok {
		return f, false
	}
	end := stringEnd(rest)
	if end < 0 {
		return f, false
	}
	f.id = unquote(line[len(lineHead)-1 : len(lineHead)+end+1])
	rest, ok = bytes.CutPrefix(rest[end+1:], lineResult)
	if !ok {
		return f, false
	}
	kind, _, ok := bytes.Cut(rest, []byte{'"'})
	if !ok {
		return f, false
	}
	f.outcome = string(kind)
	rest, ok = bytes.CutSuffix(rest, lineTail)
	if !ok || len(rest) < 16+len(lineBody) {
		return f, false
	}
	f.body = string(rest[len(rest)-16:])
	return f, bytes.HasSuffix(rest[:len(rest)-16], lineBody)
}

// stringEnd finds the quote that ends a JSON string; -1: there is none.
func stringEnd(s []byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// unquote is the text of a JSON string.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	return gjson.ParseBytes(quoted).Str
}

// validLine says that a whole line is JSON.
func validLine(line []byte) bool { return wire.Valid(line) == nil }

// readForeign reads a result line in any spelling, such as one that went
// through other tools; ok is false where it is none.
func readForeign(line []byte) (f found, ok bool) {
	if wire.Valid(line) != nil {
		return f, false
	}
	v := gjson.GetManyBytes(line, "custom_id", "flotilla.body", "result.type")
	f = found{id: v[0].Str, body: v[1].Str, outcome: v[2].Str}
	return f, f.id != "" && len(f.body) == 16 && f.outcome != ""
}

// readCraft reads a line that a craft made.
func readCraft(c Craft, line []byte) (f found, ok bool) {
	v := gjson.GetManyBytes(line, "custom_id", "flotilla.body")
	f = found{id: v[0].Str, body: v[1].Str}
	f.whose, ok = c.Whose(line)
	return f, ok && f.id != "" && len(f.body) == 16
}
