// Package sample gives tests and benchmarks real input, or rows of its shape.
//
// Where the directory of FLOTILLA_DATA (by default ../shared/data beside the
// checkout) has the published data sets, those are used. On a clone elsewhere a
// seeded generator writes rows of the same number, fields, lengths and equal
// pairs, so that the same assertions run and nothing is skipped.
package sample

import (
	"os"
	"path/filepath"
)

// Files that can be had, by name.
const (
	// Persona has 141,600 rows of id, trait, question, completion, statement;
	// 141,597 are distinct over (trait, statement). Ids hold slashes.
	Persona = "persona-141600.jsonl.zst"
	// Test has 1,319 rows of question and answer.
	Test = "gsm8k-test.jsonl"
	// Solutions has 5,276 rows of id, question, reference, completion, correct;
	// 5,268 are distinct over (question, completion).
	Solutions = "gsm8k-solutions.jsonl"
)

// TB is what a test gives: *testing.T and *testing.B are.
type TB interface {
	TempDir() string
	Fatal(...any)
	Logf(string, ...any)
	Helper()
}

// Path is a file with the rows of name, real or generated.
func Path(t TB, name string) string {
	t.Helper()
	if path, ok := Real(name); ok {
		return path
	}
	path := filepath.Join(t.TempDir(), name)
	if err := Generate(path, name); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: generated rows of its shape", name)
	return path
}

// Real finds the published file of that name.
func Real(name string) (path string, ok bool) {
	dir := os.Getenv("FLOTILLA_DATA")
	if dir == "" {
		dir = besideCheckout()
	}
	path = filepath.Join(dir, name)
	_, err := os.Stat(path)
	return path, err == nil
}

// besideCheckout is ../shared/data seen from the directory of go.mod.
func besideCheckout() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "data")
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
