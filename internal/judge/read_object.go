package judge

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// object is one {…} of an answer: its JSON, or why there is none.
type object struct {
	json  string // valid, trailing commas taken out; empty: cannot be read
	fault string
}

// mostObjects bounds the work on an answer that is all braces; no verdict has
// so many.
const mostObjects = 64

// splitObjects finds the JSON objects of a text, and the text without them.
// What stands in braces is never read as prose: a cut {"score": 8 is no 8.
func splitObjects(text string) (found []object, rest string) {
	var b strings.Builder
	for {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			b.WriteString(text)
			return found, b.String()
		}
		if strings.HasSuffix(text[:open], `\boxed`) {
			text = unbox(&b, text, open)
			continue
		}
		b.WriteString(text[:open])
		b.WriteByte('\n')
		size := objectSize(text[open:])
		if size < 0 || len(found) == mostObjects {
			return append(found, object{fault: "the JSON does not end"}), b.String()
		}
		found = append(found, mended(text[open:open+size]))
		text = text[open+size:]
	}
}

// unbox writes the text before LaTeX's \boxed{…} and what is in its box.
func unbox(b *strings.Builder, text string, open int) string {
	b.WriteString(strings.TrimSuffix(text[:open], `\boxed`))
	inside, after, closed := strings.Cut(text[open+1:], "}")
	if !closed {
		return ""
	}
	b.WriteString(inside)
	return after
}

// objectSize is how long the object is that a text begins with; -1: it does not
// end.
func objectSize(text string) int {
	depth, inside := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// mended reads an object that may have trailing commas or, as in Python and
// JavaScript, single quotes or names without any.
func mended(text string) object {
	if json.Valid([]byte(text)) {
		return object{json: text}
	}
	if !strings.Contains(text, `"`) && !strings.Contains(text, `\`) {
		text = bareKey.ReplaceAllString(strings.ReplaceAll(text, `'`, `"`), `$1"$2":`)
	}
	if text = withoutTrailingCommas(text); json.Valid([]byte(text)) {
		return object{json: text}
	}
	return object{fault: "JSON that cannot be read"}
}

var bareKey = regexp.MustCompile(`([{,]\s*)([A-Za-z_]\w*)\s*:`)

// withoutTrailingCommas leaves out a comma, outside strings, that a } or ]
// follows.
func withoutTrailingCommas(text string) string {
	var b strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inside && c == '\\' && i+1 < len(text):
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			inside = !inside
		case !inside && c == ',':
			if next := strings.TrimLeft(text[i+1:], " \t\r\n"); next != "" && (next[0] == '}' || next[0] == ']') {
				continue
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// objectClaims reads the verdict's field of every object that has it.
func (r *Rubric) objectClaims(objects []object, read func(gjson.Result) claim) (found []claim) {
	for _, o := range objects {
		gjson.Parse(o.json).ForEach(func(k, v gjson.Result) bool {
			if strings.EqualFold(k.Str, r.Verdict.Field) {
				c := read(v)
				c.inJSON = true
				found = append(found, c)
			}
			return true
		})
	}
	return found
}

// whyNone is the reason of an answer in which nothing gives a verdict.
func (r *Rubric) whyNone(text string) string {
	objects, _ := splitObjects(text)
	for _, o := range objects {
		if o.fault != "" {
			return o.fault
		}
	}
	switch {
	case r.Verdict.Form == FormJSON:
		return "the answer holds no JSON object"
	case len(objects) > 0:
		return "the JSON has no field " + r.Verdict.Field
	case r.Verdict.Form == FormLabel:
		return "the answer gives none of the labels plainly"
	}
	return "the answer gives no score plainly"
}
