package price

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// set gives the field that a column names the value as the table spells it. An
// empty value leaves the field as it is.
func (m *Model) set(column, value string) error {
	if value == "" {
		return nil
	}
	if r := m.field(column); r != nil {
		return r.UnmarshalText([]byte(value))
	}
	switch column {
	case "id":
		m.ID = value
	case "aliases":
		m.Aliases = strings.Fields(value)
	case "pool":
		m.Pool = value
	case "status":
		return m.Status.UnmarshalText([]byte(value))
	case "released":
		return parseDay(&m.Released, value)
	case "retires":
		day, promised := strings.CutPrefix(value, ">=")
		m.Promised = promised
		return parseDay(&m.Retires, day)
	case "context":
		return parseCount(&m.Context, value)
	case "max_output":
		return parseCount(&m.MaxOutput, value)
	case "min_cacheable":
		return parseCount(&m.MinCacheable, value)
	case "rules":
		return m.setRules(value)
	default:
		return fmt.Errorf("no such column")
	}
	return nil
}

// setRules replaces all rules by those named.
func (m *Model) setRules(words string) error {
	m.Rules = Rules{}
	flags := map[string]*bool{
		"geo": &m.Geo, "fast": &m.Fast, "tok13": &m.NewTokenizer,
		"noprefill": &m.RefusesPrefill, "nosampling": &m.RefusesSampling,
		"noenabled": &m.RefusesEnabled, "noforced": &m.RefusesForced,
	}
	for w := range strings.FieldsSeq(words) {
		f, ok := flags[w]
		if !ok {
			return fmt.Errorf("%q is not a rule", w)
		}
		*f = true
	}
	return nil
}

// UnmarshalText reads active, limited, deprecated or retired.
func (s *Status) UnmarshalText(b []byte) error {
	i := slices.Index(statusNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("status %q is not one of %s", b, strings.Join(statusNames[:], ", "))
	}
	*s = Status(i)
	return nil
}

func parseDay(t *time.Time, s string) error {
	v, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return fmt.Errorf("day %q is not like 2026-11-30", s)
	}
	*t = v
	return nil
}

func parseCount(n *int64, s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a whole number of tokens", s)
	}
	*n = v
	return nil
}
