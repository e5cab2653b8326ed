package price

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
)

// file is the YAML form of a table of corrections. Every field is spelled as
// in the embedded table; only what is given changes.
type file struct {
	Date   string `yaml:"date"`
	Models []struct {
		ID           string `yaml:"id"`
		Aliases      string `yaml:"aliases"`
		Pool         string `yaml:"pool"`
		Status       string `yaml:"status"`
		Released     string `yaml:"released"`
		Retires      string `yaml:"retires"`
		Context      string `yaml:"context"`
		MaxOutput    string `yaml:"max_output"`
		MinCacheable string `yaml:"min_cacheable"`
		In           string `yaml:"in"`
		Out          string `yaml:"out"`
		Write5m      string `yaml:"write_5m"`
		Write1h      string `yaml:"write_1h"`
		Read         string `yaml:"read"`
		Rules        string `yaml:"rules"`
	} `yaml:"models"`
}

// Load is the table with the corrections of a YAML file:
//
//	date: 2026-12-15
//	models:
//	  - {id: claude-sonnet-4-6, in: 2.50, out: 12}
//	  - {id: claude-new-1, pool: new-1, in: 1, out: 5}
//
// A model the table holds keeps what the file leaves out, but for the prices of
// long prompts, which go when its price changes, and for cache prices, which
// then follow the input price. A new one needs in and out. Unknown fields are
// errors that name the line.
func (t *Table) Load(r io.Reader) (*Table, error) {
	var f file
	err := yaml.NewDecoder(r, yaml.Strict()).Decode(&f)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("price file: %w", err)
	}
	u := t
	for i, row := range f.Models {
		if row.ID == "" {
			return nil, fmt.Errorf("price file: model %d has no id", i+1)
		}
		m, known := u.Lookup(row.ID)
		if !known {
			m = Unlisted(row.ID, Prices{})
		}
		err := m.correct(map[string]string{
			"aliases": row.Aliases, "pool": row.Pool, "status": row.Status,
			"released": row.Released, "retires": row.Retires, "context": row.Context,
			"max_output": row.MaxOutput, "min_cacheable": row.MinCacheable, "rules": row.Rules,
			"in": row.In, "out": row.Out, "write_5m": row.Write5m, "write_1h": row.Write1h, "read": row.Read,
		})
		if err == nil && !known && (row.In == "" || row.Out == "") {
			err = errors.New("a model that the table does not hold needs in and out")
		}
		if err != nil {
			return nil, fmt.Errorf("price file: %s: %w", row.ID, err)
		}
		u = u.With(m)
	}
	return u.dated(f.Date)
}

// dated is the table with another date, where one is given.
func (t *Table) dated(day string) (*Table, error) {
	if day == "" {
		return t, nil
	}
	u := *t
	var d time.Time
	if err := parseDay(&d, day); err != nil {
		return nil, fmt.Errorf("price file: date: %w", err)
	}
	u.Date = d
	return &u, nil
}

// correct sets the columns that have a value.
func (m *Model) correct(columns map[string]string) error {
	given := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(columns)) { // so that the first error is always the same
		value := columns[name]
		given[name] = value != ""
		if err := m.set(name, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if given["in"] {
		m.fillCache(given)
	}
	if given["in"] || given["out"] {
		m.LongOver, m.Long = 0, Prices{}
	}
	return nil
}
