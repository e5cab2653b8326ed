package main

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// tiers says of a usable org whether its key may use Message Batches: listing
// them costs nothing.
func (d *doctor) tiers(ctx context.Context, info *flotilla.OrgInfo) {
	if !info.Usable() {
		return
	}
	for i := range d.settings.Orgs {
		o := &d.settings.Orgs[i]
		if o.Name != info.Name {
			continue
		}
		name := "org " + o.Name
		if o.NoSync {
			d.add(name, checkOK, "", "is not used for sync (tiers)")
		}
		if o.NoBatch {
			d.add(name, checkOK, "", "is not used for batches (tiers)")
			continue
		}
		if err := d.batches(ctx, o); err != nil {
			d.add(name, checkWarn, "tiers: [sync] of the org in "+configName+" leaves it out of batches", "its batches cannot be listed: %s", err)
			continue
		}
		d.add(name, checkOK, "", "may use Message Batches")
	}
}

// batches reads one entry of an org's batches.
func (d *doctor) batches(ctx context.Context, o *OrgSetting) error {
	a := d.settings.apiFor(o)
	defer a.close()
	var page json.RawMessage
	if _, err := a.get(ctx, o.Key, "/v1/messages/batches", url.Values{"limit": {"1"}}, &page); err != nil {
		return err
	}
	_, err := wire.ReadBatchList(page)
	return err
}
