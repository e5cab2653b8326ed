package flotilla

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
)

// Key is an API key. It never prints itself.
type Key string

// String hides the key; an empty key prints as empty.
func (k Key) String() string {
	if k == "" {
		return ""
	}
	return "[key]"
}

// GoString hides the key.
func (k Key) GoString() string { return k.String() }

// Format hides the key from every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText hides the key.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue hides the key.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Org is one API organisation, reached by one key.
type Org struct {
	Name    string // how people name it: high, batch, low
	Key     Key
	BaseURL string // empty: Config.BaseURL

	// Share is how to stand beside colleagues on this key; nil: Config.Share.
	Share *Share

	// TokensPerDay is a known rolling daily cap; 0: none known.
	TokensPerDay int64
	// PerMinute are limits known beforehand by pool (Rate Limits API, configuration,
	// profile); a pool that is missing is learned from headers.
	PerMinute map[string]Limits

	NoSync, NoBatch bool // tiers that this key is not to be used for

	// The org's batch queue; zero: unknown.
	BatchQueue int64   // rows that may be in processing, over all pools
	BatchRPM   float64 // requests a minute to all batch endpoints together
	// What was measured of its batches; zero: unknown.
	Turnaround Turnaround
}

// Turnaround is how an org's batches proceed.
type Turnaround struct {
	Overhead time.Duration // before a batch begins to proceed
	RowRate  float64       // rows a second of one batch
	Parallel int           // batches that proceed at once
}

// Limits are the limits of one pool in one org, a minute. Zero: unknown.
type Limits struct {
	Requests, Input, Output float64
	Source                  string // where they came from, for people
}

// Title is how texts name the org: "org batch" where the bare name is a tier's.
func (o Org) Title() string {
	if o.Name == "batch" || o.Name == "sync" {
		return "org " + o.Name
	}
	return o.Name
}

// envOrgs are the variables that name orgs (interface.md, "Keys and configuration").
var envOrgs = []struct{ variable, name string }{
	{"ANTHROPIC_API_KEY", "high"},
	{"ANTHROPIC_BATCH_KEY", "batch"},
	{"ANTHROPIC_API_KEY_LOW_PRIO", "low"},
}

// OrgsFromEnv reads the orgs whose keys stand in the environment:
// ANTHROPIC_API_KEY (high), ANTHROPIC_BATCH_KEY (batch) and
// ANTHROPIC_API_KEY_LOW_PRIO (low). ANTHROPIC_BASE_URL, where it is set, is
// their base URL.
func OrgsFromEnv() []Org { return OrgsFrom(os.Getenv) }

// OrgsFrom is OrgsFromEnv over any way of looking variables up.
func OrgsFrom(getenv func(string) string) []Org {
	var orgs []Org
	for _, e := range envOrgs {
		if key := strings.TrimSpace(getenv(e.variable)); key != "" {
			orgs = append(orgs, Org{Name: e.name, Key: Key(key), BaseURL: strings.TrimSpace(getenv("ANTHROPIC_BASE_URL"))})
		}
	}
	return orgs
}
