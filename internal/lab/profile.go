package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// profileSchema is Profile.Schema of what this program writes.
const profileSchema = 1

// ProfileLife is how long what was measured is believed (interface.md, "Journal
// and provenance").
const ProfileLife = 14 * 24 * time.Hour

// ProfileName is the file beside the journal.
const ProfileName = "profile.json"

// Profile is what was measured of a provider, as forecasts and fleets take it:
// the numbers alone, each with its date, range and file. docs/measure.md
// documents the file.
type Profile struct {
	Schema   int       `json:"schema"`
	Made     time.Time `json:"made"`
	Measured time.Time `json:"measured"` // the newest number in it

	Emulated string   `json:"emulated,omitempty"` // "scenario/seed"; empty: the provider answered
	BaseURL  string   `json:"base_url"`
	Windows  []string `json:"windows"` // it is of; one alone is provisional

	Orgs    []OrgProfile    `json:"orgs"`
	Pace    []PaceProfile   `json:"pace,omitempty"`    // by model
	Batches *BatchesProfile `json:"batches,omitempty"` // nil: not measured
	From    []Origin        `json:"from"`              // results it was made of
}

// Origin is a result that numbers come from.
type Origin struct {
	Experiment string    `json:"experiment"`
	Window     string    `json:"window"`
	File       string    `json:"file"`
	Ended      time.Time `json:"ended"`
	Confidence float64   `json:"confidence"`
	Stopped    string    `json:"stopped,omitempty"`
}

// Number is one measured figure.
type Number struct {
	Value       float64   `json:"value"`
	Low         float64   `json:"low"` // 95 % interval, over all windows
	High        float64   `json:"high"`
	Source      string    `json:"source"` // "measured", or who said it
	From        string    `json:"from"`   // experiment-window
	At          time.Time `json:"at"`
	Claimed     float64   `json:"claimed,omitempty"`     // what was said of it where the measurement shows another number
	Bound       string    `json:"bound,omitempty"`       // as Metric.Bound
	Windows     int       `json:"windows"`               // that it is of
	Provisional bool      `json:"provisional,omitempty"` // its interval is too wide, or its experiment was stopped
}

// OrgProfile is one org. A number that is missing is not known.
type OrgProfile struct {
	Name   string `json:"name"`
	ID     string `json:"org_id,omitempty"`
	SameAs string `json:"same_as,omitempty"`

	Pools      map[string]PoolProfile `json:"pools,omitempty"`
	BatchQueue *Number                `json:"batch_queue,omitempty"` // rows
	BatchRPM   *Number                `json:"batch_rpm,omitempty"`
	// BatchDepth is the deepest queue, in rows, whose batches proceeded, where
	// those of a deeper one did not.
	BatchDepth *Number                `json:"batch_depth,omitempty"`
	Turnaround *TurnaroundProfile     `json:"turnaround,omitempty"`
	Knees      map[string]KneeProfile `json:"knees,omitempty"` // by model
}

// PoolProfile are the limits of one pool, a minute.
type PoolProfile struct {
	Requests     *Number `json:"rpm,omitempty"`
	Input        *Number `json:"itpm,omitempty"`
	Output       *Number `json:"otpm,omitempty"`
	TokensPerDay *Number `json:"tpd,omitempty"`
}

// TurnaroundProfile is how an org's batches proceed.
type TurnaroundProfile struct {
	Overhead *Number `json:"overhead_s,omitempty"`
	RowRate  *Number `json:"rows_per_s,omitempty"` // of one batch
	Parallel *Number `json:"parallel,omitempty"`   // batches
}

// KneeProfile is where more calls at once add nothing.
type KneeProfile struct {
	CallsPerMin *Number `json:"calls_per_min"`
	Concurrency *Number `json:"concurrency"`
	Limit       string  `json:"limit,omitempty"` // that binds there
}

// PaceProfile is how fast a model answers.
type PaceProfile struct {
	Model     string  `json:"model"`
	Family    string  `json:"family"`
	First     *Number `json:"first_s"`  // median time to the first token
	FirstSD   float64 `json:"first_sd"` // of its logarithm; 0: not known
	PerSecond *Number `json:"tokens_per_s"`
}

// BatchesProfile is what keeps batches from proceeding.
type BatchesProfile struct {
	Class      string  `json:"class"` // none, depth, size, hour, size+hour …; as batch-mechanism has it
	Confidence float64 `json:"confidence"`
	Verdict    string  `json:"verdict"`
	From       string  `json:"from"`
}

// ReadProfile reads a profile; nil: there is no such file.
func ReadProfile(path string) (*Profile, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	var p Profile
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.Schema != profileSchema {
		return nil, fmt.Errorf("%s: schema %d, this program reads %d", path, p.Schema, profileSchema)
	}
	return &p, nil
}

// Store writes the profile's file, whole or not at all.
func (p *Profile) Store(path string) error {
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return fmt.Errorf("writing the profile: %w", err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the directory of the profile: %w", err)
	}
	next := path + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the profile: %w", err)
	}
	return os.Rename(next, path)
}

// Stale says that nothing in the profile is believed any more.
func (p *Profile) Stale(now time.Time) bool { return now.Sub(p.Measured) > ProfileLife }

// Fits says whether the profile is of the provider at a base URL (scheme, host
// and port) that sends this mark: an emulator's is of any emulator of the same
// scenario and seed, wherever it listens, and of nobody else.
func (p *Profile) Fits(baseURL, mark string) bool {
	if p.Emulated != "" || mark != "" {
		return p.Emulated == mark
	}
	return p.BaseURL == baseURL
}
