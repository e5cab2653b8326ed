package main

import (
	"net/netip"
	"testing"
)

// An address of IPv4 is taken of IPv4 alone: who opens one does not mean to open
// the machine's addresses of IPv6, which a firewall may know nothing of.
func TestListenOnWhatWasSaid(t *testing.T) {
	for address, want := range map[string]string{"0.0.0.0:0": "0.0.0.0", "127.0.0.1:0": "127.0.0.1", ":0": "::"} {
		o, err := openOutlet(t.Context(), "--listen", address, "", "")
		if err != nil {
			t.Fatal(err)
		}
		at, err := netip.ParseAddrPort(o.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if got := at.Addr().String(); got != want && !(want == "::" && at.Addr().IsUnspecified()) { // a machine may have no IPv6
			t.Errorf("%s listens on %s", address, got)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}
