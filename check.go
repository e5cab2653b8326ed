package flotilla

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// check refuses what would send a key in the clear, or a header that is none.
func (c *Config) check() error {
	bases := map[string]bool{c.BaseURL: true}
	for _, o := range c.Orgs {
		if o.BaseURL != "" {
			bases[o.BaseURL] = true
		}
		if hasBreak(string(o.Key)) {
			return fmt.Errorf("org %s: the key has a line break or a control character in it", o.Name)
		}
	}
	for base := range bases {
		// A transport of the caller's own may lead anywhere: it decides.
		if err := checkBase(base, c.Transport == nil); err != nil {
			return err
		}
	}
	if hasBreak(c.Version) || hasBreak(strings.Join(c.Betas, "")) {
		return errors.New("anthropic-version and betas are single words")
	}
	return nil
}

func hasBreak(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func checkBase(base string, guard bool) error {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("the base URL cannot be read")
	case u.User != nil:
		return errors.New("a base URL has no user name and no password")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("a base URL has no query and no fragment")
	case guard && u.Scheme == "http" && !IsLoopback(u.Hostname()):
		return fmt.Errorf("base URL %s: plain http, which would send keys in the clear, is for loopback addresses only", base)
	}
	return nil
}

// IsLoopback reports whether a host of a URL is this machine.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
