package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flotilla-llm/flotilla"
)

// adminPrefix is the variable of an admin key, and begins those that name an org.
const adminPrefix = "ANTHROPIC_ADMIN_KEY"

// envOrgs are the variables that name orgs without any file: those that
// flotilla.OrgsFrom reads (a test compares).
var envOrgs = []struct{ variable, name string }{
	{"ANTHROPIC_API_KEY", "high"},
	{"ANTHROPIC_BATCH_KEY", "batch"},
	{"ANTHROPIC_API_KEY_LOW_PRIO", "low"},
}

// readOrgs fills the orgs: those of the nearest file that lists any, else the
// three of the environment; then the selection of --orgs.
func (s *Settings) readOrgs(f *settingsFlags, files []*configFile) error {
	if err := s.listOrgs(files); err != nil {
		return err
	}
	if err := s.selectOrgs(f.orgs); err != nil {
		return err
	}
	return s.readAdminKeys()
}

func (s *Settings) listOrgs(files []*configFile) error {
	s.KeyEnvs = map[string]string{}
	for _, c := range files {
		if len(c.Orgs) > 0 {
			return s.orgsFromFile(c)
		}
	}
	for _, e := range envOrgs {
		s.KeyEnvs[e.name] = e.variable
		key, err := s.key(e.variable)
		if err != nil {
			return err
		}
		if key != "" {
			s.Orgs = append(s.Orgs, OrgSetting{Org: flotilla.Org{Name: e.name, Key: key}, KeyEnv: e.variable})
		}
	}
	return nil
}

func (s *Settings) orgsFromFile(c *configFile) error {
	seen := map[string]bool{}
	for i := range c.Orgs {
		o, err := s.orgFromEntry(c, &c.Orgs[i])
		if err != nil {
			return err
		}
		if seen[o.Name] {
			return c.Orgs[i].Name.errorf("two orgs are named %q", o.Name)
		}
		seen[o.Name], s.KeyEnvs[o.Name] = true, o.KeyEnv
		if o.Key == "" {
			s.Warnings = append(s.Warnings, fmt.Sprintf("org %s is left out: %s is not set", o.Name, o.KeyEnv))
			continue
		}
		s.Orgs = append(s.Orgs, o)
	}
	return nil
}

func (s *Settings) orgFromEntry(c *configFile, e *orgEntry) (o OrgSetting, err error) {
	switch {
	case !e.Name.set():
		return o, &lineError{c.path, e.line(), "an org has no name"}
	case !e.KeyEnv.set():
		return o, withHint(e.Name.errorf("org %s has no key_env", e.Name.text), "key_env names the environment variable that holds its key")
	case strings.HasPrefix(e.KeyEnv.text, "sk-"):
		return o, withHint(e.KeyEnv.errorf("key_env holds a key, not the name of a variable"), "keys are never in a file of ours; this one should be rotated if others have seen the file")
	case !isToken(e.Name.text):
		return o, e.Name.errorf("%q cannot name an org", e.Name.text)
	}
	o.Name, o.KeyEnv, o.AdminKeyEnv = e.Name.text, e.KeyEnv.text, e.AdminKeyEnv.text
	if o.Key, err = s.key(o.KeyEnv); err != nil {
		return o, err
	}
	if e.BaseURL.set() {
		if o.BaseURL, err = checkBaseURL(e.BaseURL.text, e.BaseURL.origin(c)); err != nil {
			return o, err
		}
	}
	return o, e.fill(&o)
}

// line is some line of an entry, for an error about what it lacks.
func (e *orgEntry) line() int {
	return cmp.Or(e.KeyEnv.line, e.BaseURL.line, e.UsageTier.line, e.TokensPerDay.line, e.AdminKeyEnv.line, 1)
}

// fill reads the optional fields.
func (e *orgEntry) fill(o *OrgSetting) (err error) {
	o.NoSync, o.NoBatch = len(e.Tiers) > 0, len(e.Tiers) > 0
	for _, t := range e.Tiers {
		switch t.text {
		case "sync":
			o.NoSync = false
		case "batch":
			o.NoBatch = false
		default:
			return t.errorf("%q is no tier: sync or batch", t.text)
		}
	}
	if e.Share.set() {
		share, err := parseShare(e.Share.text)
		if err != nil {
			return e.Share.errorf("%s", err)
		}
		o.Share = &share
	}
	if e.TokensPerDay.set() {
		o.TokensPerDay, err = strconv.ParseInt(strings.ReplaceAll(e.TokensPerDay.text, "_", ""), 10, 64)
		if err != nil || o.TokensPerDay <= 0 {
			return e.TokensPerDay.errorf("%q is no number of tokens above 0", e.TokensPerDay.text)
		}
	}
	if !e.UsageTier.set() {
		return nil
	}
	o.UsageTier = e.UsageTier.text
	limits, ok := tierLimits(o.UsageTier)
	if !ok {
		return e.UsageTier.errorf("%q is no usage tier: start, build, scale or custom", o.UsageTier)
	}
	o.PerMinute = limits
	o.BatchQueue, o.BatchRPM = batchTiers[o.UsageTier].queue, batchTiers[o.UsageTier].rpm
	return nil
}

// selectOrgs keeps the orgs that --orgs names, in its order.
func (s *Settings) selectOrgs(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var have []string
	byName := map[string]OrgSetting{}
	for _, o := range s.Orgs {
		have = append(have, o.Name)
		byName[o.Name] = o
	}
	s.Orgs = nil
	for _, name := range names {
		o, ok := byName[name]
		if !ok {
			return withHint(fmt.Errorf("--orgs: there is no org %q with a key", name), "orgs with a key: "+cmp.Or(strings.Join(have, ", "), "none"))
		}
		if slices.ContainsFunc(s.Orgs, func(p OrgSetting) bool { return p.Name == name }) {
			return fmt.Errorf("--orgs names %s twice", name)
		}
		s.Orgs = append(s.Orgs, o)
	}
	return nil
}

// readAdminKeys collects every admin key; which org one reads, only the
// provider knows.
func (s *Settings) readAdminKeys() error {
	variables, base := s.Env.names(adminPrefix), map[string]string{}
	for _, o := range s.Orgs {
		if v := s.Env.get(o.AdminKeyEnv); o.AdminKeyEnv != "" && v != "" {
			variables[o.AdminKeyEnv], base[o.AdminKeyEnv] = v, o.BaseURL
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		key, err := s.key(name)
		if err != nil {
			return err
		}
		s.AdminKeys = append(s.AdminKeys, AdminKey{Env: name, Key: key, BaseURL: cmp.Or(base[name], s.BaseURL)})
	}
	return nil
}

// key reads a key from the environment. An error says what is wrong with it,
// never what it is.
func (s *Settings) key(variable string) (flotilla.Key, error) {
	v := s.Env.get(variable)
	if v != "" && !isToken(v) {
		return "", withHint(fmt.Errorf("%s holds characters that no key has", variable), "a line break or a quote may have been pasted with it")
	}
	return flotilla.Key(v), nil
}

func isLoopbackURL(base string) bool {
	u, err := url.Parse(base)
	return err == nil && flotilla.IsLoopback(u.Hostname())
}
