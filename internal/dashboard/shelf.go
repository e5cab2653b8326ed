package dashboard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// labShelf keeps the results of experiments as last read, without their raw
// timings, and the figures that were drawn of them.
type labShelf struct {
	mu      sync.Mutex
	stamp   string // names, sizes and times of the files
	results []*lab.Result
	fault   error             // of files that are no results
	figures map[string][]byte // SVG by stem
}

// read gives the results of a directory, the newest first; the error is of files
// that are none, beside those that are.
func (s *labShelf) read(dir string) ([]*lab.Result, error) {
	if dir == "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readLocked(dir)
}

func (s *labShelf) readLocked(dir string) ([]*lab.Result, error) {
	stamp, err := stampOf(dir)
	if err != nil || stamp == s.stamp && s.stamp != "" {
		return s.results, errors.Join(err, s.fault)
	}
	s.results, s.fault = lab.ReadAll(dir)
	for _, r := range s.results {
		r.Raw = nil
	}
	slices.Reverse(s.results)
	s.stamp, s.figures = stamp, nil
	return s.results, s.fault
}

// stampOf tells one content of a directory from another.
func stampOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "there is none", nil
	}
	stamp := "files"
	for _, e := range entries {
		if info, err := e.Info(); err == nil && filepath.Ext(e.Name()) == ".json" {
			stamp += fmt.Sprintf("\n%s %d %d", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp, err
}

// figure draws a figure of the results by its stem; nil: there is none of that
// name.
func (s *labShelf) figure(dir, stem string) ([]byte, error) {
	if dir == "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	results, _ := s.readLocked(dir)
	if svg, ok := s.figures[stem]; ok {
		return svg, nil
	}
	all, _ := lab.Figures(lab.Choose(results).Results, nil) // what has no figure is left out
	f := all[stem]
	if f == nil {
		return nil, nil
	}
	svg, err := f.SVG()
	if err != nil {
		return nil, fmt.Errorf("drawing %s: %w", stem, err)
	}
	if s.figures == nil {
		s.figures = map[string][]byte{}
	}
	s.figures[stem] = svg
	return svg, nil
}

// figuresOf names the figures of a result: that of its experiment, if it is of
// the provider whose results are drawn.
func figuresOf(r *lab.Result, chosen []*lab.Result) []string {
	if !slices.Contains(chosen, r) {
		return []string{}
	}
	if r.Experiment == "knee" {
		return []string{"knee", "knees"}
	}
	return []string{r.Experiment}
}
