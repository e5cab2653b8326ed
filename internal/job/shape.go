package job

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Shape is everything that shapes the requests of a job, and so makes it this
// job and no other (interface.md, "Flags of run", request).
type Shape struct {
	Prompt    string // template of the user turn; empty: rows are requests already
	System    string // template; empty: none
	Model     string // empty: the rows say it
	MaxTokens *int   // nil: the rows say it; 0 fills a cache and answers nothing
	Params    string // JSON object merged into each body, every string in it a template; empty: none

	IDFields []string // fields that make the id, joined by "/"; a single "-": row numbers
	Repeats  int      // calls for each row, ids q1#1 … q1#K; 0: one, under the row's own id
	Dedupe   bool     // one call for equal bodies, a line for every id

	Provider string   // scheme, host and port of the base URL
	Version  string   // anthropic-version
	Betas    []string // anthropic-beta, in any order
}

// check refuses a shape that no row could mend.
func (s *Shape) check() error {
	switch {
	case s.MaxTokens != nil && *s.MaxTokens < 0:
		return fmt.Errorf("--max-tokens %d is negative", *s.MaxTokens)
	case s.Repeats < 0:
		return fmt.Errorf("--repeats %d is negative", s.Repeats)
	case slices.Contains(s.IDFields, ""):
		return errors.New("--id-field has an empty name")
	case len(s.IDFields) > 1 && slices.Contains(s.IDFields, "-"):
		return errors.New(`--id-field "-" stands for row numbers and goes alone`)
	}
	return nil
}

// repeats is how many calls a row makes.
func (s *Shape) repeats() int { return max(s.Repeats, 1) }

// ReadText is the value of a flag that takes TEXT or @FILE. One line break at
// the end of a file is the editor's and is left out.
func ReadText(value string) (string, error) {
	name, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read @%s: %w", name, bare(err))
	}
	s := strings.TrimPrefix(string(text), "\ufeff")
	s = strings.TrimSuffix(s, "\n")
	return strings.TrimSuffix(s, "\r"), nil
}

// bare takes operation and path off a file error that is about to be told with both.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
