package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/gateway"
	"github.com/flotilla-llm/flotilla/journal"
)

// outlet is an address that a command serves at.
type outlet struct {
	net.Listener
	url               string // where clients find it
	loopback          bool   // it leads here from this machine alone
	certFile, keyFile string // of TLS; empty: plain http
}

// openOutlet takes an address. host:port as --listen has it; port 0 picks a free
// one.
func openOutlet(ctx context.Context, flag, address, certFile, keyFile string) (*outlet, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, withHint(fmt.Errorf("%s %q is no address", flag, address), "an address has a port: 127.0.0.1:8787, :8787 or [::1]:8787")
	}
	network := "tcp"
	if ip, bad := netip.ParseAddr(host); bad == nil && ip.Is4() {
		network = "tcp4" // of 0.0.0.0 "tcp" makes every address of IPv6, too
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, network, address)
	if err != nil {
		return nil, withHint(fmt.Errorf("listening: %w", err), "another process may have it; "+flag+" 127.0.0.1:0 picks a free port")
	}
	o := &outlet{Listener: l, loopback: flotilla.IsLoopback(host), certFile: certFile, keyFile: keyFile}
	o.url = o.urlAs(host)
	return o, nil
}

// urlAs is the address for clients, by the name it was given.
func (o *outlet) urlAs(host string) string {
	scheme := "http"
	if o.certFile != "" {
		scheme = "https"
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // every address is this one, too
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(o.at().Port))
}

func (o *outlet) at() *net.TCPAddr { return o.Addr().(*net.TCPAddr) }

// serve answers until the server is shut.
func (o *outlet) serve(s *http.Server, connections int) error {
	var err error
	l := gateway.Bound(o.Listener, connections)
	if o.certFile != "" {
		err = s.ServeTLS(l, o.certFile, o.keyFile)
	} else {
		err = s.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving %s: %w", o.url, err)
}

// clients says who may come in. Beyond this machine nobody may without a key,
// and so there must be one.
func (o *outlet) clients(ctx context.Context, j *journal.Journal, log *slog.Logger) (gateway.Clients, error) {
	all, err := j.Clients(ctx)
	if err != nil {
		return nil, err
	}
	if !o.loopback && !slices.ContainsFunc(all, func(c journal.Client) bool { return c.Revoked.IsZero() }) {
		return nil, withHint(fmt.Errorf("%s can be reached from other machines, and there are no client keys", o.Addr()),
			"flotilla serve keys add NAME makes one; 127.0.0.1 is for this machine alone")
	}
	return gateway.KeyedClients(j, o.loopback, log), nil
}

// leadsBack says that a base URL leads to this address: every call would go
// round until nothing is left.
func (o *outlet) leadsBack(s *Settings) bool {
	bases := []string{s.BaseURL}
	for _, org := range s.Orgs {
		bases = append(bases, cmp.Or(org.BaseURL, s.BaseURL))
	}
	return slices.ContainsFunc(bases, func(base string) bool {
		u, err := url.Parse(base)
		if err != nil || u.Port() != strconv.Itoa(o.at().Port) {
			return false
		}
		ip, at := net.ParseIP(u.Hostname()), o.at().IP
		return flotilla.IsLoopback(u.Hostname()) && (at.IsLoopback() || at.IsUnspecified()) ||
			ip != nil && ip.Equal(at) || strings.EqualFold(base, o.url)
	})
}
