package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flotilla-llm/flotilla/emulator"
)

// TestJudgeScripts has one more command:
//
//	answering FILE SPEED      begins an emulator of a scenario in a file at $API
func TestJudgeScripts(t *testing.T) {
	runScriptsWith(t, "testdata/judge", map[string]func(*testscript.TestScript, bool, []string){"answering": scriptAnswering})
}

func scriptAnswering(ts *testscript.TestScript, _ bool, args []string) {
	sc, err := emulator.Load(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	speed, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	s, err := emulator.New(emulator.Options{Scenario: sc, Seed: 1, Speed: speed})
	ts.Check(err)
	url, err := s.Listen("127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = s.Close() })
	ts.Setenv("API", url)
	ts.Setenv("ANTHROPIC_BASE_URL", url)
}

// block is the text of a fenced block of the README behind a comment.
func block(t *testing.T, comment string) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)<!-- " + comment + " -->\n```sh\n(.*?)```").FindSubmatch(readme)
	if found == nil {
		t.Fatalf("no block of %q", comment)
	}
	return string(found[1])
}

// TestNewcomerJudges does what the README says, as a newcomer would: a rubric of
// their own over their own CSV, by an emulator that answers with numbers.
func TestNewcomerJudges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sh := func(text string, env ...string) string {
		t.Helper()
		cmd := exec.Command("sh", "-ec", text)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "HOME="+dir)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", text, err, out)
		}
		return string(out)
	}
	emulated := block(t, "judge emulated")
	first, rest, _ := strings.Cut(emulated, "\n")
	if !strings.HasPrefix(rest, "flotilla emulate --listen 127.0.0.1:4010 --scenario scores.yaml &\nexport ANTHROPIC_BASE_URL=http://127.0.0.1:4010 ") {
		t.Fatalf("the README has other commands: %s", rest)
	}
	sh(first)
	f, err := os.Open(filepath.Join(dir, "scores.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc, err := emulator.Load(f)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOf(t, "default", 1, func(s *emulator.Scenario) { *s = sc })
	out := sh(block(t, "judge"), "ANTHROPIC_BASE_URL="+w.url, "ANTHROPIC_API_KEY="+emulator.Key("high"))
	if !strings.Contains(out, "helpful by claude-haiku-4-5") || !regexp.MustCompile(`(?m)^ +towns +2 +2 `).MatchString(out) {
		t.Errorf("the summary says:\n%s", out)
	}
	table, err := os.ReadFile(filepath.Join(dir, "verdicts.csv"))
	if err != nil || strings.Count(string(table), "\n") != 5 || !strings.HasPrefix(string(table), "topic,question,answer,custom_id,status,score,") {
		t.Errorf("%v\n%s", err, table)
	}
}
