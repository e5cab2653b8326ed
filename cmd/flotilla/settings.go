package main

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Settings is what flags, environment, .env and configuration files say
// together, in that order of precedence. The zero value of each field means
// that nobody said anything and the library's default holds.
type Settings struct {
	Env       *environment
	Files     []string          // configuration files that were read, nearest first
	Orgs      []OrgSetting      // those whose key is set, in the order of naming
	KeyEnvs   map[string]string // the variable that would hold the key, of every org that is named
	AdminKeys []AdminKey

	BaseURL     string // never empty
	BaseURLFrom string // for people
	Version     string // anthropic-version
	Betas       []string

	Conc                 map[string]int // attempts in flight by family in one org
	SoftFloor, HardFloor floor
	Retry                flotilla.Retry
	Share                flotilla.Share
	Ramp                 flotilla.Ramp

	MaxSpend       flotilla.Money // on this job; 0: none
	MaxSpendPerDay flotilla.Money // on this journal; 0: none
	Confirm        flotilla.Money // ask above it

	Prices   *price.Table // the published one, with the corrections of a file
	Journal  string       // as named; empty: look for it
	Profile  string       // empty: beside the journal
	Speed    float64      // of the emulator's clock; 1: real time
	Warnings []string
}

// OrgSetting is one org and what was said about it.
type OrgSetting struct {
	flotilla.Org
	KeyEnv      string // the variable its key comes from
	AdminKeyEnv string // the variable its admin key would come from
	UsageTier   string // start, build, scale, custom; empty: unknown
}

// AdminKey is a key that reads limits and usage of some org.
type AdminKey struct {
	Env     string
	Key     flotilla.Key
	BaseURL string
}

// settingsFlags are the flags that every command which reaches an org has.
type settingsFlags struct {
	config, baseURL, journal, version string
	betas, orgs                       []string
	speed                             float64
}

// add declares the flags on a command, in their groups.
func (f *settingsFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&f.orgs, "orgs", nil, "use only these orgs, `NAMES` separated by commas")
	fs.StringVar(&f.journal, "journal", "", "journal `PATH` (default: the nearest .flotilla upwards)")
	fs.StringVar(&f.config, "config", "", "configuration `FILE` instead of ./flotilla.yaml")
	fs.StringVar(&f.baseURL, "base-url", "", "`URL` of the API")
	fs.Float64Var(&f.speed, "speed", 1, "speed of the emulator's clock")
	fs.StringVar(&f.version, "anthropic-version", "", "anthropic-version to send, `VERSION`")
	fs.StringSliceVar(&f.betas, "beta", nil, "anthropic-beta `NAME` to send; repeatable")
	group(cmd, groupRoute, "orgs")
	group(cmd, groupResume, "journal")
	group(cmd, groupAdvanced, "config", "base-url", "speed", "anthropic-version", "beta")
}

// load reads everything there is to read.
func (f *settingsFlags) load(cmd *cobra.Command) (*Settings, error) {
	env := environmentOf(cmd.Context())
	files, err := configFiles(env, f.config)
	if err != nil {
		return nil, err
	}
	s := &Settings{Env: env, Betas: f.betas, Speed: f.speed, Warnings: slices.Clone(env.warnings)}
	for _, c := range files {
		s.Files = append(s.Files, c.path)
	}
	if f.speed <= 0 || f.speed > 1e6 {
		return nil, fmt.Errorf("--speed %g: a number above 0, at most 1,000,000", f.speed)
	}
	for _, read := range []func([]*configFile) error{
		func(c []*configFile) error { return s.readBaseURL(f, c) },
		s.readConc, s.readManners, s.readMoney,
		func(c []*configFile) error { return s.readPaths(f, c) },
		func(c []*configFile) error { return s.readOrgs(f, c) },
	} {
		if err := read(files); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// NeedOrgs is an error when there is no key to work with.
func (s *Settings) NeedOrgs() error {
	if len(s.Orgs) > 0 {
		return s.refuseEmulatedKeys()
	}
	return withHint(fmt.Errorf("no usable key: none of %s is set", strings.Join(s.keyNames(), ", ")),
		"export ANTHROPIC_API_KEY, or write it into a .env here; flotilla demo needs none")
}

// emulatedKey begins the keys of the emulator.
const emulatedKey = "sk-ant-emulated-"

// refuseEmulatedKeys is an error when a key of the emulator would go to anybody
// else: the base URL was forgotten.
func (s *Settings) refuseEmulatedKeys() error {
	for i := range s.Orgs {
		o := &s.Orgs[i]
		base := cmp.Or(o.BaseURL, s.BaseURL)
		if strings.HasPrefix(string(o.Key), emulatedKey) && !isLoopbackURL(base) {
			return withHint(fmt.Errorf("%s is a key of the emulator, and the base URL is %s", o.KeyEnv, base),
				"export ANTHROPIC_BASE_URL=http://127.0.0.1:4010, or what flotilla emulate says it listens on")
		}
	}
	return nil
}

func (s *Settings) keyNames() []string {
	var names []string
	for _, e := range envOrgs {
		names = append(names, e.variable)
	}
	return names
}

// FleetConfig is the Config of a Fleet that these settings ask for. Store and
// slots are the caller's to add.
func (s *Settings) FleetConfig() flotilla.Config {
	c := flotilla.Config{
		BaseURL: s.BaseURL, Version: s.Version, Betas: s.Betas,
		Share: s.Share, Ramp: s.Ramp, Conc: s.Conc,
		SoftFloor: s.SoftFloor.Share, HardFloor: s.HardFloor.Share,
		SoftTokens: s.SoftFloor.Tokens, HardTokens: s.HardFloor.Tokens,
		Retry: s.Retry, Prices: s.Prices, Speed: s.Speed,
	}
	for _, o := range s.Orgs {
		c.Orgs = append(c.Orgs, o.Org)
	}
	return c
}

// Loopback reports whether all orgs are reached on this machine alone.
func (s *Settings) Loopback() bool {
	return !slices.ContainsFunc(s.Orgs, func(o OrgSetting) bool {
		return !isLoopbackURL(cmp.Or(o.BaseURL, s.BaseURL))
	})
}

// first is the first value of a setting that some file has, nearest first.
func first(files []*configFile, get func(*configFile) scalar) (scalar, *configFile) {
	for _, c := range files {
		if v := get(c); v.set() {
			return v, c
		}
	}
	return scalar{}, nil
}

func (s *Settings) readBaseURL(f *settingsFlags, files []*configFile) (err error) {
	raw, from := flotilla.DefaultBaseURL, origin{name: "default"}
	if f.baseURL != "" {
		raw, from = f.baseURL, origin{name: "--base-url"}
	} else if v, inReal, ok := s.Env.lookup("ANTHROPIC_BASE_URL"); ok && strings.TrimSpace(v) != "" {
		raw, from = v, origin{name: "ANTHROPIC_BASE_URL"}
		if !inReal {
			from = origin{name: "ANTHROPIC_BASE_URL in " + dotEnvName, foreign: true}
		}
	} else if v, c := first(files, func(c *configFile) scalar { return c.BaseURL }); c != nil {
		raw, from = v.text, v.origin(c)
	}
	s.BaseURLFrom = from.name
	s.BaseURL, err = checkBaseURL(raw, from)
	return err
}

// origin is where a value of a file came from.
func (s scalar) origin(c *configFile) origin {
	return origin{name: fmt.Sprintf("%s line %d", s.file, s.line), foreign: c.foreign}
}

func (s *Settings) readPaths(f *settingsFlags, files []*configFile) error {
	fromFile := func(get func(*configFile) scalar) string {
		v, _ := first(files, get)
		return v.text
	}
	s.Journal = cmp.Or(f.journal, s.Env.get("FLOTILLA_JOURNAL"), fromFile(func(c *configFile) scalar { return c.Journal }))
	s.Profile = fromFile(func(c *configFile) scalar { return c.Profile })
	s.Version = cmp.Or(f.version, fromFile(func(c *configFile) scalar { return c.AnthropicVersion }), flotilla.DefaultVersion)
	if err := s.readPrices(files); err != nil {
		return err
	}
	for _, header := range append([]string{s.Version}, s.Betas...) {
		if !isToken(header) {
			return fmt.Errorf("%q cannot be sent as a header", header)
		}
	}
	return nil
}

// readPrices corrects the published table by a file, whose path is taken from
// the directory of the file that names it.
func (s *Settings) readPrices(files []*configFile) error {
	s.Prices = price.Published()
	v, c := first(files, func(c *configFile) scalar { return c.Prices })
	if !v.set() {
		return nil
	}
	path := v.text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(c.path), path)
	}
	f, err := os.Open(path)
	if err != nil {
		return v.errorf("prices: %s", err)
	}
	defer f.Close()
	if s.Prices, err = s.Prices.Load(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' })
}

// proxyFor is the proxy that requests to a base URL go through; nil: none.
func proxyFor(base string) string {
	req, err := http.NewRequest(http.MethodGet, base, nil)
	if err != nil {
		return ""
	}
	u, err := http.ProxyFromEnvironment(req)
	if err != nil || u == nil {
		return ""
	}
	return u.Redacted()
}
