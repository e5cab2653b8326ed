package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL names a rubric's schema for the library; nothing is fetched.
const schemaURL = "rubric:schema"

// noLoader refuses references to other documents: a rubric from elsewhere must
// not have files or addresses read.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is another document; a schema is whole in the rubric", url)
}

func compileSchema(text json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(schemaURL)
	var odd *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &odd) && errors.As(odd.Err, &invalid) {
		return nil, errors.New(firstFault(invalid))
	}
	return schema, err
}

// conforms says what is wrong with a JSON text by the schema; empty: nothing.
func conforms(schema *jsonschema.Schema, text []byte) string {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	if schema == nil {
		return ""
	}
	err = schema.Validate(doc)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return firstFault(invalid)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// firstFault is the first fault at the bottom of the library's tree, in one line.
func firstFault(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[len(e.Causes)-1] // of several alternatives the last is the plainest
	}
	where := ""
	for _, p := range e.InstanceLocation {
		where += "/" + p
	}
	if where == "" {
		where = "it"
	}
	return where + ": " + e.ErrorKind.LocalizedString(english)
}
