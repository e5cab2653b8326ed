package emulator

import (
	"net/http"
	"strings"
)

// Keys of an org (interface.md "Emulator"): any of "<prefix><org>" and
// "<prefix><org>-2", "-3" … ; its admin key is "<prefix>admin-<org>".
const (
	keyPrefix   = "sk-ant-emulated-"
	adminPrefix = keyPrefix + "admin-"
)

// Key is the API key of an org.
func Key(org string) string { return keyPrefix + org }

// AdminKey is the admin key of an org.
func AdminKey(org string) string { return adminPrefix + org }

func presented(r *http.Request) string {
	if k := r.Header["X-Api-Key"]; len(k) > 0 {
		return k[0]
	}
	if a := r.Header["Authorization"]; len(a) > 0 {
		return strings.TrimPrefix(a[0], "Bearer ")
	}
	return ""
}

// authenticate finds the org of a request's key.
func (w *world) authenticate(r *http.Request) (int, *apiError) {
	k := presented(r)
	if k == "" {
		return 0, unauthorized("x-api-key header is required")
	}
	name, ok := strings.CutPrefix(k, keyPrefix)
	if !ok {
		return 0, unauthorized("API key is invalid.")
	}
	if i, ok := w.model.OrgIndex(name); ok {
		return i, nil
	}
	if i, ok := w.model.OrgIndex(withoutNumber(name)); ok {
		return i, nil
	}
	return 0, unauthorized("API key is invalid.")
}

// authenticateAdmin finds the org of an admin key.
func (w *world) authenticateAdmin(r *http.Request) (int, *apiError) {
	if name, ok := strings.CutPrefix(presented(r), adminPrefix); ok {
		if i, ok := w.model.OrgIndex(name); ok {
			return i, nil
		}
	}
	return 0, unauthorized("API key is invalid.")
}

// withoutNumber cuts "-2" off "high-2".
func withoutNumber(name string) string {
	i := strings.LastIndexByte(name, '-')
	if i < 0 || i == len(name)-1 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name
	}
	return name[:i]
}
