package lab

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// docs/measure.md documents both files: every key they have is in it.
func TestDocsNameEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../docs/measure.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ heading, until string }{{"## A result", "## The profile"}, {"## The profile", "\x00"}} {
		_, section, ok := strings.Cut(string(text), of.heading+"\n")
		if !ok {
			t.Fatalf("docs/measure.md has no section %q", of.heading)
		}
		section, _, _ = strings.Cut(section, of.until)
		root := reflect.TypeFor[Result]()
		if of.heading == "## The profile" {
			root = reflect.TypeFor[Profile]()
		}
		keys := keysOf(root, map[reflect.Type]bool{})
		if len(keys) < 20 {
			t.Fatalf("%s: only %d keys were found", of.heading, len(keys))
		}
		for _, key := range keys {
			if !strings.Contains(section, "`"+key+"`") {
				t.Errorf("docs/measure.md, %s: nothing is said of `%s`", of.heading, key)
			}
		}
	}
}

// keysOf are the JSON keys of a struct of ours and of those inside it.
func keysOf(t reflect.Type, seen map[reflect.Type]bool) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	ours := strings.HasSuffix(t.PkgPath(), "internal/lab")
	if t.Kind() != reflect.Struct || seen[t] || t == reflect.TypeFor[time.Time]() || !ours || t == reflect.TypeFor[Class]() {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "-" || !f.IsExported() {
			continue
		}
		if key != "" {
			keys = append(keys, key)
		}
		keys = append(keys, keysOf(f.Type, seen)...)
	}
	return keys
}
