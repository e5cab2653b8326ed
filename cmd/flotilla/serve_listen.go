package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/gateway"
)

// listen takes the address, before anything else is opened: most often it is
// that which is wrong.
func (v *server) listen(ctx context.Context) (err error) {
	address := cmp.Or(v.flags.listen, defaultListen)
	if v.child != nil && v.flags.listen == "" {
		address = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	v.loopback = flotilla.IsLoopback(host)
	var listener net.ListenConfig
	if v.listener, err = listener.Listen(ctx, "tcp", address); err != nil {
		return withHint(fmt.Errorf("listening on %s: %w", address, err), "another process may have it; --listen 127.0.0.1:0 picks a free port")
	}
	v.url = v.address()
	return v.notOurselves()
}

// address is where clients find us.
func (v *server) address() string {
	scheme := "http"
	if v.flags.tlsCert != "" {
		scheme = "https"
	}
	at := v.listener.Addr().(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	if host, _, err := net.SplitHostPort(v.flags.listen); err == nil && strings.EqualFold(host, "localhost") {
		return fmt.Sprintf("%s://localhost:%d", scheme, at.Port)
	}
	return scheme + "://" + net.JoinHostPort(host, fmt.Sprint(at.Port))
}

// notOurselves refuses a base URL that leads to our own listener: every call
// would go round until nothing is left.
func (v *server) notOurselves() error {
	at := v.listener.Addr().(*net.TCPAddr)
	bases := []string{v.settings.BaseURL}
	for _, o := range v.settings.Orgs {
		bases = append(bases, cmp.Or(o.BaseURL, v.settings.BaseURL))
	}
	if slices.ContainsFunc(bases, func(base string) bool { return leadsTo(base, at) }) {
		return flotilla.ErrOurselves
	}
	return nil
}

func leadsTo(base string, at *net.TCPAddr) bool {
	u, err := url.Parse(base)
	if err != nil || u.Port() != fmt.Sprint(at.Port) {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return flotilla.IsLoopback(u.Hostname()) && (at.IP.IsLoopback() || at.IP.IsUnspecified()) || ip != nil && ip.Equal(at.IP)
}

// clients says who may call. Beyond this machine nobody may without a key, and
// so there must be one.
func (v *server) clients(ctx context.Context) (gateway.Clients, error) {
	if v.child != nil {
		return gateway.OneKey(v.child.key), nil
	}
	all, err := v.journal.Clients(ctx)
	if err != nil {
		return nil, err
	}
	good := 0
	for i := range all {
		if all[i].Revoked.IsZero() {
			good++
		}
	}
	if !v.loopback && good == 0 {
		return nil, withHint(fmt.Errorf("%s can be reached from other machines, and there are no client keys", v.listener.Addr()),
			"flotilla serve keys add NAME makes one; --listen "+defaultListen+" is for this machine alone")
	}
	return gateway.KeyedClients(v.journal, v.loopback, v.log), nil
}
