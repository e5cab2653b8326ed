package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/flotilla-llm/flotilla"

// file is one Go file of the project.
type file struct {
	dir     string // package directory, relative to the module; "" is the root
	name    string
	test    bool
	lines   int
	imports []string
	syntax  *ast.File
	set     *token.FileSet
}

func (f *file) path() string { return path.Join(f.dir, f.name) }

// line is the line of a node.
func (f *file) line(n ast.Node) int { return f.set.Position(n.Pos()).Line }

// files parses every Go file of the module once.
var files = sync.OnceValues(func() ([]*file, error) {
	const root = "../.."
	var all []*file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if d.IsDir() {
			if skipped(p, rel, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parse(p, filepath.ToSlash(rel))
		if err == nil {
			all = append(all, f)
		}
		return err
	})
	return all, err
})

// skipped reports directories that the go command does not build either, and
// nested modules.
func skipped(p, rel, name string) bool {
	if rel == "." {
		return false
	}
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	return err == nil || name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func parse(p, rel string) (*file, error) {
	src, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, p, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	dir := path.Dir(rel)
	if dir == "." {
		dir = ""
	}
	f := &file{
		dir: dir, name: path.Base(rel), test: strings.HasSuffix(rel, "_test.go"),
		lines: bytes.Count(src, []byte("\n")), syntax: syntax, set: set,
	}
	for _, spec := range syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		f.imports = append(f.imports, name)
	}
	return f, nil
}

// code lists the files that are not tests.
func code(t *testing.T) []*file {
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	var out []*file
	for _, f := range all {
		if !f.test {
			out = append(out, f)
		}
	}
	return out
}

// uses calls found for every mention of a name of an imported package.
func (f *file) uses(importPath string, found func(name string, at ast.Node)) {
	local := ""
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != importPath {
			continue
		}
		local = path.Base(importPath)
		if local == "v2" {
			local = path.Base(path.Dir(importPath))
		}
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	if local == "" {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == local {
				found(sel.Sel.Name, sel)
			}
		}
		return true
	})
}
