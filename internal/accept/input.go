package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/job/sample"
	"github.com/flotilla-llm/flotilla/internal/judge"
)

// input is the file of rows to judge.
type input struct {
	path   string
	source string // for people
	rubric *judge.Rubric
	bodies *judge.Bodies
}

// input finds the published rows, or makes rows of their shape.
func (c *course) input() (*input, error) {
	in := &input{source: "persona-141600 (Perez et al. 2022, CC BY 4.0)"}
	path, ok := sample.Real(sample.Persona)
	if !ok {
		path, in.source = filepath.Join(c.dir, sample.Persona), "generated rows of the shape of persona-141600"
		if err := sample.Generate(path, sample.Persona); err != nil {
			return nil, err
		}
	}
	in.path = path
	var err error
	if in.rubric, err = judge.Load("trait"); err != nil {
		return nil, err
	}
	in.bodies, err = in.rubric.Bodies()
	return in, err
}

// longestRow is more bytes than any row has.
const longestRow = 1 << 20

// each gives the first n rows' ids and bodies by the rubric, in order; a body is
// the callee's to keep.
func (in *input) each(n int, do func(id string, body []byte) error) error {
	f, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", in.path, err)
	}
	defer z.Close()
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, longestRow)
	i := 0
	for ; i < n && lines.Scan(); i++ {
		body, err := in.bodies.Append(nil, lines.Bytes())
		if err == nil {
			err = do(gjson.GetBytes(lines.Bytes(), "id").Str, body)
		}
		if err != nil {
			return fmt.Errorf("row %d of %s: %w", i+1, in.path, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading %s: %w", in.path, err)
	}
	if i < n {
		return fmt.Errorf("%s has %d rows, %d are needed", in.path, i, n)
	}
	return nil
}
