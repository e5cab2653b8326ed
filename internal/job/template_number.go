package job

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"text/template"
)

// number is a number of a row inside a slow template: it prints as spelled, and
// compares and formats as what it is.
type number string

// Format lets printf "%.2f" and its like work; %v and %s keep the spelling.
func (n number) Format(f fmt.State, verb rune) {
	r, _ := parseNumber(n)
	switch {
	case r == nil || verb == 'v' || verb == 's' || verb == 'q':
		_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), string(n))
	case r.IsInt() && verb != 'f' && verb != 'F' && verb != 'e' && verb != 'E' && verb != 'g' && verb != 'G':
		_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), r.Num())
	default:
		v, _ := r.Float64()
		_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), v)
	}
}

// MarshalJSON keeps the spelling inside lists that a template cuts out.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// maxExponent is how many characters an exponent may have in a comparison, so
// that 1e999999999 does not become as many digits.
const maxExponent = 4

// parseNumber is the exact value of a number of the row or of the template; ok
// is false for anything else.
func parseNumber(v any) (r *big.Rat, ok bool) {
	switch v := v.(type) {
	case number:
		if exponentDigits(string(v)) > maxExponent {
			return nil, false
		}
		return new(big.Rat).SetString(string(v))
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return new(big.Rat).SetInt64(rv.Int()), true
	case rv.CanUint():
		return new(big.Rat).SetUint64(rv.Uint()), true
	}
	return nil, false
}

// exponentDigits is how long a number's exponent is.
func exponentDigits(s string) int {
	for i := range len(s) {
		if s[i] == 'e' || s[i] == 'E' {
			return len(s) - i - 1
		}
	}
	return 0
}

// comparisons are those of text/template, which do not know our numbers.
var comparisons = template.FuncMap{
	"_true": isTrue,
	"not":   func(v any) bool { return !isTrue(v) },
	"eq": func(a any, more ...any) (bool, error) {
		if len(more) == 0 {
			return false, errors.New("missing argument for comparison")
		}
		for _, b := range more {
			if same, err := equal(a, b); same || err != nil {
				return same, err
			}
		}
		return false, nil
	},
	"ne": func(a, b any) (bool, error) { same, err := equal(a, b); return !same, err },
	"lt": func(a, b any) (bool, error) { c, err := order(a, b); return c < 0, err },
	"le": func(a, b any) (bool, error) { c, err := order(a, b); return c <= 0, err },
	"gt": func(a, b any) (bool, error) { c, err := order(a, b); return c > 0, err },
	"ge": func(a, b any) (bool, error) { c, err := order(a, b); return c >= 0, err },
}

// isTrue is the truth of text/template, with 0 false however it is spelled.
func isTrue(v any) bool {
	if n, ok := v.(number); ok {
		r, ok := parseNumber(n)
		return !ok || r.Sign() != 0
	}
	truth, _ := template.IsTrue(v)
	return truth
}

// equal compares values of one kind; nothing but null is equal to null.
func equal(a, b any) (bool, error) {
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	if x, ok := a.(bool); ok {
		if y, ok := b.(bool); ok {
			return x == y, nil
		}
	}
	c, err := order(a, b)
	return c == 0, err
}

// order compares two numbers by value or two texts by their bytes.
func order(a, b any) (int, error) {
	if x, ok := parseNumber(a); ok {
		if y, ok := parseNumber(b); ok {
			return x.Cmp(y), nil
		}
	}
	x, xText := a.(string)
	y, yText := b.(string)
	if xText && yText {
		switch {
		case x < y:
			return -1, nil
		case x > y:
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("%s and %s do not compare", kindName(a), kindName(b))
}

func kindName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return "a number"
}
