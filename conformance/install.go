package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// suite is one SDK's checks, ready to run.
type suite struct {
	name string
	dir  string
	args []string
	env  []string
}

// install makes the suites ready; missing are those that this machine cannot
// run.
func (r *run) install(ctx context.Context) (out []suite, missing error, err error) {
	how := map[string]func(context.Context) (suite, error){"python": r.python, "typescript": r.typescript, "go": r.golang}
	for _, name := range r.suites {
		f, ok := how[name]
		if !ok {
			return nil, nil, fmt.Errorf("there is no suite %q", name)
		}
		s, err := f(ctx)
		lacks := &missingError{}
		switch {
		case errors.As(err, &lacks):
			missing = errors.Join(missing, &missingError{name + ": " + lacks.what})
		case err != nil:
			return nil, nil, fmt.Errorf("installing the %s SDK: %w", name, err)
		default:
			s.name = name
			out = append(out, s)
		}
	}
	return out, missing, nil
}

// golang is of the module at hand, whose go.sum pins the SDK.
func (r *run) golang(ctx context.Context) (suite, error) {
	bin := filepath.Join(r.scratch, "gosdk")
	if err := r.do(ctx, r.home, nil, "go", "build", "-o", bin, "./gosdk"); err != nil {
		return suite{}, err
	}
	return suite{dir: r.scratch, args: []string{bin}}, nil
}

func (r *run) python(ctx context.Context) (suite, error) {
	s, err := r.pythonOf(ctx, filepath.Join(r.home, "python"))
	s.args = append(s.args, "main.py")
	return s, err
}

// pythonOf is an interpreter with what the requirements.txt of a directory pins.
func (r *run) pythonOf(ctx context.Context, src string) (suite, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return suite{}, &missingError{"there is no python3"}
	}
	pins := filepath.Join(src, "requirements.txt")
	dir, err := r.cached(ctx, "python", []string{pins}, func(dir string) error {
		if err := r.do(ctx, dir, nil, python, "-m", "venv", "venv"); err != nil {
			return &missingError{"python3 has no venv: " + err.Error()}
		}
		return r.do(ctx, dir, nil, filepath.Join(dir, "venv", "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", pins)
	})
	if err != nil {
		return suite{}, err
	}
	return suite{
		dir: src, args: []string{filepath.Join(dir, "venv", "bin", "python")},
		env: []string{"PYTHONDONTWRITEBYTECODE=1"},
	}, nil
}

func (r *run) typescript(ctx context.Context) (suite, error) {
	s, err := r.typescriptOf(ctx, filepath.Join(r.home, "typescript"), "conformance")
	s.args = append(s.args, "main.mjs")
	return s, err
}

// typescriptOf runs in a copy of a directory, with what its package-lock.json
// pins, since Node looks for packages beside the file.
func (r *run) typescriptOf(ctx context.Context, src, name string) (suite, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return suite{}, &missingError{"there is no node"}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return suite{}, &missingError{"there is no npm"}
	}
	pins := []string{filepath.Join(src, "package.json"), filepath.Join(src, "package-lock.json")}
	dir, err := r.cached(ctx, "typescript", pins, func(dir string) error {
		for _, p := range pins {
			if err := copyFile(filepath.Join(dir, filepath.Base(p)), p); err != nil {
				return err
			}
		}
		return r.do(ctx, dir, nil, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	})
	if err != nil {
		return suite{}, err
	}
	here := filepath.Join(r.scratch, "typescript-"+name)
	if err := os.CopyFS(here, os.DirFS(src)); err != nil {
		return suite{}, err
	}
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(here, "node_modules")); err != nil {
		return suite{}, err
	}
	return suite{dir: here, args: []string{node}}, nil
}

// cached is a directory that what is pinned was installed into, once for each
// content of the pins. A file in it says that it is whole.
func (r *run) cached(_ context.Context, name string, pins []string, fill func(dir string) error) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil && os.Getenv("FLOTILLA_CONFORMANCE_CACHE") == "" {
		return "", err
	}
	h := sha256.New()
	for _, p := range pins {
		b, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	root := cmp.Or(os.Getenv("FLOTILLA_CONFORMANCE_CACHE"), filepath.Join(base, "flotilla-conformance"))
	dir := filepath.Join(root, name+"-"+hex.EncodeToString(h.Sum(nil))[:16])
	whole := filepath.Join(dir, "whole")
	if _, err := os.Stat(whole); err == nil {
		return dir, nil
	}
	// A virtual environment names its own place, so it is filled where it stays.
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	if err := fill(dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(whole, nil, fs.FileMode(0o644))
}

func copyFile(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
