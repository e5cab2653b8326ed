package job

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// column is one field of the input, as a table of results keeps it.
type column struct {
	name  string
	first int64 // record and place where it stood first, for the order
	has   cellKind
}

// cellKind is a set of what a column's cells hold.
type cellKind uint8

const (
	cellText cellKind = 1 << iota
	cellWhole
	cellLong   // a whole number that a float would round
	cellNumber // a number that a float holds as it is spelled
	cellBool
	cellNested
)

// columns gathers the fields of all rows. Goroutines gather for themselves and
// add up at the end, so that the result does not depend on them.
type columns struct {
	mu   sync.Mutex
	list []*column
}

// columnScan gathers for one goroutine. A nil one gathers nothing.
type columnScan struct {
	all    *columns
	byName map[string]*column
	last   []*column // of the row before: rows mostly look alike
}

func (c *columns) scan() *columnScan {
	if c == nil {
		return nil
	}
	return &columnScan{all: c, byName: map[string]*column{}}
}

func (s *columnScan) see(r *record) {
	if s == nil {
		return
	}
	for i := range r.fields {
		f := &r.fields[i]
		if i >= len(s.last) || s.last[i].name != f.key {
			s.last = append(s.last[:i], s.find(f.key, int64(r.n)<<20|int64(min(i, 1<<20-1))))
		}
		s.last[i].has |= cellKindOf(f.val)
	}
}

func (s *columnScan) find(name string, first int64) *column {
	c := s.byName[name]
	if c == nil {
		name = strings.Clone(name) // a row's text is not kept for a name
		c = &column{name: name, first: first}
		s.byName[name] = c
	}
	return c
}

func cellKindOf(v gjson.Result) cellKind {
	switch v.Type {
	case gjson.Null:
		return 0
	case gjson.True, gjson.False:
		return cellBool
	case gjson.String:
		return cellText
	case gjson.Number:
		return numberKind(v.Raw)
	}
	return cellNested
}

// maxExact is up to where every whole number is a float too.
const maxExact = 1 << 53

// numberKind sees to it that no digit of the input is lost: a number that
// neither 64 bits nor a float hold as it is spelled is text.
func numberKind(raw string) cellKind {
	if wholeNumber(raw) {
		if n, err := strconv.ParseInt(raw, 10, 64); err != nil || n > maxExact || n < -maxExact {
			return cellWhole | cellLong
		}
		return cellWhole
	}
	if f, err := strconv.ParseFloat(raw, 64); err == nil && significant(raw) == significant(strconv.FormatFloat(f, 'g', -1, 64)) {
		return cellNumber
	}
	return cellText
}

// significant are the digits of a number without zeros at either end.
func significant(raw string) string {
	if at := strings.IndexAny(raw, "eE"); at >= 0 {
		raw = raw[:at]
	}
	return strings.Trim(strings.Replace(strings.TrimPrefix(raw, "-"), ".", "", 1), "0")
}

// wholeNumber says that a number fits 64 bits as it is spelled.
func wholeNumber(raw string) bool {
	return len(raw) <= 18 && !strings.ContainsAny(raw, ".eE")
}

// done adds what the goroutine gathered to the whole.
func (s *columnScan) done() {
	if s == nil {
		return
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	for _, c := range s.byName {
		i := slices.IndexFunc(s.all.list, func(o *column) bool { return o.name == c.name })
		if i < 0 {
			s.all.list = append(s.all.list, c)
			continue
		}
		o := s.all.list[i]
		o.has |= c.has
		o.first = min(o.first, c.first)
	}
	slices.SortFunc(s.all.list, func(a, b *column) int {
		return cmp.Or(cmp.Compare(a.first, b.first), strings.Compare(a.name, b.name))
	})
}
