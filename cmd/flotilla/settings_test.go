package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// loadIn reads the settings of a command line in a directory with these files.
func loadIn(t *testing.T, files map[string]string, environ []string, args ...string) (*Settings, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	env, err := newEnvironment(append(environ, "XDG_CONFIG_HOME="+filepath.Join(dir, "../own")), ".")
	if err != nil {
		t.Fatal(err)
	}
	if own, ok := files["OWN"]; ok {
		path := filepath.Join(dir, "../own/flotilla/config.yaml")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var flags settingsFlags
	var s *Settings
	cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, _ []string) (err error) {
		s, err = flags.load(cmd)
		return err
	}}
	flags.add(cmd)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(withEnvironment(t.Context(), env))
	return s, err
}

// interface.md: flags, environment, .env, file of the directory, own file.
func TestPrecedence(t *testing.T) {
	files := map[string]string{}
	var environ, args []string
	check := func(source, journal, base string) {
		t.Helper()
		s, err := loadIn(t, files, environ, args...)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if s.Journal != journal || s.BaseURL != base {
			t.Errorf("%s: journal %q, base URL %q; want %q, %q", source, s.Journal, s.BaseURL, journal, base)
		}
	}
	check("nothing", "", flotilla.DefaultBaseURL)
	files["OWN"] = "journal: own\nbase_url: https://own.example.com/\n"
	check("own file", "own", "https://own.example.com")
	files["flotilla.yaml"] = "journal: dir\nbase_url: http://127.0.0.1:1\n"
	check("file of the directory", "dir", "http://127.0.0.1:1")
	files[".env"] = "FLOTILLA_JOURNAL=dotenv\nANTHROPIC_BASE_URL=http://127.0.0.1:2\n"
	check(".env", "dotenv", "http://127.0.0.1:2")
	environ = []string{"FLOTILLA_JOURNAL=env", "ANTHROPIC_BASE_URL=https://env.example.com"}
	check("environment", "env", "https://env.example.com")
	args = []string{"--journal", "flag", "--base-url", "https://flag.example.com"}
	check("flags", "flag", "https://flag.example.com")
}

// The nearest file that says something of a setting wins for that setting
// alone.
func TestFilesAddUp(t *testing.T) {
	s, err := loadIn(t, map[string]string{
		"OWN":           "ramp: fast\nspend: {max_usd: 40, confirm_usd: 1.50}\ncaps: {sonnet: 10, opus: 5}\n",
		"flotilla.yaml": "spend: {max_usd: 7}\ncaps: {sonnet: 20}\nfloors: {soft: 0, hard: 50_000}\nshare: polite\nretry: {max_attempts: 5, base_delay: 1s, budget_per_min: 7.5}\nprices: p.yaml\n",
		"p.yaml":        "models:\n  - {id: claude-sonnet-4-6, in: 2.50, out: 12}\n",
	}, []string{"EPS_API_CONC_SONNET=30"})
	if err != nil {
		t.Fatal(err)
	}
	want := &Settings{
		Conc: map[string]int{"sonnet": 30, "opus": 5}, SoftFloor: floor{Share: -1}, HardFloor: floor{Tokens: 50_000},
		Retry:    flotilla.Retry{MaxAttempts: 5, BaseDelay: time.Second, BudgetPerMin: 7.5},
		Share:    flotilla.SharePolite,
		Ramp:     flotilla.RampFast,
		MaxSpend: 7 * price.Dollar, Confirm: 1500 * price.Dollar / 1000,
	}
	got := &Settings{
		Conc: s.Conc, SoftFloor: s.SoftFloor, HardFloor: s.HardFloor, Retry: s.Retry,
		Share: s.Share, Ramp: s.Ramp, MaxSpend: s.MaxSpend, Confirm: s.Confirm,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m, _ := s.Prices.Lookup("claude-sonnet-4-6"); m.Prices.In.String() != "2.5" {
		t.Errorf("input price is %s, want the file's 2.5", m.Prices.In)
	}
}

// The orgs of the environment are those the library reads.
func TestEnvironmentOrgsAgreeWithTheLibrary(t *testing.T) {
	var environ []string
	for _, e := range envOrgs {
		environ = append(environ, e.variable+"=sk-ant-emulated-"+e.name)
	}
	s, err := loadIn(t, nil, environ)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(flotilla.OrgsFrom(s.Env.get), s.FleetConfig().Orgs); diff != "" {
		t.Error(diff)
	}
}

// An org is used for the tiers that a file names, with what its usage tier says
// of its batch queue.
func TestTiersOfAnOrg(t *testing.T) {
	s, err := loadIn(t, map[string]string{"flotilla.yaml": `orgs:
  - {name: a, key_env: K, tiers: [batch], usage_tier: build}
  - {name: b, key_env: K, tiers: [sync], tokens_per_day: 20_000_000}
  - {name: c, key_env: K}
`}, []string{"K=sk-ant-emulated-high"})
	if err != nil {
		t.Fatal(err)
	}
	type tiers struct {
		Name            string
		NoSync, NoBatch bool
		Queue           int64
		RPM             float64
		PerDay          int64
	}
	var got []tiers
	for _, o := range s.FleetConfig().Orgs {
		got = append(got, tiers{o.Name, o.NoSync, o.NoBatch, o.BatchQueue, o.BatchRPM, o.TokensPerDay})
	}
	want := []tiers{{"a", true, false, 300_000, 2000, 0}, {"b", false, true, 0, 0, 20_000_000}, {"c", false, false, 0, 0, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// An org's own share holds for its key, until the flag says otherwise.
func TestShareOfAnOrg(t *testing.T) {
	s, err := loadIn(t, map[string]string{"flotilla.yaml": "share: polite\norgs:\n  - {name: a, key_env: K, share: fair}\n  - {name: b, key_env: L}\n"},
		[]string{"K=sk-ant-emulated-high", "L=sk-ant-emulated-low"})
	if err != nil {
		t.Fatal(err)
	}
	if c := s.FleetConfig(); len(s.Warnings) != 0 || c.Share != flotilla.SharePolite || *c.Orgs[0].Share != flotilla.ShareFair || c.Orgs[1].Share != nil {
		t.Errorf("share %v of %+v, warnings %q", c.Share, c.Orgs, s.Warnings)
	}
	byDefault := flotilla.ShareDefault
	(&runFlags{share: &byDefault}).apply(s)
	if c := s.FleetConfig(); c.Share != flotilla.ShareDefault || c.Orgs[0].Share != nil {
		t.Errorf("with --share default: share %v of %+v", c.Share, c.Orgs)
	}
}

func TestParseFloor(t *testing.T) {
	for text, want := range map[string]floor{
		"10%": {Share: .1}, "0.1": {Share: .1}, "0": {Share: -1}, "0%": {Share: -1}, "50000": {Tokens: 50_000}, "50_000": {Tokens: 50_000},
	} {
		if got, err := parseFloor(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "-10%", "100%", "110%", "10", "1", "Inf", "NaN", "much", "5 M"} {
		if got, err := parseFloor(text); err == nil {
			t.Errorf("%q was taken as %+v", text, got)
		}
	}
}

// A key stays out of everything that is printed, whatever verb prints it.
func TestSettingsDoNotPrintKeys(t *testing.T) {
	const key = "sk-ant-emulated-high"
	s, err := loadIn(t, nil, []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_ADMIN_KEY=" + key})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printJSON(&out, map[string]any{"orgs": s.Orgs, "admin": s.AdminKeys}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), key) {
		t.Errorf("a key was printed: %s", out.String())
	}
}

func TestCheckBaseURL(t *testing.T) {
	user, foreign := origin{name: "flag"}, origin{name: "file", foreign: true}
	for _, c := range []struct {
		raw  string
		from origin
		want string // empty: refused
	}{
		{"https://api.anthropic.com/", foreign, "https://api.anthropic.com"},
		{"http://localhost:4010", foreign, "http://localhost:4010"},
		{"http://[::1]:4010/", foreign, "http://[::1]:4010"},
		{"http://127.8.9.1", foreign, "http://127.8.9.1"},
		{"https://gateway.example.com/claude", user, "https://gateway.example.com/claude"},
		{"https://gateway.example.com", foreign, ""},
		{"https://api.anthropic.com.example.com", foreign, ""},
		{"https://api.anthropic.com:444", foreign, ""},
		{"https://api.anthropic.com@example.com", foreign, ""},
		{"http://127.0.0.1.example.com", user, ""},
		{"http://api.anthropic.com", user, ""},
		{"ftp://127.0.0.1", user, ""},
		{"https:///path", user, ""},
		{"https://h/#x", user, ""},
		{"://", user, ""},
	} {
		got, err := checkBaseURL(c.raw, c.from)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s from %s: got %q, %v; want %q", c.raw, c.from.name, got, err, c.want)
		}
	}
}

// What a configuration file may hold is what this package reads: every bad
// value is an error that names the line, never a panic.
func FuzzConfigFile(f *testing.F) {
	f.Add("orgs:\n  - {name: a, key_env: K, tiers: [sync]}\n")
	f.Add("floors: {soft: 10%, hard: 0}\nretry: {max_attempts: 3}\n")
	f.Add("caps: {sonnet: 1}\nspend: {max_usd: 1e3}\n")
	f.Add("a: &a [*a]\n")
	f.Add("orgs:\n !0 #")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfigFile("c.yaml", []byte(text))
		if err != nil {
			return
		}
		s := &Settings{Env: &environment{}}
		for _, read := range []func([]*configFile) error{s.readConc, s.readManners, s.readMoney, s.listOrgs} {
			var at *lineError
			if err := read([]*configFile{c}); err != nil && !errors.As(err, &at) {
				t.Errorf("an error without a line: %v", err)
			}
		}
	})
}
