package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// recipePages are read as programs: what a section shows is what is run.
var recipePages = []string{"../../docs/cookbook.md", "../../docs/migrate.md"}

// step is one block of a recipe.
type step struct {
	kind string // file, sh (shown), check (not shown), output
	name string // of a file
	text string
	line int
}

// recipe is one section of a page.
type recipe struct {
	name  string
	steps []step
}

// Every recipe of the pages runs as it stands there, in a directory of its own,
// against an emulator: files are written, blocks of sh are run, and what stands
// under them as output is what they print. Comments that begin with setup or
// check are run like sh.
//
// Recipes in Python need packages, and the directory of an interpreter that has
// them as FLOTILLA_RECIPES_PYTHON; scripts/test installs it.
func TestRecipes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	base := recipeEmulator(t)
	for _, page := range recipePages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		recipes := recipesOf(string(text))
		if len(recipes) < 3 {
			t.Errorf("%s has %d recipes", page, len(recipes))
		}
		for _, r := range recipes {
			t.Run(strings.TrimSuffix(filepath.Base(page), ".md")+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				follow(t, base, page, r)
			})
		}
	}
}

func recipeEmulator(t *testing.T) string {
	t.Helper()
	file, err := os.Open("../../examples/scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scenario, err := emulator.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	server, err := emulator.New(emulator.Options{Seed: 1, Scenario: scenario})
	if err != nil {
		t.Fatal(err)
	}
	base, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return base
}

// follow does what a recipe says.
func follow(t *testing.T, base, page string, r recipe) {
	dir, env := t.TempDir(), append(recipeEnv(t, base), pythonFor(t, r)...)
	said := ""
	for _, s := range r.steps {
		switch s.kind {
		case "file":
			if err := os.WriteFile(filepath.Join(dir, s.name), []byte(s.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case "output":
			if !alike(s.text, said) {
				t.Errorf("%s:%d: the page has\n%sand it prints\n%s", page, s.line, s.text, said)
			}
		default:
			var out, errs bytes.Buffer
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", s.text)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &errs
			if err := cmd.Run(); err != nil {
				t.Fatalf("%s:%d: %v\n%s\n%s%s", page, s.line, err, s.text, &out, &errs)
			}
			said = out.String()
		}
	}
}

var ofPackages = regexp.MustCompile(`import (anthropic|pandas|nbclient)`)

// pythonFor leads to the interpreter that a recipe needs, or skips it.
func pythonFor(t *testing.T, r recipe) []string {
	t.Helper()
	text := fmt.Sprint(r.steps)
	python := os.Getenv("FLOTILLA_RECIPES_PYTHON")
	if ofPackages.MatchString(text) {
		if python == "" {
			t.Skip("Python packages are needed: scripts/test has them")
		}
		return []string{"PATH=" + python + string(filepath.ListSeparator) + os.Getenv("PATH")}
	}
	if _, err := exec.LookPath("python3"); err != nil && strings.Contains(text, "python3") {
		t.Skip("there is no python3")
	}
	return nil
}

func recipeEnv(t *testing.T, base string) []string {
	t.Helper()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "EXAMPLES=" + examples,
		"ANTHROPIC_BASE_URL=" + base, "FLOTILLA_JOURNAL=" + filepath.Join(home, "journal.db"),
	}
	for _, e := range envOrgs {
		env = append(env, e.variable+"="+emulator.Key(e.name))
	}
	return env
}

// alike compares what a page shows with what was printed; … stands for what
// differs from time to time.
func alike(shown, printed string) bool {
	parts := strings.Split(strings.TrimSpace(shown), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	ok, err := regexp.MatchString("^"+strings.Join(parts, ".*")+"$", strings.TrimSpace(printed))
	return ok && err == nil
}

// recipesOf cuts a page at its second-level headings.
func recipesOf(text string) (out []recipe) {
	var open *step
	end := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && line == end:
			last := &out[len(out)-1]
			last.steps = append(last.steps, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "## "):
			out = append(out, recipe{name: strings.TrimPrefix(line, "## ")})
		case len(out) > 0:
			open, end = opens(line, i+1)
		}
	}
	return out
}

// opens reads a line that begins a block that we do something with.
func opens(line string, n int) (s *step, end string) {
	if kind, ok := strings.CutPrefix(line, "<!-- "); ok && (kind == "setup" || kind == "check") {
		return &step{kind: kind, line: n}, "-->"
	}
	info, ok := strings.CutPrefix(line, "```")
	if !ok {
		return nil, ""
	}
	lang, name, _ := strings.Cut(info, " ")
	switch {
	case name != "":
		return &step{kind: "file", name: name, line: n}, "```"
	case lang == "sh", lang == "output":
		return &step{kind: lang, line: n}, "```"
	}
	// Every block of a page is something that is run, or it is a table.
	return &step{kind: "sh", text: "echo 'a block of no known kind'; exit 1\n", line: n}, "```"
}

// Links of the pages lead to files and headings that are there.
func TestRecipePagesLead(t *testing.T) {
	t.Parallel()
	for _, page := range append([]string{"../../examples/README.md"}, recipePages...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		links := regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(string(text), -1)
		if len(links) < 5 {
			t.Errorf("%s has only %d links", page, len(links))
		}
		for _, l := range links {
			to := page
			if l[1] != "" {
				to = filepath.Join(filepath.Dir(page), l[1])
			}
			if there, err := os.ReadFile(to); err != nil && !isDirectory(to) {
				t.Errorf("%s leads to %s: %v", page, l[0], err)
			} else if l[2] != "" && !headings(string(there))[l[2]] {
				t.Errorf("%s leads to %s: there is no such heading", page, l[0])
			}
		}
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// headings are the anchors of a page, as GitHub makes them.
func headings(page string) map[string]bool {
	out := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		out[strings.ReplaceAll(kept, " ", "-")] = true
	}
	return out
}

// What the test reads a page by.
func TestRecipesOf(t *testing.T) {
	t.Parallel()
	got := recipesOf("# A\n```sh\nnot this\n```\n## B\ntext\n```csv a.csv\nx\n\ny\n```\n<!-- check\ntest 1\n-->\n```output\n1…3\n```\n## C\n```foo\n```\n")
	if len(got) != 2 || got[0].name != "B" || len(got[0].steps) != 3 {
		t.Fatalf("%+v", got)
	}
	if s := got[0].steps[0]; s != (step{"file", "a.csv", "x\n\ny\n", 7}) {
		t.Errorf("%+v", s)
	}
	if got[0].steps[1].kind != "check" || got[0].steps[2].kind != "output" || !strings.Contains(got[1].steps[0].text, "exit 1") {
		t.Errorf("%+v", got)
	}
	for printed, want := range map[string]bool{"123\n": true, "13": true, "12": false, "1\n3": false, "0123": false} {
		if alike("1…3\n", printed) != want {
			t.Errorf("%q: %t", printed, !want)
		}
	}
}
