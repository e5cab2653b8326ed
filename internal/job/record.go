package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tidwall/gjson"
)

// record is one object of the input: its JSON text and its top-level fields in
// the order of the file. A field that stands twice counts with its last value,
// as jq and encoding/json have it.
type record struct {
	raw    string
	n      int // 1-based number over all inputs
	fields []field
	twice  string // a field name that stands twice; empty: none
	sparse bool   // of Parquet, where a field that a row lacks is null
}

type field struct {
	key string
	val gjson.Result
}

// read takes raw, which must be valid JSON, as the record's text.
func (r *record) read(raw string) error {
	v := gjson.Parse(raw)
	if !v.IsObject() {
		return fmt.Errorf("a row is a JSON object, this is %s", kindOf(v))
	}
	r.raw, r.fields, r.twice = raw, r.fields[:0], ""
	v.ForEach(func(k, v gjson.Result) bool {
		if i := r.find(k.Str); i >= 0 {
			r.fields[i].val, r.twice = v, k.Str
		} else {
			r.fields = append(r.fields, field{k.Str, v})
		}
		return true
	})
	return nil
}

func (r *record) find(key string) int {
	for i := range r.fields {
		if r.fields[i].key == key {
			return i
		}
	}
	return -1
}

// get is the value of a field; ok is false where the row lacks it.
func (r *record) get(key string) (v gjson.Result, ok bool) {
	if i := r.find(key); i >= 0 {
		return r.fields[i].val, true
	}
	return gjson.Result{}, false
}

// keys names the record's fields, in order.
func (r *record) keys() []string {
	out := make([]string, len(r.fields))
	for i, f := range r.fields {
		out[i] = f.key
	}
	return out
}

func kindOf(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "a list"
	case v.Type == gjson.String:
		return "a string"
	case v.Type == gjson.Number:
		return "a number"
	case v.Type == gjson.Null:
		return "null"
	}
	return "a boolean"
}

// syntaxError says where and how line fails to be one JSON value. It is asked
// only of lines that a faster check refused.
func syntaxError(line []byte) (column int, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	var v json.RawMessage
	err = dec.Decode(&v)
	if err == nil {
		rest := dec.InputOffset()
		if extra := bytes.TrimLeft(line[rest:], " \t\r\n"); len(extra) > 0 {
			return len(line) - len(extra) + 1, errors.New("more text after the object")
		}
		return 1, errors.New("not valid JSON")
	}
	var syn *json.SyntaxError
	if errors.As(err, &syn) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return max(int(syn.Offset), 1), errors.New(syn.Error())
	}
	return len(line) + 1, errors.New("the line ends in the middle of a value")
}
