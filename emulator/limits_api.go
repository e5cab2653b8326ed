package emulator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// limitEntry is one group of the Rate Limits API (facts/claude-api.md 5.1).
type limitEntry struct {
	Type      string       `json:"type"`
	ID        string       `json:"id"`
	Group     limitGroup   `json:"group"`
	GroupType string       `json:"group_type,omitempty"` // version 2023-06-01 alone
	Models    []string     `json:"models"`
	Limits    []limitValue `json:"limits"`
}

type limitGroup struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	DisplayName string `json:"display_name,omitempty"`
}

type limitValue struct {
	Type  string `json:"type"`
	Value int64  `json:"value"`
}

type limitPage struct {
	Data     []limitEntry `json:"data"`
	NextPage *string      `json:"next_page"`
}

// entries are all groups of an org.
func (o *orgState) entries() []limitEntry {
	var out []limitEntry
	for _, p := range pools {
		l := o.Limits
		if own, ok := o.Pools[p]; ok {
			l = own
		}
		e := o.entry("model_group", p, displayName(p), modelsOf(p))
		e.add("requests_per_minute", l.Requests)
		e.add("input_tokens_per_minute_cache_aware", l.Input)
		e.add("output_tokens_per_minute", l.Output)
		if o.Daily.Known {
			e.add("tokens_per_day", o.Daily.Tokens)
		}
		out = append(out, e)
	}
	batch := o.entry("batch", "batch", "", nil)
	batch.add("requests_per_minute", o.BatchRPM)
	batch.add("enqueued_batch_requests", o.BatchQueue)
	count := o.entry("token_count", "token_count", "", nil)
	count.add("requests_per_minute", o.countRPM())
	return append(out, batch, count)
}

// entry begins a group: its own id differs per org, its group's does not.
func (o *orgState) entry(kind, name, display string, models []string) limitEntry {
	return limitEntry{
		Type: "rate_limit", ID: token("rl_", stringKey(o.Name+"/"+name), 16), Models: models, Limits: []limitValue{},
		Group: limitGroup{ID: token("rlg_", stringKey(name), 16), Type: kind, DisplayName: display},
	}
}

func (e *limitEntry) add(kind string, value int64) {
	if value > 0 {
		e.Limits = append(e.Limits, limitValue{kind, value})
	}
}

// displayName makes "Claude Opus 4.x" of "opus-4.x".
func displayName(pool string) string {
	family, version, _ := strings.Cut(pool, "-")
	return "Claude " + strings.ToUpper(family[:1]) + family[1:] + " " + version
}

// modelsOf lists ids and aliases of a pool, each in one group alone.
func modelsOf(pool string) []string {
	var out []string
	for i := range catalog {
		if catalog[i].pool != pool {
			continue
		}
		if catalog[i].alias != "" {
			out = append(out, catalog[i].alias)
		}
		out = append(out, catalog[i].id)
	}
	return out
}

// rateLimits serves GET /v1/organizations/rate_limits.
func (s *Server) rateLimits(rw http.ResponseWriter, r *http.Request, w *world, org int) *apiError {
	q := r.URL.Query()
	all := w.model.orgs[org].entries()
	if kind := q.Get("group_type"); kind != "" {
		all = slices.DeleteFunc(all, func(e limitEntry) bool { return e.Group.Type != kind })
	}
	if name := q.Get("model"); name != "" {
		if _, ok := ModelIndex(name); !ok {
			return notFound("model: %s", name)
		}
		all = slices.DeleteFunc(all, func(e limitEntry) bool { return !slices.Contains(e.Models, name) })
	}
	limit, e := limitOf(q, 1000)
	if e != nil {
		return e
	}
	page, e := pageOf(all, q.Get("page"), limit)
	if e != nil {
		return e
	}
	if r.Header.Get("Anthropic-Version") == versionOld {
		for i := range page.Data {
			page.Data[i].GroupType = page.Data[i].Group.Type
		}
	}
	writeJSON(rw, page)
	return nil
}

// pageOf cuts a page out; its token is opaque to clients and the offset to us.
func pageOf(all []limitEntry, token string, limit int) (limitPage, *apiError) {
	from := 0
	if token != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(token, "page_"))
		if err != nil || n < 0 || n > len(all) {
			return limitPage{}, invalid("page: %q is not a page token", token)
		}
		from = n
	}
	rest := all[from:]
	p := limitPage{Data: rest[:min(limit, len(rest))]}
	if len(rest) > limit {
		next := "page_" + strconv.Itoa(from+limit)
		p.NextPage = &next
	}
	if p.Data == nil {
		p.Data = []limitEntry{}
	}
	return p, nil
}

// me serves GET /v1/organizations/me.
func (s *Server) me(rw http.ResponseWriter, _ *http.Request, w *world, org int) *apiError {
	name := w.model.orgs[org].Name
	writeJSON(rw, struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Name string `json:"name"`
	}{OrgID(name), "organization", name})
	return nil
}
