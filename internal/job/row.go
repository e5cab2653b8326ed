package job

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// A builder makes ids and bodies of records. It is safe for several goroutines.
type builder struct {
	shape  *Shape
	prompt recipe // the whole body of form 3; nil: rows are requests themselves
	fills  []given
	craft  Craft // makes the bodies; nil: the shape does
}

func newBuilder(s *Shape) (*builder, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	b := &builder{shape: s}
	fills, messages, err := s.givens()
	if err != nil {
		return nil, err
	}
	b.fills = fills
	if s.Prompt == "" && !messages.Exists() {
		return b, nil
	}
	if b.prompt, err = s.promptRecipe(); err != nil {
		return nil, err
	}
	return b, b.checkPrompt()
}

// checkPrompt refuses a prompt job whose bodies could never be whole.
func (b *builder) checkPrompt() error {
	for _, need := range []struct{ key, flag string }{{"model", "--model"}, {"max_tokens", "--max-tokens"}} {
		if !slices.ContainsFunc(b.fills, func(g given) bool { return g.key == need.key }) {
			return fmt.Errorf("%s is needed with --prompt", need.flag)
		}
	}
	return nil
}

// checkRows refuses a prompt that would send several rows the same text.
func (b *builder) checkRows(n int) error {
	if b.prompt == nil || n <= 1 || b.prompt.usesRow() {
		return nil
	}
	if b.shape.Prompt == "" {
		return noPlaceError("--params", b.shape.Params, n)
	}
	return noPlaceError("--prompt", b.shape.Prompt, n)
}

// id is the record's name: custom_id, else the fields of --id-field, else id,
// else its number (interface.md, "Input").
func (b *builder) id(r *record) (string, error) {
	ids := b.shape.IDFields
	if len(ids) == 1 && ids[0] == "-" {
		return rowID(r.n), nil
	}
	if v, ok := r.get("custom_id"); ok {
		return idText("custom_id", v)
	}
	if len(ids) > 0 {
		return joinedID(r, ids)
	}
	if v, ok := r.get("id"); ok {
		return idText("id", v)
	}
	return rowID(r.n), nil
}

func rowID(n int) string { return "row-" + strconv.Itoa(n) }

func joinedID(r *record, names []string) (string, error) {
	parts := make([]string, len(names))
	for i, name := range names {
		v, ok := r.get(name)
		if !ok {
			err := fmt.Errorf("--id-field %s: the row has no such field", name)
			return "", WithHint(err, "fields are "+strings.Join(r.keys(), ", "))
		}
		var err error
		if parts[i], err = idText(name, v); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, "/"), nil
}

// idText takes strings, and numbers as they are spelled.
func idText(name string, v gjson.Result) (string, error) {
	switch {
	case v.Type == gjson.String && v.Str != "":
		return v.Str, nil
	case v.Type == gjson.Number:
		return v.Raw, nil
	case v.Type == gjson.String:
		return "", fmt.Errorf("%s is empty", name)
	}
	return "", fmt.Errorf("%s is %s; an id is a non-empty string", name, kindOf(v))
}

// repeatID is the id of the k-th repeat, from 0.
func (s *Shape) repeatID(id string, k int) string {
	if s.Repeats == 0 {
		return id
	}
	return id + "#" + strconv.Itoa(k+1)
}

// messageFields are the fields of a Messages body (facts/claude-api.md 1.1 and
// the beta fields of the official SDKs). In a row of form 2 everything else is
// the user's.
var messageFields = map[string]bool{
	"model": true, "max_tokens": true, "messages": true, "system": true,
	"stop_sequences": true, "stream": true, "metadata": true, "service_tier": true,
	"speed": true, "inference_geo": true, "cache_control": true, "thinking": true,
	"output_config": true, "output_format": true, "tools": true, "tool_choice": true,
	"container": true, "diagnostics": true, "temperature": true, "top_p": true, "top_k": true,
	"mcp_servers": true, "context_management": true,
}

// body appends the Messages body that the record makes, for one of its requests.
func (b *builder) body(dst []byte, r *record, ask int) ([]byte, error) {
	if b.craft != nil {
		return b.craft.Body(dst, Row{r}, ask)
	}
	if b.prompt != nil {
		return b.prompt.appendTo(dst, r)
	}
	params, hasParams := r.get("params")
	_, hasMessages := r.get("messages")
	switch {
	case hasMessages:
		return b.fromMessages(dst, r)
	case hasParams && params.IsObject():
		return b.fromParams(dst, r, params)
	case hasParams:
		return nil, fmt.Errorf("params is %s, not a Messages body", kindOf(params))
	}
	return nil, WithHint(errors.New("the row is no request: it has neither params nor messages"),
		"--prompt makes requests of rows, as in --prompt '{{."+firstPlain(r)+"}}'")
}

func firstPlain(r *record) string {
	for _, f := range r.fields {
		if plainName.MatchString(f.key) && f.key != "id" {
			return f.key
		}
	}
	return "question"
}

// fromParams is form 1, a batch request.
func (b *builder) fromParams(dst []byte, r *record, params gjson.Result) ([]byte, error) {
	raw := params.Raw
	if r.sparse {
		raw = string(appendWithoutNulls(nil, params))
	}
	if len(b.fills) == 0 {
		return append(dst, raw...), nil
	}
	var inner record
	if err := inner.read(raw); err != nil {
		return nil, err
	}
	return b.filled(dst, &inner, r, raw)
}

// fromMessages is form 2, a row that is a body, with the user's fields beside.
func (b *builder) fromMessages(dst []byte, r *record) ([]byte, error) {
	mine := record{raw: r.raw}
	for _, f := range r.fields {
		if !messageFields[f.key] || r.sparse && f.val.Type == gjson.Null {
			continue
		}
		if r.sparse {
			f.val = gjson.ParseBytes(appendWithoutNulls(nil, f.val))
		}
		mine.fields = append(mine.fields, f)
	}
	raw := r.raw
	if len(mine.fields) < len(r.fields) || r.sparse {
		if messageFields[r.twice] {
			return nil, fmt.Errorf("%s stands twice", r.twice)
		}
		raw = string(appendObject(nil, mine.fields))
	}
	if len(b.fills) == 0 {
		return append(dst, raw...), nil
	}
	return b.filled(dst, &mine, r, raw)
}

// appendWithoutNulls leaves out the null members of objects, at any depth. All
// rows of a Parquet column have all its fields, so null is how one lacks a
// field; the API takes null for a fault.
func appendWithoutNulls(dst []byte, v gjson.Result) []byte {
	switch {
	case v.IsArray():
		sep := byte('[')
		v.ForEach(func(_, e gjson.Result) bool {
			dst = appendWithoutNulls(append(dst, sep), e)
			sep = ','
			return true
		})
		if sep == '[' {
			dst = append(dst, sep)
		}
		return append(dst, ']')
	case v.IsObject():
		var fields []field
		v.ForEach(func(k, m gjson.Result) bool {
			if m.Type != gjson.Null {
				m.Raw = string(appendWithoutNulls(nil, m))
				fields = append(fields, field{k.Str, m})
			}
			return true
		})
		return appendObject(dst, fields)
	}
	return append(dst, v.Raw...)
}

func appendObject(dst []byte, fields []field) []byte {
	sep := byte('{')
	for _, f := range fields {
		dst = append(dst, sep)
		dst = appendString(dst, f.key)
		dst = append(dst, ':')
		dst = append(dst, f.val.Raw...)
		sep = ','
	}
	if sep == '{' {
		dst = append(dst, sep)
	}
	return append(dst, '}')
}

// filled appends raw, whose fields are those of body, and behind them what the
// flags give and it lacks. A row that says otherwise than a flag is an error.
func (b *builder) filled(dst []byte, body, r *record, raw string) ([]byte, error) {
	end := strings.LastIndexByte(raw, '}')
	start := len(dst)
	dst = append(dst, raw[:end]...)
	added := false
	for _, g := range b.fills {
		if v, ok := body.get(g.key); ok {
			if err := g.agrees(v, r); err != nil {
				return nil, err
			}
			continue
		}
		if added || len(body.fields) > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, g.key), ':')
		var err error
		if dst, err = g.make.appendTo(dst, r); err != nil {
			return nil, err
		}
		added = true
	}
	if !added {
		return append(dst[:start], raw...), nil
	}
	return append(dst, raw[end:]...), nil
}

// agrees refuses a row whose own value differs from the flag's.
func (g *given) agrees(v gjson.Result, r *record) error {
	want, err := g.make.appendTo(nil, r)
	if err != nil {
		return err
	}
	if sameJSON(v, gjson.ParseBytes(want)) {
		return nil
	}
	return fmt.Errorf("%s is %s in the row and %s by %s", g.key, clip(compact(v.Raw)), clip(string(want)), g.flag)
}

// sameJSON compares values, not spellings; the order of an object's fields
// does not matter.
func sameJSON(a, b gjson.Result) bool {
	switch {
	case a.IsObject() && b.IsObject():
		am, bm := a.Map(), b.Map()
		for k, v := range am {
			if w, ok := bm[k]; !ok || !sameJSON(v, w) {
				return false
			}
		}
		return len(am) == len(bm)
	case a.IsArray() && b.IsArray():
		return slices.EqualFunc(a.Array(), b.Array(), sameJSON)
	case a.Type != b.Type:
		return false
	case a.Type == gjson.String:
		return a.Str == b.Str
	case a.Type == gjson.Number:
		return a.Raw == b.Raw || a.Num == b.Num
	case a.Type == gjson.JSON:
		return false // one is an object, one a list
	}
	return true // null, true, false
}

// clip keeps a value in an error short.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:57], "") + "..."
}
