package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// configName is the configuration file of a working directory.
const configName = "flotilla.yaml"

// configFile is flotilla.yaml as written (interface.md, "Keys and
// configuration"). Values stay text with their line, so that an error can name it.
type configFile struct {
	Orgs   []orgEntry        `yaml:"orgs"`
	Caps   map[string]scalar `yaml:"caps"`
	Floors struct {
		Soft scalar `yaml:"soft"`
		Hard scalar `yaml:"hard"`
	} `yaml:"floors"`
	Retry struct {
		MaxAttempts      scalar `yaml:"max_attempts"`
		BaseDelay        scalar `yaml:"base_delay"`
		MaxDelay         scalar `yaml:"max_delay"`
		BudgetPerMin     scalar `yaml:"budget_per_min"`
		BudgetPerSuccess scalar `yaml:"budget_per_success"`
	} `yaml:"retry"`
	Spend struct {
		MaxUSD       scalar `yaml:"max_usd"`
		MaxUSDPerDay scalar `yaml:"max_usd_per_day"`
		ConfirmUSD   scalar `yaml:"confirm_usd"`
	} `yaml:"spend"`
	Share            scalar `yaml:"share"`
	Ramp             scalar `yaml:"ramp"`
	Journal          scalar `yaml:"journal"`
	Profile          scalar `yaml:"profile"`
	Prices           scalar `yaml:"prices"`
	BaseURL          scalar `yaml:"base_url"`
	AnthropicVersion scalar `yaml:"anthropic_version"`

	path    string
	foreign bool // lies in the working directory
}

// orgEntry is one org of a configuration file. Keys are named, never given.
type orgEntry struct {
	Name         scalar   `yaml:"name"`
	KeyEnv       scalar   `yaml:"key_env"`
	AdminKeyEnv  scalar   `yaml:"admin_key_env"`
	BaseURL      scalar   `yaml:"base_url"`
	Tiers        []scalar `yaml:"tiers"`
	Share        scalar   `yaml:"share"`
	UsageTier    scalar   `yaml:"usage_tier"`
	TokensPerDay scalar   `yaml:"tokens_per_day"`
}

// scalar is one plain value of a file: its text, and where it stands. The zero
// scalar is a value that the file does not have.
type scalar struct {
	text string
	file string
	line int
}

func (s scalar) set() bool { return s.line > 0 }

// UnmarshalYAML takes any plain value as it is spelled.
func (s *scalar) UnmarshalYAML(node ast.Node) error {
	tok := node.GetToken()
	if _, plain := node.(ast.ScalarNode); !plain {
		return &lineError{line: tok.Position.Line, msg: "a single value is expected here"}
	}
	if _, null := node.(*ast.NullNode); null {
		return nil
	}
	s.text, s.line = strings.TrimSpace(tok.Value), tok.Position.Line
	return nil
}

// errorf is an error about this value that names its file and line.
func (s scalar) errorf(format string, args ...any) error {
	return &lineError{file: s.file, line: s.line, msg: fmt.Sprintf(format, args...)}
}

// lineError is an error at a line of a file.
type lineError struct {
	file string
	line int
	msg  string
}

func (e *lineError) Error() string { return fmt.Sprintf("%s line %d: %s", e.file, e.line, e.msg) }

// readConfigFile reads one file strictly. A file that is not there is nil
// unless it must be.
func readConfigFile(path string, must bool) (*configFile, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return parseConfigFile(path, data)
}

func parseConfigFile(path string, data []byte) (*configFile, error) {
	c := &configFile{path: path, foreign: inWorkingDirectory(path)}
	if err := decodeStrictly(data, c); err != nil {
		return nil, atLine(path, err)
	}
	stamp(reflect.ValueOf(c).Elem(), path)
	return c, nil
}

// decodeStrictly refuses fields that c does not have. An empty file is fine.
func decodeStrictly(data []byte, c *configFile) (err error) {
	defer func() {
		if recover() != nil { // go-yaml 1.19 panics on a tag without a value, among others
			err = errors.New("this is no YAML that can be read")
		}
	}()
	err = yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(c)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// atLine turns the library's error into one line that names file and line.
func atLine(path string, err error) error {
	var own *lineError
	if errors.As(err, &own) {
		return &lineError{path, own.line, own.msg}
	}
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) {
		return fmt.Errorf("%s: %w", path, err)
	}
	fault := &lineError{path, at.GetToken().Position.Line, at.GetMessage()}
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		return withHint(fault, "the fields are described in docs/configuration.md")
	}
	return fault
}

// stamp writes the file's name into every scalar of v.
func stamp(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			stamp(v.Index(i), path)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			s := v.MapIndex(k).Interface().(scalar)
			s.file = path
			v.SetMapIndex(k, reflect.ValueOf(s))
		}
	case reflect.Struct:
		if s, ok := v.Addr().Interface().(*scalar); ok {
			s.file = path
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				stamp(v.Field(i), path)
			}
		}
	}
}

// inWorkingDirectory reports whether a file lies in the working directory or
// below it, links resolved.
func inWorkingDirectory(path string) bool {
	wd, err := os.Getwd()
	if err != nil {
		return true
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	for _, p := range []*string{&wd, &abs} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(wd, abs)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// configFiles lists the files to read, nearest first: --config or
// ./flotilla.yaml, then the user's own.
func configFiles(env *environment, explicit string) ([]*configFile, error) {
	var files []*configFile
	add := func(path string, must bool) error {
		c, err := readConfigFile(path, must)
		if c != nil {
			files = append(files, c)
		}
		return err
	}
	nearest, must := configName, false
	if explicit != "" {
		nearest, must = explicit, true
	}
	if err := add(nearest, must); err != nil {
		return nil, err
	}
	own := userConfigPath(env)
	if own == "" {
		return files, nil
	}
	if err := add(own, false); err != nil {
		return nil, err
	}
	for _, c := range files {
		c.foreign = c.foreign && c.path != own // the user's own wherever it lies
	}
	return files, nil
}

func userConfigPath(env *environment) string {
	dir := env.real["XDG_CONFIG_HOME"]
	if dir == "" {
		home := env.real["HOME"]
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "flotilla", "config.yaml")
}
