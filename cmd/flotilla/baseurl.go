package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/flotilla-llm/flotilla"
)

// origin is where a setting came from, as far as trust goes.
type origin struct {
	name    string // for people: "--base-url", ".env line", "flotilla.yaml"
	foreign bool   // a file of the working directory, which whoever made the directory wrote
}

// checkBaseURL returns a base URL without its trailing slash, or says why keys
// must not be sent there: a directory that one happens to work in cannot point
// them at another host, and no key crosses a network in the clear
// (interface.md, "Keys and configuration").
func checkBaseURL(raw string, from origin) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return "", fmt.Errorf("%s: the base URL cannot be read: %w", from.name, parseCause(err))
	}
	switch {
	case u.User != nil:
		return "", fmt.Errorf("%s: a base URL with a user name or password is not taken", from.name)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", withHint(fmt.Errorf("%s: %q is no base URL", from.name, raw), "it looks like https://host or http://127.0.0.1:4010")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%s: a base URL has no query and no fragment", from.name)
	}
	base := strings.TrimRight(u.String(), "/")
	loopback := flotilla.IsLoopback(u.Hostname())
	if u.Scheme == "http" && !loopback {
		return "", withHint(fmt.Errorf("%s: %s would send keys in the clear", from.name, base), "plain http is for loopback addresses only; use https")
	}
	if from.foreign && !loopback && base != flotilla.DefaultBaseURL {
		return "", withHint(fmt.Errorf("%s points keys at %s, which a file of the working directory may not do", from.name, base),
			"if you want it: --base-url "+base+", or export ANTHROPIC_BASE_URL")
	}
	return base, nil
}

// parseCause leaves out what url.Parse quotes: it may be a URL with a secret.
func parseCause(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}
