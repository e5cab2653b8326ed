package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
)

// example is one program of examples/ and what it must say.
type example struct {
	name  string
	dir   string
	args  []string
	env   []string
	serve bool // with flotilla serve before it
	lines []string
}

// examples runs every program of examples/ against an emulator, and the recipes
// of the pages with the packages that they need.
func (r *run) examples(ctx context.Context) error {
	list, missing, err := r.findExamples(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, e := range list { // each waits for batches, or for late answers, most of the time
		wg.Go(func() { errs[i] = r.runExample(ctx, e) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return missing
}

// of is a path in examples/.
func (r *run) of(parts ...string) string {
	return filepath.Join(append([]string{filepath.Dir(r.home), "examples"}, parts...)...)
}

// findExamples makes the programs ready; missing are those that this machine
// cannot run.
func (r *run) findExamples(ctx context.Context) (list []example, missing, err error) {
	for _, find := range []func(context.Context) ([]example, error){r.goExamples, r.pythonExamples, r.typescriptExamples, r.shellExamples} {
		found, err := find(ctx)
		lacks := &missingError{}
		switch {
		case errors.As(err, &lacks):
			missing = errors.Join(missing, lacks)
		case err != nil:
			return nil, nil, err
		}
		list = append(list, found...)
	}
	return list, missing, nil
}

func (r *run) goExamples(ctx context.Context) ([]example, error) {
	bin := filepath.Join(r.scratch, "examples") + string(filepath.Separator)
	err := errors.Join(os.MkdirAll(bin, 0o755), r.do(ctx, r.of("go"), nil, "go", "vet", "./..."), r.do(ctx, r.of("go"), nil, "go", "build", "-o", bin, "./..."))
	return []example{
		{name: "go/library", dir: r.scratch, args: []string{bin + "library"}, lines: []string{`^answered: 100 for \$0\.00\d+$`}},
		{name: "go/sdk", dir: r.scratch, args: []string{bin + "sdk"}, lines: []string{`^answered: 100$`}},
	}, err
}

// pythonExamples are all that lie there, so that none is added and not run.
func (r *run) pythonExamples(ctx context.Context) (list []example, err error) {
	py, err := r.pythonOf(ctx, r.of("python"))
	if err != nil {
		return nil, err
	}
	say := map[string][]string{
		"sdk_sync.py":            {`^one: \w+$`, `^many: 200$`},
		"sdk_batch.py":           {`^answers: 300 failed: 0$`},
		"many_calls.py":          {`^generated: 40 of 40 for \$0\.0\d+$`, `^judged: 40 of 40, mean \d+\.\d \(\d+\.\d to \d+\.\d\)$`, `^words: 1$`},
		"flotilla_calls.py":      nil, // a module: many_calls.py and the tests run it
		"test_flotilla_calls.py": nil,
	}
	files, err := filepath.Glob(r.of("python", "*.py"))
	for _, file := range files {
		name := filepath.Base(file)
		lines, known := say[name]
		if !known {
			return nil, fmt.Errorf("nothing says what examples/python/%s should print", name)
		}
		list = append(list, example{
			name: "python/" + name, dir: py.dir, args: append(py.args[:1:1], name), env: py.env,
			serve: name == "sdk_sync.py" || name == "sdk_batch.py", lines: lines,
		})
	}
	bin := filepath.Dir(py.args[0])
	return append(list, example{
		name: "recipes of the pages", dir: filepath.Dir(r.home), env: []string{"FLOTILLA_RECIPES_PYTHON=" + bin},
		args: []string{"go", "test", "-count=1", "-v", "-timeout", "8m", "-run", "^TestRecipes$", "./cmd/flotilla"}, lines: []string{`^--- PASS: TestRecipes `},
	}), err
}

func (r *run) typescriptExamples(ctx context.Context) ([]example, error) {
	ts, err := r.typescriptOf(ctx, r.of("typescript"), "examples")
	if err != nil {
		return nil, err
	}
	// No npx: it would look on the network for what is not there.
	if err := r.do(ctx, ts.dir, nil, filepath.Join("node_modules", ".bin", "tsc")); err != nil {
		return nil, err
	}
	return []example{{
		name: "typescript/calls.ts", dir: ts.dir, args: append(ts.args, "build/calls.js"), serve: true,
		lines: []string{`^one: \w+$`, `^streamed: \w+$`, `^many: 100$`, `^batch: 50$`},
	}}, nil
}

func (r *run) shellExamples(context.Context) ([]example, error) {
	dir := filepath.Join(r.scratch, "shell")
	return []example{{
		name: "cli/generate_and_judge.sh", dir: dir, args: []string{"bash", r.of("cli", "generate_and_judge.sh")},
		lines: []string{`^ +5 answers.csv$`, `^ +5 verdicts.csv$`},
	}}, os.MkdirAll(dir, 0o755)
}

// runExample runs one with an emulator and a journal of its own, flotilla on its
// path.
func (r *run) runExample(ctx context.Context, e example) (err error) {
	t, err := r.emulated(ctx, r.of("scenario.yaml"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	dir, err := os.MkdirTemp(r.scratch, "example")
	if err != nil {
		return err
	}
	if e.serve {
		e.args = append([]string{r.binary, "serve", "--"}, e.args...)
	}
	cmd := exec.CommandContext(ctx, e.args[0], e.args[1:]...)
	cmd.Dir, cmd.Env = e.dir, append(append(plainEnv(), orgs(t.emulator)...), e.env...)
	cmd.Env = append(cmd.Env, "FLOTILLA_JOURNAL="+filepath.Join(dir, "journal.db"), "PATH="+filepath.Dir(r.binary)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	said, told := &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, told
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s%s", e.name, err, said, told)
	}
	for _, line := range e.lines {
		if !regexp.MustCompile("(?m)" + line).Match(said.Bytes()) {
			return fmt.Errorf("%s: it does not say %s:\n%s%s", e.name, line, said, told)
		}
	}
	fmt.Println("runs:", e.name)
	return nil
}
