package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/joho/godotenv"
)

// dotEnvName is the file of variables that the working directory may have.
const dotEnvName = ".env"

// environment is what the program was started with and, beneath it, the .env
// of the working directory. Its values never enter the process environment, so
// that children do not inherit keys.
type environment struct {
	real     map[string]string
	dotEnv   map[string]string
	warnings []string
}

// newEnvironment reads environ ("NAME=value") and the .env file in dir, if any.
func newEnvironment(environ []string, dir string) (*environment, error) {
	e := &environment{real: map[string]string{}}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.real[name] = value
		}
	}
	return e, e.readDotEnv(filepath.Join(dir, dotEnvName))
}

func (e *environment) readDotEnv(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil // a directory of that name is a Python habit, not ours
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", dotEnvName, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", dotEnvName, err)
	}
	if e.dotEnv, err = godotenv.UnmarshalBytes(data); err != nil {
		// Its own words would quote the line, and the line may hold a key.
		return withHint(fmt.Errorf("%s line %d: not a NAME=value line", dotEnvName, faultyLine(data)),
			"quote values with spaces or # in them: NAME=\"a value\"")
	}
	if mode := info.Mode().Perm(); mode&0o044 != 0 && len(e.dotEnv) > 0 {
		e.warnings = append(e.warnings, fmt.Sprintf("%s can be read by other users of this machine (mode %04o): chmod 600 %s", dotEnvName, mode, dotEnvName))
	}
	return nil
}

// faultyLine is the first line from which on no beginning of the file can be
// parsed.
func faultyLine(data []byte) int {
	line, good := 0, 0
	for rest := data; len(rest) > 0; {
		line++
		_, after, _ := bytes.Cut(rest, []byte("\n"))
		if _, err := godotenv.UnmarshalBytes(data[:len(data)-len(after)]); err == nil {
			good = line
		}
		rest = after
	}
	return good + 1
}

// lookup finds a variable; the real environment wins, even with an empty value.
func (e *environment) lookup(name string) (value string, inReal, ok bool) {
	if v, ok := e.real[name]; ok {
		return v, true, true
	}
	v, ok := e.dotEnv[name]
	return v, false, ok
}

// get is the value of a variable without spaces around it; empty: not set.
func (e *environment) get(name string) string {
	v, _, _ := e.lookup(name)
	return strings.TrimSpace(v)
}

// names lists the variables that begin with prefix and have a value.
func (e *environment) names(prefix string) map[string]string {
	found := map[string]string{}
	for _, vars := range []map[string]string{e.dotEnv, e.real} {
		for name, value := range vars {
			if strings.HasPrefix(name, prefix) {
				found[name] = strings.TrimSpace(value)
			}
		}
	}
	for name, value := range found {
		if value == "" {
			delete(found, name)
		}
	}
	return found
}

type environmentKey struct{}

func withEnvironment(ctx context.Context, e *environment) context.Context {
	return context.WithValue(ctx, environmentKey{}, e)
}

// environmentOf is the environment a command runs in.
func environmentOf(ctx context.Context) *environment {
	if e, ok := ctx.Value(environmentKey{}).(*environment); ok {
		return e
	}
	return &environment{}
}
