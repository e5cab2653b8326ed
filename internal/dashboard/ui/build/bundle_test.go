package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is committed is what the sources make: nobody looks into a bundle, so
// that a change of the sources that was not bundled, or one of the bundle that
// has no source, must not pass.
func TestDistIsCurrent(t *testing.T) {
	want, err := bundle("..")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../dist")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got, err := os.ReadFile(filepath.Join("../dist", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := want[e.Name()]; !ok {
			t.Errorf("dist/%s is not made from the sources: go generate ./internal/dashboard", e.Name())
		} else if !bytes.Equal(got, data) {
			t.Errorf("dist/%s differs from what the sources make: go generate ./internal/dashboard", e.Name())
		}
		delete(want, e.Name())
	}
	for name := range want {
		t.Errorf("dist/%s is missing: go generate ./internal/dashboard", name)
	}
}

// The policy of the pages allows no script or style of the page itself, and the
// pages ask nobody else for anything.
func TestPageHasNothingInline(t *testing.T) {
	files, err := bundle("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<style", "style=", "onload=", "onclick=", "javascript:"} {
		if bytes.Contains(files["index.html"], []byte(bad)) {
			t.Errorf("index.html contains %s", bad)
		}
	}
	if bytes.Count(files["index.html"], []byte("<script")) != bytes.Count(files["index.html"], []byte("<script src=\"ui/")) {
		t.Error("index.html has a script that is not a file of ours")
	}
}

// Text of a model or a user becomes an element's text and never markup.
func TestSourcesMakeNoMarkupOfText(t *testing.T) {
	files, err := filepath.Glob("../src/*.js*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "dangerouslySetInnerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc", "http://", "https://"} {
			if bytes.Contains(text, []byte(bad)) {
				t.Errorf("%s uses %s", filepath.Base(f), bad)
			}
		}
	}
}
