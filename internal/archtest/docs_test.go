package archtest

import (
	"os"
	"path"
	"regexp"
	"slices"
	"testing"
)

// docs/design.md says in which file the next change goes: files that are gone
// would send people astray, and so would a package it does not mention.
func TestDesignNamesWhatThereIs(t *testing.T) {
	design, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	var names, dirs []string
	for _, f := range code(t) {
		names = append(names, f.name)
		if !slices.Contains(dirs, f.dir) {
			dirs = append(dirs, f.dir)
		}
	}
	mentioned := 0
	for _, m := range regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllSubmatch(design, -1) {
		mentioned++
		if name := string(m[1]); !slices.Contains(names, path.Base(name)) {
			t.Errorf("docs/design.md names %s, which does not exist", name)
		}
	}
	if mentioned == 0 {
		t.Error("docs/design.md names no file")
	}
	for _, dir := range dirs {
		if top, ok := row(dir); ok && top != "" && top != "cmd" && !regexp.MustCompile("`"+regexp.QuoteMeta(top)+"`").Match(design) {
			t.Errorf("docs/design.md does not mention the package %s", top)
		}
	}
}
