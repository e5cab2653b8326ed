package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pure packages get the time passed in and the seed at the start; all of their
// code is held to it, and of the emulator what does not serve HTTP.
var pure = []string{"internal/sched", "internal/route", "internal/wire", "internal/plot", "price", "plan"}

// emulatorRuns are the files of the emulator that run its model on real time.
// A file that imports net or net/http is one too.
var emulatorRuns = []string{"server", "clock", "run", "listen"}

func isPure(f *file) bool {
	if slices.ContainsFunc(pure, func(p string) bool { return within(f.dir, p) }) {
		return true
	}
	if f.dir != "emulator" || slices.Contains(f.imports, "net") || slices.Contains(f.imports, "net/http") {
		return false
	}
	return !slices.ContainsFunc(emulatorRuns, func(p string) bool { return strings.HasPrefix(f.name, p) })
}

var clockReads = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// ownSource are the functions of math/rand/v2 that make a generator from a
// seed; all others draw from the global one.
var ownSource = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Source", "Zipf"}

// style.md, habit 1: the core takes the time.
func TestPureCodeReadsNoClockAndNoDice(t *testing.T) {
	seen := 0
	for _, f := range code(t) {
		if !isPure(f) {
			continue
		}
		seen++
		f.uses("time", func(name string, at ast.Node) {
			if slices.Contains(clockReads, name) {
				t.Errorf("%s:%d: time.%s in pure code", f.path(), f.line(at), name)
			}
		})
		f.uses("math/rand/v2", func(name string, at ast.Node) {
			if !slices.Contains(ownSource, name) {
				t.Errorf("%s:%d: rand.%s draws from the global generator", f.path(), f.line(at), name)
			}
		})
		for _, banned := range []string{"math/rand", "crypto/rand"} {
			if slices.Contains(f.imports, banned) {
				t.Errorf("%s imports %s: pure code draws from a seed", f.path(), banned)
			}
		}
	}
	if seen == 0 {
		t.Error("no pure code was looked at")
	}
}

// The search must be able to find, under another name too.
func TestUsesFinds(t *testing.T) {
	p := filepath.Join(t.TempDir(), "x.go")
	src := "package x\n\nimport clock \"time\"\n\nvar now = clock.Now\n\nfunc f() { clock.Sleep(1) }\n"
	if err := os.WriteFile(p, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := parse(p, "price/x.go")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	f.uses("time", func(name string, _ ast.Node) { got = append(got, name) })
	if want := []string{"Now", "Sleep"}; !slices.Equal(got, want) || !isPure(f) {
		t.Errorf("found %v, pure %v; want %v, true", got, isPure(f), want)
	}
}

// The scheduler's core has no goroutine, channel, file or network.
func TestSchedulerOnlyComputes(t *testing.T) {
	for _, f := range code(t) {
		if f.dir != "internal/sched" {
			continue
		}
		for _, banned := range []string{"os", "net", "net/http", "context", "sync", "sync/atomic"} {
			if slices.Contains(f.imports, banned) {
				t.Errorf("%s imports %s", f.path(), banned)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s:%d: concurrency in the core", f.path(), f.line(n))
			}
			return true
		})
	}
}

// style.md, habit 2: one loop reads the clock.
func TestDriverReadsTheClockInOnePlace(t *testing.T) {
	var where []string
	for _, f := range code(t) {
		if f.dir != "" {
			continue
		}
		f.uses("time", func(name string, _ ast.Node) {
			if name == "Now" || name == "Since" || name == "Until" {
				where = append(where, f.path())
			}
		})
	}
	if len(where) > 2 {
		t.Errorf("the root reads the clock %d times, in %v; want at most 2", len(where), where)
	}
}

// style.md, habit 16: the program is a value.
func TestOnlyMainEndsTheProcess(t *testing.T) {
	for _, f := range code(t) {
		if f.syntax.Name.Name == "main" && f.name == "main.go" {
			continue
		}
		f.uses("os", func(name string, at ast.Node) {
			if name == "Exit" {
				t.Errorf("%s:%d: os.Exit below main", f.path(), f.line(at))
			}
		})
		f.uses("log", func(name string, at ast.Node) {
			if strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic") {
				t.Errorf("%s:%d: log.%s", f.path(), f.line(at), name)
			}
		})
	}
}

// Names that say nothing gather everything.
func TestNamesSaySomething(t *testing.T) {
	empty := []string{"util", "utils", "common", "helper", "helpers", "types", "models", "manager", "misc"}
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		base := strings.TrimSuffix(strings.TrimSuffix(f.name, ".go"), "_test")
		if slices.Contains(empty, f.syntax.Name.Name) || slices.Contains(empty, base) {
			t.Errorf("%s: the name %q says nothing", f.path(), f.name)
		}
	}
}

// longFile is where a file asks to be two (style.md).
const longFile = 450

// Lengths are reported, not enforced: sometimes the one file is right.
func TestFileLengths(t *testing.T) {
	var lines []int
	for _, f := range code(t) {
		lines = append(lines, f.lines)
		if f.lines > longFile {
			t.Logf("%s has %d lines and may be two files", f.path(), f.lines)
		}
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		t.Fatal("no code was found")
	}
	t.Logf("%d files, median %d lines, longest %d", len(lines), lines[len(lines)/2], lines[len(lines)-1])
}
