package main

import (
	"context"
	"net/http"
	"path/filepath"
	"sync/atomic"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/dashboard"
)

// board is the dashboard of a command, once it is there.
type board struct {
	at atomic.Pointer[dashboard.Dashboard]
}

// observe is told of every attempt that has ended.
func (b *board) observe(o flotilla.Observation) {
	if d := b.at.Load(); d != nil {
		d.Observe(o)
	}
}

// open starts the dashboard of a crew. more fills in what the command alone knows.
func (b *board) open(ctx context.Context, c *crew, mark, mode string, more func(*dashboard.Config)) error {
	provider, err := flotilla.Provider(c.settings.BaseURL)
	if err != nil {
		return err
	}
	profile, err := c.settings.profilePath()
	if err != nil {
		return err
	}
	cfg := dashboard.Config{
		Snapshot: c.fleet.Snapshot, Journal: c.journal,
		LabDir: defaultResults, Figures: defaultFigures, Guidelines: filepath.FromSlash(defaultGuidelines), Profile: profile,
		Pause:   c.fleet.PauseLane,
		Version: buildVersion().Version, Provider: provider, Emulated: mark, Speed: c.settings.Speed, Mode: mode,
	}
	more(&cfg)
	d, err := dashboard.New(ctx, cfg)
	if err == nil {
		b.at.Store(d)
	}
	return err
}

// ServeHTTP answers one request.
func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.at.Load().ServeHTTP(w, r) }

// close ends the dashboard and whoever looks at it.
func (b *board) close() {
	if d := b.at.Load(); d != nil {
		d.Close()
	}
}
