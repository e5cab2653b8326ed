package emulator

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// modelJSON is a model as the Models API shows it (facts/claude-api.md 5.4).
type modelJSON struct {
	ID           string             `json:"id"`
	Type         string             `json:"type"`
	DisplayName  string             `json:"display_name"`
	CreatedAt    string             `json:"created_at"`
	MaxInput     int64              `json:"max_input_tokens"`
	MaxTokens    int64              `json:"max_tokens"`
	Lifecycle    string             `json:"lifecycle"`
	Line         string             `json:"line"`
	DeprecatedAt *string            `json:"deprecated_at"`
	RetiresAt    *string            `json:"retires_at"`
	Capabilities map[string]support `json:"capabilities"`
}

type support struct {
	Supported bool `json:"supported"`
}

type modelList struct {
	Data    []modelJSON `json:"data"`
	HasMore bool        `json:"has_more"`
	FirstID *string     `json:"first_id"`
	LastID  *string     `json:"last_id"`
}

func (e *entry) json(now time.Time) modelJSON {
	j := modelJSON{
		ID: e.id, Type: "model", DisplayName: e.name, MaxInput: e.context, MaxTokens: e.maxOut,
		CreatedAt: "1970-01-01T00:00:00Z", // what the API gives for an unknown day
		Lifecycle: e.lifecycle(now), Line: e.family,
		Capabilities: map[string]support{"batch": {e.pool != ""}},
	}
	if e.released != "" {
		j.CreatedAt = e.released + "T00:00:00Z"
	}
	if e.retires != "" {
		at := e.retires + "T00:00:00Z"
		j.RetiresAt = &at
	}
	return j
}

func (s *Server) listModels(rw http.ResponseWriter, r *http.Request, _ *world, _ int) *apiError {
	q := r.URL.Query()
	limit, e := limitOf(q, 20)
	if e != nil {
		return e
	}
	kinds := q["lifecycle[]"]
	if len(kinds) == 0 {
		kinds = []string{"active", "deprecated"}
	}
	now := s.Now()
	var all []modelJSON
	for i := range catalog {
		if j := catalog[i].json(now); slices.Contains(kinds, j.Lifecycle) && !catalog[i].limited {
			all = append(all, j)
		}
	}
	page, more, e := slice(all, q, limit, "model", func(m modelJSON) string { return m.ID })
	if e != nil {
		return e
	}
	l := modelList{Data: page, HasMore: more}
	if len(page) > 0 {
		l.FirstID, l.LastID = &page[0].ID, &page[len(page)-1].ID
	}
	writeJSON(rw, l)
	return nil
}

func (s *Server) showModel(rw http.ResponseWriter, r *http.Request, _ *world, _ int) *apiError {
	i, ok := ModelIndex(r.PathValue("id"))
	if !ok || catalog[i].limited {
		return notFound("model: %s", r.PathValue("id"))
	}
	writeJSON(rw, catalog[i].json(s.Now()))
	return nil
}

// limitOf reads a page's size: 1 to 1000.
func limitOf(q url.Values, def int) (int, *apiError) {
	if !q.Has("limit") {
		return def, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > 1000 {
		return 0, invalid("limit: Input should be between 1 and 1000")
	}
	return n, nil
}

// slice cuts the page that after_id or before_id names out of a list.
func slice[T any](all []T, q url.Values, limit int, noun string, id func(T) string) ([]T, bool, *apiError) {
	find := func(name string) (int, *apiError) {
		i := slices.IndexFunc(all, func(v T) bool { return id(v) == q.Get(name) })
		if i < 0 {
			return 0, invalid("%s: no such %s: %s", name, noun, q.Get(name))
		}
		return i, nil
	}
	switch {
	case q.Has("after_id"):
		i, e := find("after_id")
		if e != nil {
			return nil, false, e
		}
		rest := all[i+1:]
		return rest[:min(limit, len(rest))], len(rest) > limit, nil
	case q.Has("before_id"):
		i, e := find("before_id")
		if e != nil {
			return nil, false, e
		}
		return all[max(0, i-limit):i], i > limit, nil
	}
	return all[:min(limit, len(all))], len(all) > limit, nil
}
