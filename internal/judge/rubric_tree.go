package judge

import (
	"encoding/json"

	"github.com/goccy/go-yaml/ast"
)

// tree is YAML that means JSON: its text as JSON in the order of the file,
// numbers as they are spelled, and where it stands.
type tree struct {
	json json.RawMessage
	line int
}

func (t *tree) set() bool { return t.line > 0 }

// UnmarshalYAML takes a mapping.
func (t *tree) UnmarshalYAML(node ast.Node) error {
	line := node.GetToken().Position.Line
	if _, null := node.(*ast.NullNode); null {
		return nil
	}
	text, err := appendNode(nil, node)
	if err != nil {
		return err
	}
	if text[0] != '{' {
		return &lineError{line: line, msg: "fields are expected here"}
	}
	t.json, t.line = text, line
	return nil
}

// appendNode appends what node means as JSON.
func appendNode(dst []byte, node ast.Node) ([]byte, error) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return appendMapping(dst, n.Values)
	case *ast.MappingValueNode:
		return appendMapping(dst, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		return appendSequence(dst, n.Values)
	case *ast.StringNode:
		return appendText(dst, n.Value), nil
	case *ast.LiteralNode:
		return appendText(dst, n.Value.Value), nil
	case *ast.NullNode:
		return append(dst, "null"...), nil
	case *ast.BoolNode:
		if n.Value {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	case *ast.IntegerNode, *ast.FloatNode:
		spelled := node.GetToken().Value
		if !json.Valid([]byte(spelled)) {
			return nil, &lineError{line: node.GetToken().Position.Line, msg: spelled + " is no number in JSON"}
		}
		return append(dst, spelled...), nil
	}
	return nil, &lineError{line: node.GetToken().Position.Line, msg: "this has no meaning in JSON"}
}

func appendMapping(dst []byte, values []*ast.MappingValueNode) ([]byte, error) {
	dst = append(dst, '{')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		var key scalar
		if err := key.UnmarshalYAML(v.Key); err != nil {
			return nil, err
		}
		dst = append(appendText(dst, key.text), ':')
		var err error
		if dst, err = appendNode(dst, v.Value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendSequence(dst []byte, values []ast.Node) ([]byte, error) {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendNode(dst, v); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendText appends s as a JSON string.
func appendText(dst []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("judge: a string that JSON cannot hold: " + err.Error())
	}
	return append(dst, text...)
}
