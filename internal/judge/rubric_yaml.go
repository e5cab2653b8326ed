package judge

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// rubricFile is a rubric as written (docs/judge.md, "A rubric"). Values stay
// text with their line, so that an error can name it.
type rubricFile struct {
	Name      scalar            `yaml:"name"`
	Version   scalar            `yaml:"version"`
	Model     scalar            `yaml:"model"`
	MaxTokens scalar            `yaml:"max_tokens"`
	System    scalar            `yaml:"system"`
	Prompt    scalar            `yaml:"prompt"`
	Params    tree              `yaml:"params"`
	Fields    map[string]scalar `yaml:"fields"`
	Verdict   struct {
		Form       scalar   `yaml:"form"`
		Min        scalar   `yaml:"min"`
		Max        scalar   `yaml:"max"`
		Labels     []scalar `yaml:"labels"`
		Schema     tree     `yaml:"schema"`
		Field      scalar   `yaml:"field"`
		Structured scalar   `yaml:"structured"`
	} `yaml:"verdict"`
	Pair struct {
		Fields []scalar `yaml:"fields"`
		Labels []scalar `yaml:"labels"`
	} `yaml:"pair"`
	Refusal *[]scalar `yaml:"refusal"`

	where string
}

// scalar is one plain value: its text, and where it stands. The zero scalar is a
// value that the file does not have.
type scalar struct {
	text string
	line int
}

func (s scalar) set() bool { return s.line > 0 }

// UnmarshalYAML takes any plain value as it is spelled.
func (s *scalar) UnmarshalYAML(node ast.Node) error {
	line := node.GetToken().Position.Line
	switch n := node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.StringNode:
		s.text = n.Value
	case *ast.LiteralNode:
		s.text = n.Value.Value
	case ast.ScalarNode:
		s.text = n.GetToken().Value
	default:
		return &lineError{line: line, msg: "a single value is expected here"}
	}
	s.line = line
	return nil
}

// lineError is an error at a line of a rubric.
type lineError struct {
	where string
	line  int
	msg   string
}

func (e *lineError) Error() string { return fmt.Sprintf("%s line %d: %s", e.where, e.line, e.msg) }

// decodeRubric refuses what a rubric does not have.
func decodeRubric(where string, data []byte) (f *rubricFile, err error) {
	defer func() {
		if recover() != nil { // go-yaml 1.19 panics on a tag without a value, among others
			f, err = nil, fmt.Errorf("%s: this is no YAML that can be read", where)
		}
	}()
	f = &rubricFile{where: where}
	dec := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))), yaml.Strict())
	err = dec.Decode(f)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty", where)
	}
	if err != nil {
		return nil, atLine(where, err)
	}
	if dec.Decode(&rubricFile{}) != io.EOF {
		return nil, fmt.Errorf("%s: a second document stands after ---; a file is one rubric", where)
	}
	return f, nil
}

// atLine turns the library's error into one line that names file and line.
func atLine(where string, err error) error {
	var own *lineError
	if errors.As(err, &own) {
		return &lineError{where, own.line, own.msg}
	}
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	fault := &lineError{where, at.GetToken().Position.Line, at.GetMessage()}
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		return job.WithHint(fault, "the fields of a rubric are name, version, model, max_tokens, system, prompt, params, fields, "+
			"verdict (form, min, max, labels, schema, field, structured), pair (fields, labels), refusal")
	}
	return fault
}
