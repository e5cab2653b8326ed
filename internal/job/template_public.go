package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/gjson"
)

// Bodies makes Messages bodies of rows that are at hand as JSON objects, as a
// run with the same Shape makes them of the rows of its input. It is safe for
// several goroutines.
type Bodies struct{ b *builder }

// NewBodies prepares a shape that has a prompt.
func NewBodies(s *Shape) (*Bodies, error) {
	b, err := newBuilder(s)
	if err != nil {
		return nil, err
	}
	if b.prompt == nil {
		return nil, errors.New("the shape has no prompt")
	}
	return &Bodies{b}, nil
}

// UsesRow says whether bodies depend on the row at all.
func (b *Bodies) UsesRow() bool { return b.b.prompt.usesRow() }

// Append appends the body that a row makes. A template's name that is a key of
// names is filled by the row's field of the name that is its value, whatever
// else the row has under the template's name. A field that the row lacks is a
// *FieldError.
func (b *Bodies) Append(dst, row []byte, names map[string]string) ([]byte, error) {
	if !gjson.ValidBytes(row) {
		col, err := syntaxError(row)
		return nil, fmt.Errorf("the row is not JSON: column %d: %w", col, err)
	}
	var r record
	if err := r.read(string(row)); err != nil {
		return nil, err
	}
	if err := r.rename(names); err != nil {
		return nil, err
	}
	return b.b.body(dst, &r, 0)
}

// rename gives the record the fields that names calls otherwise.
func (r *record) rename(names map[string]string) error {
	if len(names) == 0 {
		return nil
	}
	was := *r
	was.fields = append([]field(nil), r.fields...)
	for _, to := range slices.Sorted(maps.Keys(names)) {
		from := names[to]
		v, ok := was.get(from)
		if !ok {
			return &FieldError{Template: "the rubric", Place: fmt.Sprintf("%s for %s", from, to), Missing: from, Fields: was.keys()}
		}
		if i := r.find(to); i >= 0 {
			r.fields[i].val = v
		} else {
			r.fields = append(r.fields, field{to, v})
		}
	}
	return nil
}
