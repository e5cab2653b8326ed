package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/internal/plot"
)

// drawFigures draws results and forecasts into a directory, as SVG and as PNG,
// and names the files. What could not be drawn is in the error beside the others.
func drawFigures(dir string, results []*lab.Result, crossings []lab.Crossing) (files []string, err error) {
	figures, err := lab.Figures(results, crossings)
	bad := []error{err}
	for _, stem := range slices.Sorted(maps.Keys(figures)) {
		drawn, err := drawFigure(filepath.Join(dir, stem), figures[stem])
		files = append(files, drawn...)
		if err != nil {
			bad = append(bad, fmt.Errorf("drawing %s: %w", stem, err))
		}
	}
	return files, errors.Join(bad...)
}

// drawFigure writes one figure, both ways or not at all.
func drawFigure(base string, f *plot.Figure) ([]string, error) {
	svg, err := f.SVG()
	if err != nil {
		return nil, err
	}
	png, err := f.PNG()
	if err != nil {
		return nil, err
	}
	files := []string{base + ".svg", base + ".png"}
	return files, errors.Join(replaceFile(files[0], svg), replaceFile(files[1], png))
}
