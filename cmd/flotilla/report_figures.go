package main

import (
	"github.com/flotilla-llm/flotilla/internal/lab"
)

func drawFigures(dir string, results []*lab.Result, crossings []lab.Crossing) ([]string, error) {
	return []string{}, nil
}
