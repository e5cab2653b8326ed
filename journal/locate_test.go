package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flotilla-llm/flotilla/journal"
)

func TestLocate(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b", "c")
	for _, dir := range []string{deep, filepath.Join(root, "a", ".flotilla"), filepath.Join(root, "state")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, explicit, wd, want string }{
		{"nearest upwards", "", deep, "a/.flotilla/journal.db"},
		{"here", "", filepath.Join(root, "a"), "a/.flotilla/journal.db"},
		{"explicit file", "x/j.db", root, "x/j.db"},
		{"explicit directory", "state", root, "state/journal.db"},
		{"explicit absolute", filepath.Join(root, "state", "other.db"), deep, "state/other.db"},
		{"a .flotilla that is not there yet", "y/.flotilla", root, "y/.flotilla/journal.db"},
	} {
		got, err := journal.Locate(tt.explicit, tt.wd)
		if want := filepath.Join(root, tt.want); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, want)
		}
	}
}

func TestLocateNoneCreatesInWorkingDirectory(t *testing.T) {
	wd := t.TempDir()
	got, err := journal.Locate("", wd)
	if want := filepath.Join(wd, ".flotilla", "journal.db"); got != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// A journal holds prompts and answers: nobody else reads it, and it is not
// committed by accident.
func TestFilesAreOurs(t *testing.T) {
	p := path(t)
	j := open(t, p, journal.Options{})
	begin(t, j, 1)
	for name, want := range map[string]os.FileMode{".": 0o700, "journal.db": 0o600, "journal.db-wal": 0o600, "journal.db-shm": 0o600, ".gitignore": 0o600} {
		info, err := os.Stat(filepath.Join(filepath.Dir(p), name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	ignore, err := os.ReadFile(filepath.Join(filepath.Dir(p), ".gitignore"))
	if string(ignore) != "*\n" || err != nil {
		t.Errorf(".gitignore is %q, %v", ignore, err)
	}
}
