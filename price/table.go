package price

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed models.csv
var published []byte

// Table is a list of models with prices. It does not change: what alters it
// returns another one.
type Table struct {
	Date   time.Time // the day the figures were compiled
	models []Model   // in the order of the file
	index  map[string]int
}

// Published is the embedded table.
var Published = sync.OnceValue(func() *Table {
	t, err := parseTable(published)
	if err != nil {
		panic("price: embedded table: " + err.Error()) // a test parses it
	}
	return t
})

// Lookup finds a model by its id or an alias.
func (t *Table) Lookup(model string) (Model, bool) {
	i, ok := t.index[model]
	if !ok {
		return Model{}, false
	}
	return t.models[i], true
}

// Models lists the table in the order of its file: newest first in each line.
func (t *Table) Models() []Model { return slices.Clone(t.models) }

// With is the table with m added, in the place of a model of the same id if
// there is one. A name of m that another model has goes to m.
func (t *Table) With(m Model) *Table {
	u := &Table{Date: t.Date, models: slices.Clone(t.models)}
	if i := slices.IndexFunc(u.models, func(o Model) bool { return o.ID == m.ID }); i >= 0 {
		u.models[i] = m
	} else {
		u.models = append(u.models, m)
	}
	u.reindex()
	for _, name := range append([]string{m.ID}, m.Aliases...) {
		u.index[name] = slices.IndexFunc(u.models, func(o Model) bool { return o.ID == m.ID })
	}
	return u
}

// Replacement names the newest model that may stand in for m without a change
// of limits or price: same pool, same prices, active at that moment.
func (t *Table) Replacement(m Model, now time.Time) (Model, bool) {
	best := -1
	for i, o := range t.models {
		if o.ID == m.ID || o.Pool != m.Pool || o.Prices != m.Prices || o.Lifecycle(now) != Active {
			continue
		}
		if best < 0 || o.Released.After(t.models[best].Released) {
			best = i
		}
	}
	if best < 0 {
		return Model{}, false
	}
	return t.models[best], true
}

func (t *Table) reindex() {
	t.index = make(map[string]int, 2*len(t.models))
	for i, m := range t.models {
		for _, a := range m.Aliases {
			t.index[a] = i
		}
	}
	for i, m := range t.models { // an id is never another's alias
		t.index[m.ID] = i
	}
}

func parseTable(data []byte) (*Table, error) {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	date, err := time.Parse("# date: "+time.DateOnly, strings.TrimSpace(string(first)))
	if err != nil {
		return nil, fmt.Errorf("first line: %w", err)
	}
	t := &Table{Date: date}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment = '#'
	head, err := r.Read()
	if err != nil {
		return nil, err
	}
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			t.reindex()
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if err := t.addRow(head, rec); err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// addRow takes one record: a model, or the long-prompt prices of the one before.
func (t *Table) addRow(head, rec []string) error {
	m := Model{}
	for i, name := range head {
		if err := m.set(name, rec[i]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	id, over, long := strings.Cut(m.ID, ">")
	if !long {
		t.models = append(t.models, m)
		return nil
	}
	n, err := strconv.ParseInt(over, 10, 64)
	if err != nil || len(t.models) == 0 || t.models[len(t.models)-1].ID != id {
		return fmt.Errorf("%s is not the long-prompt row of the model before", m.ID)
	}
	last := &t.models[len(t.models)-1]
	last.LongOver, last.Long = n, m.Prices
	return nil
}

// PoolOf is the pool of the first of several names that the table knows; empty:
// it knows none.
func (t *Table) PoolOf(models []string) string {
	for _, name := range models {
		if m, ok := t.Lookup(name); ok {
			return m.Pool
		}
	}
	return ""
}
