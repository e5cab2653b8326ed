package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla"
)

// A low limit on open files bounds connections, and is said; a high one is
// nobody's concern.
func TestConnectionsStayWithinTheFileLimit(t *testing.T) {
	for _, c := range []struct {
		limit uint64
		model string
		want  int
	}{
		{64, "claude-haiku-4-5", 8},
		{20, "claude-haiku-4-5", 1},
		{3*120 + filesAside - 1, "claude-haiku-4-5", 119},
		{3*120 + filesAside, "claude-haiku-4-5", 0},
		{3*40 + filesAside, "claude-opus-4-8", 0},
		{3*40 + filesAside, "", 40},
		{1 << 20, "", 0},
	} {
		var said bytes.Buffer
		r := &crew{sends: &runFlags{model: c.model}, settings: &Settings{}, err: &said}
		cfg := flotilla.Config{Orgs: make([]flotilla.Org, 3)}
		r.boundConns(&cfg, c.limit)
		if cfg.MaxConns != c.want || strings.Contains(said.String(), "ulimit -n") != (c.want > 0) {
			t.Errorf("limit %d, %q: %d connections, want %d: %s", c.limit, c.model, cfg.MaxConns, c.want, said.String())
		}
	}
}
