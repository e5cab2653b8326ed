package judge

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flotilla-llm/flotilla/internal/job"
)

// Rubric is what a judge is asked about a row, and how its answer is read.
type Rubric struct {
	Name      string // of letters, digits and . _ -
	Version   string // the author's, as spelled
	Model     string // the judge; empty: whoever runs the rubric must say it
	MaxTokens int    // of the answer, at least 1

	// System and Prompt are templates over the fields of a row (docs/run.md);
	// an empty System is none.
	System, Prompt string
	Params         json.RawMessage // object merged into each body, every string in it a template; nil: none

	// Fields gives names of the templates that rows call otherwise: "completion"
	// to "answer" has {{.completion}} filled by the row's answer. Nil: none.
	Fields map[string]string

	Verdict Verdict
	Pair    *Pair // of a rubric that compares two completions; nil: it does not

	// Refusal are regular expressions of an answer that refuses to judge.
	// Without any in the file they are [DefaultRefusal].
	Refusal []string

	SHA256 string // of the file's bytes, in hex: as sha256sum has it

	plain   []string // of Verdict.Labels, as they are compared
	source  []byte   // the file
	refusal []*regexp.Regexp
	scale   *regexp.Regexp     // finds the scale where an answer repeats it; nil: there is none
	schema  *jsonschema.Schema // of the form json; nil: any object
}

// Forms of a verdict.
const (
	FormScore = "score" // a number from Min to Max
	FormLabel = "label" // one of Labels
	FormJSON  = "json"  // an object by Schema
)

// Verdict is the form of a rubric's verdicts.
type Verdict struct {
	Form string // score, label or json

	// Min and Max are the scale of a score, both ends included; 0 to 100 where a
	// file of the form score says neither. Both 0: there is no score.
	Min, Max float64
	Labels   []string        // at least two; nil: there is no label
	Schema   json.RawMessage // JSON Schema of the form json; nil: any object

	// Field is where the verdict stands in an answer that is a JSON object:
	// "score" or "label" unless the file says otherwise. Of the form json: the
	// field that statistics count, a score by Min and Max or a label of Labels;
	// empty: only statuses are counted.
	Field string

	// Structured asks for the answer by output_config.format where the model is
	// known to have it ([HasStructured]); elsewhere the answer is read as text.
	Structured bool
}

// Pair is how a rubric compares two completions of a row.
type Pair struct {
	Fields [2]string // of the templates: what is shown first and second
	Labels [2]string // verdicts for the first and for the second; other labels prefer neither. Empty for scores
}

//go:embed rubrics/*.yaml
var builtins embed.FS

// Builtins names the rubrics that need no file, in alphabetical order.
func Builtins() []string {
	entries, err := builtins.ReadDir("rubrics")
	if err != nil {
		panic("judge: the embedded rubrics: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// Source is the file of a built-in rubric, to be copied and changed.
func Source(name string) ([]byte, error) {
	if !slices.Contains(Builtins(), name) {
		return nil, unknownRubric(name)
	}
	return builtins.ReadFile(path.Join("rubrics", name+".yaml"))
}

// Load reads a rubric: a built-in one by its name, else a file. Errors name the
// file's line; a field that rubrics do not have is one.
func Load(name string) (*Rubric, error) {
	if slices.Contains(Builtins(), name) {
		data, err := Source(name)
		if err != nil {
			return nil, err
		}
		return Parse("rubric "+name, data)
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknownRubric(name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the rubric: %w", err)
	}
	return Parse(name, data)
}

func unknownRubric(name string) error {
	return job.WithHint(fmt.Errorf("rubric %q is neither built in nor a file", name),
		"built in are "+strings.Join(Builtins(), ", "))
}

// Parse reads a rubric's YAML; where is what errors call it, its path.
func Parse(where string, data []byte) (*Rubric, error) {
	f, err := decodeRubric(where, data)
	if err != nil {
		return nil, err
	}
	r, err := f.rubric()
	if err != nil {
		return nil, err
	}
	if r.ranged() {
		r.scale = scalePattern(r.Verdict)
	}
	sum := sha256.Sum256(data)
	r.SHA256, r.source = hex.EncodeToString(sum[:]), slices.Clone(data)
	return r, nil
}

// For is the rubric with another judge; an empty model leaves the rubric's own.
func (r *Rubric) For(model string) *Rubric {
	c := *r
	if model != "" {
		c.Model = model
	}
	return &c
}
