package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

var jsonSeeds = []string{
	`{}`, `[]`, `null`, `-0.5e+10`, `"a"`, `{"a":[1,2,{"b":"c\n\u00e9"}],"d":null}`, ` { "a" : [ ] } `,
	`{"a":1,}`, `[1,]`, `[1 2]`, `{"a" 1}`, `{a:1}`, `01`, `1.`, `1e`, `-`, `+1`, `tru`, `nul`, `"`, `"\x"`,
	`"\u12"`, "\"\x01\"", `{"a":1}}`, `[}`, `{]`, `{"a":1]`, `""""`, ``, ` `, `{"":""}`, "\"\xff\"", `"\ud83d\ude00"`,
	`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, `"12345678\"9"`, `"1234567\\"`, `"12345678` + "\t" + `"`, "\ufeff{}",
	strings.Repeat("[", 999) + strings.Repeat("]", 999), `[[],{},[{}],""]`, "1 2", `"\/\b\f\r\t"`, `{"a":{"b":{}},"c":[[]]}`,
}

// The checker agrees with encoding/json, but for what it refuses beyond it:
// half surrogates, bytes that are not UTF-8, depth over a thousand.
func FuzzValid(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		loose, slow := wellFormed(b), json.Valid(b)
		if loose != slow && !deep(b) {
			t.Fatalf("well-formed: %v, encoding/json: %v", loose, slow)
		}
		err := Valid(b)
		if err == nil && (!slow || !utf8.Valid(b)) {
			t.Fatal("taken, although it is not JSON in UTF-8")
		}
		var s *SyntaxError
		if err != nil && (!errors.As(err, &s) || s.Offset < 0 || s.Offset > len(b)) {
			t.Fatalf("fault outside the input: %v", err)
		}
		if err != nil && slow && utf8.Valid(b) && !deep(b) && !strings.Contains(err.Error(), "surrogate") {
			t.Fatalf("refused: %v", err)
		}
	})
}

func deep(b []byte) bool {
	return strings.Count(string(b), "[")+strings.Count(string(b), "{") >= maxDepth
}

func TestValidNamesThePlace(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,}`:           `expected a field name in quotes at byte 8`,
		`{"a" 1}`:            `expected a colon after a field name at byte 6`,
		`[1 2]`:              `expected a comma or ] in a list at byte 4`,
		`{"a":1`:             `unexpected end at byte 7`,
		`{"a":tru}`:          `expected true at byte 9`,
		"{\"a\":\"x\ny\"}":   `a raw control character in a string at byte 8`,
		`{"a":"\q"}`:         `an escape that JSON does not have at byte 8`,
		`{"a":"\ud83d!"}`:    `half of a surrogate pair, which the API refuses at byte 7`,
		"{\"a\":\"ab\xff\"}": `bytes that are not UTF-8 at byte 9`,
		`{} x`:               `more after the end of the value at byte 4`,
		`{"a":NaN}`:          `expected a value at byte 6`,
		`{"a":-x}`:           `expected a digit at byte 7`,
	} {
		if err := Valid([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

// Hostile nesting is refused without growing any stack.
func TestValidBoundsDepth(t *testing.T) {
	b := []byte(strings.Repeat("[", 8<<20))
	if err := Valid(b); err == nil || !strings.Contains(err.Error(), "1,000 levels") {
		t.Errorf("8 Mi brackets: %v", err)
	}
	edge := strings.Repeat(`{"a":`, maxDepth) + "1" + strings.Repeat("}", maxDepth)
	if err := Valid([]byte(edge)); err != nil {
		t.Errorf("a thousand levels: %v", err)
	}
}
