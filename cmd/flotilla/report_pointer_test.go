package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

func measuredOnce() *lab.Profile { return &lab.Profile{Measured: time.Now()} }

// The file is somebody else's: that it is a link, and who may read it, stays.
func TestPointerLeavesTheFileAsItIs(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("notes", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("notes/AGENTS.md", []byte("# Notes\r\nlast line"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("notes/AGENTS.md", "CLAUDE.md"); err != nil {
		t.Skip(err) // no links here
	}
	for range 2 {
		if err := keepPointer("CLAUDE.md", "docs/g.md", measuredOnce()); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Lstat("CLAUDE.md"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is one no more: %v, %v", info, err)
	}
	text, err := os.ReadFile("notes/AGENTS.md")
	if err != nil || !strings.HasPrefix(string(text), "# Notes\r\nlast line\n") || strings.Count(string(text), pointerMark) != 1 || !strings.Contains(string(text), "(../docs/g.md)") {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat("notes/AGENTS.md"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// One of the paths may be absolute: the link leads there all the same.
func TestPointerOfAnAbsolutePath(t *testing.T) {
	t.Chdir(t.TempDir())
	path, err := filepath.Abs("sub/CLAUDE.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := keepPointer(path, "docs/g.md", measuredOnce()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "(../docs/g.md)") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestPointerOfAReadOnlyFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("CLAUDE.md", []byte("mine\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := keepPointer("CLAUDE.md", "docs/g.md", measuredOnce()); err == nil {
		t.Error("a read-only file was replaced")
	}
	if text, err := os.ReadFile("CLAUDE.md"); err != nil || string(text) != "mine\n" {
		t.Errorf("%q, %v", text, err)
	}
}
