package lab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is where a result is stored.
func (e *Env) File(experiment string) string {
	return filepath.Join(e.dir(), experiment+"-"+e.window()+".json")
}

// Store writes the result's file, whole or not at all.
func (r *Result) Store(env *Env) error {
	if err := r.Check(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("writing the result of %s: %w", r.Experiment, err)
	}
	path := env.File(r.Experiment)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of results: %w", err)
	}
	next := path + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the result of %s: %w", r.Experiment, err)
	}
	return os.Rename(next, path)
}

// storeUnlessBetter does not put half a result in the place of a whole one.
func (r *Result) storeUnlessBetter(env *Env) error {
	if old, err := Read(env.File(r.Experiment)); err == nil && old.Stopped == "" {
		return nil
	}
	return r.Store(env)
}

// Read reads a stored result and holds it to the schema.
func Read(path string) (*Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a result: %w", err)
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("%s is no result of flotilla measure: %s", path, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return &r, nil
}

// ReadAll reads all results of a directory, oldest first; files that are no
// results are named in the error beside those that are.
func ReadAll(dir string) ([]*Result, error) {
	paths, err := filepath.Glob(filepath.Join(cmp.Or(dir, defaultDir), "*.json"))
	if err != nil {
		return nil, err
	}
	var results []*Result
	var bad []error
	for _, path := range paths {
		r, err := Read(path)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		results = append(results, r)
	}
	slices.SortStableFunc(results, func(a, b *Result) int { return a.Ended.Compare(b.Ended) })
	return results, errors.Join(bad...)
}
