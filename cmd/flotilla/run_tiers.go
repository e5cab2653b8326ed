package main

import (
	"errors"
	"slices"
)

// checkTiers refuses a --tier that no org may be used for.
func (f *runFlags) checkTiers(s *Settings) error {
	var barred func(OrgSetting) bool
	switch f.tier {
	case tierSync:
		barred = func(o OrgSetting) bool { return o.NoSync }
	case tierBatch:
		barred = func(o OrgSetting) bool { return o.NoBatch }
	default:
		return nil
	}
	if len(s.Orgs) == 0 || slices.ContainsFunc(s.Orgs, func(o OrgSetting) bool { return !barred(o) }) {
		return nil
	}
	return withHint(errors.New("--tier "+tierNames[f.tier]+": no org may be used for it"), "tiers of an org in "+configName+" say what it may be used for")
}

// keyVariable is the environment variable that would hold an org's key; empty:
// nobody has named one.
func (s *Settings) keyVariable(org string) string { return s.KeyEnvs[org] }

// noSync says that no org takes sync calls.
func (s *Settings) noSync() bool {
	return len(s.Orgs) > 0 && !slices.ContainsFunc(s.Orgs, func(o OrgSetting) bool { return !o.NoSync })
}
