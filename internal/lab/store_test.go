package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each file that is no result is said in one line, with its name; the others are
// read all the same.
func TestForeignFilesAmongResults(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"foreign.json": `{"hello":1}`, "cut.json": `{"schema":1,`, "list.json": `[]`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := &Env{Dir: dir, Window: "peak"}
	good := &Result{
		Schema: schemaVersion, Experiment: "limits", Question: "?", Window: "peak", Verdict: "so",
		Hypothesis: Hypothesis{Text: "so", Binding: "none"}, Versions: Versions{Flotilla: "dev"},
	}
	if err := good.Store(env); err != nil {
		t.Fatal(err)
	}
	results, err := ReadAll(dir)
	if len(results) != 1 || err == nil {
		t.Fatalf("%d results, %v", len(results), err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 {
		t.Errorf("%d lines:\n%v", len(lines), err)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, dir) {
			t.Errorf("whose? %s", line)
		}
	}
	if again, _ := os.ReadDir(dir); len(again) != 4 {
		t.Errorf("%v", again)
	}
}
