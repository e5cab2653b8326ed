package job

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// nest is a node of a Parquet schema, as far as making JSON of it goes. The
// format stores leaves alone; how deep a value is defined and at which depth it
// repeats says what stands around it (the Dremel encoding).
type nest struct {
	key      string // `"name":`
	kind     nestKind
	optional bool
	repeated bool
	leaves   int // columns below
	children []*nest
	leaf     func([]byte, parquet.Value) []byte
}

type nestKind uint8

const (
	nestGroup nestKind = iota
	nestList           // one child: the element
	nestMap            // two children: key and value
	nestLeaf
)

// nestOf reads a schema node; columns are numbered by the leaves in order.
func nestOf(node parquet.Node) (*nest, error) {
	n := &nest{optional: node.Optional(), repeated: node.Repeated(), leaves: 1}
	if node.Leaf() {
		n.kind, n.leaf = nestLeaf, leafText(node.Type())
		return n, nil
	}
	fields := node.Fields()
	if logical := node.Type().LogicalType(); logical != nil {
		switch logical.Value.(type) {
		case *format.ListType:
			n.kind, fields = nestList, listElement(fields)
		case *format.MapType:
			n.kind, fields = nestMap, mapEntry(fields)
		}
		if fields == nil {
			return nil, fmt.Errorf("column %s is a list or map of an unknown build", node)
		}
	}
	n.leaves = 0
	for _, f := range fields {
		child, err := nestOf(f)
		if err != nil {
			return nil, err
		}
		child.key = string(appendString(nil, f.Name())) + ":"
		n.children = append(n.children, child)
		n.leaves += child.leaves
	}
	return n, nil
}

// listElement finds the element of a list, under whatever names it was written.
func listElement(fields []parquet.Field) []parquet.Field {
	if len(fields) != 1 || fields[0].Leaf() || !fields[0].Repeated() || len(fields[0].Fields()) != 1 {
		return nil
	}
	return fields[0].Fields()
}

func mapEntry(fields []parquet.Field) []parquet.Field {
	if len(fields) != 1 || fields[0].Leaf() || !fields[0].Repeated() || len(fields[0].Fields()) != 2 {
		return nil
	}
	return fields[0].Fields()
}

// appendTo appends the value that columns hold at the given depths.
func (n *nest) appendTo(dst []byte, columns [][]parquet.Value, def, rep int) []byte {
	if n.optional {
		def++
		if undefined := len(columns) > 0 && columns[0][0].DefinitionLevel() < def; undefined {
			return append(dst, "null"...)
		}
	}
	if n.repeated {
		one := *n
		one.repeated = false
		return appendElements(dst, '[', columns, def+1, rep+1, func(dst []byte, c [][]parquet.Value) []byte {
			return one.appendTo(dst, c, def+1, rep+1)
		})
	}
	switch n.kind {
	case nestLeaf:
		return n.leaf(dst, columns[0][0])
	case nestList:
		return appendElements(dst, '[', columns, def+1, rep+1, func(dst []byte, c [][]parquet.Value) []byte {
			return n.children[0].appendTo(dst, c, def+1, rep+1)
		})
	case nestMap:
		return appendElements(dst, '{', columns, def+1, rep+1, func(dst []byte, c [][]parquet.Value) []byte {
			return n.appendEntry(dst, c, def+1, rep+1)
		})
	}
	dst = append(dst, '{')
	for i, child := range n.children {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, child.key...)
		dst = child.appendTo(dst, columns[:child.leaves], def, rep)
		columns = columns[child.leaves:]
	}
	return append(dst, '}')
}

// appendEntry appends one member of a map; JSON wants its key as a string.
func (n *nest) appendEntry(dst []byte, columns [][]parquet.Value, def, rep int) []byte {
	key, value := n.children[0], n.children[1]
	text := key.appendTo(nil, columns[:key.leaves], def, rep)
	if len(text) == 0 || text[0] != '"' {
		text = appendString(nil, string(text))
	}
	dst = append(append(dst, text...), ':')
	return value.appendTo(dst, columns[key.leaves:], def, rep)
}

// appendElements cuts columns at every value that begins a new element at depth rep.
func appendElements(dst []byte, open byte, columns [][]parquet.Value, def, rep int, each func([]byte, [][]parquet.Value) []byte) []byte {
	dst = append(dst, open)
	if len(columns) == 0 || columns[0][0].DefinitionLevel() < def {
		return append(dst, open+2) // ] and } stand two after [ and {
	}
	rest := append([][]parquet.Value(nil), columns...)
	element := make([][]parquet.Value, len(columns))
	for first := true; len(rest[0]) > 0; first = false {
		for i, c := range rest {
			k := 1
			for k < len(c) && c[k].RepetitionLevel() > rep {
				k++
			}
			element[i], rest[i] = c[:k], c[k:]
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = each(dst, element)
	}
	return append(dst, open+2)
}
