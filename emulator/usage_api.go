package emulator

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The messages usage report (facts/claude-api.md 5.5), from what the model
// billed, a minute being the finest bucket.

type usagePage struct {
	Data     []usageBucket `json:"data"`
	HasMore  bool          `json:"has_more"`
	NextPage *string       `json:"next_page"`
}

type usageBucket struct {
	StartingAt string       `json:"starting_at"`
	EndingAt   string       `json:"ending_at"`
	Results    []usageEntry `json:"results"`
}

type usageEntry struct {
	Uncached    int64         `json:"uncached_input_tokens"`
	Creation    cacheCreation `json:"cache_creation"`
	CacheRead   int64         `json:"cache_read_input_tokens"`
	Output      int64         `json:"output_tokens"`
	ServerTools serverTools   `json:"server_tool_use"`
	APIKeyID    *string       `json:"api_key_id"`
	WorkspaceID *string       `json:"workspace_id"`
	Model       *string       `json:"model"`
	ServiceTier *string       `json:"service_tier"`
	Window      *string       `json:"context_window"`
}

type cacheCreation struct {
	FiveMinutes int64 `json:"ephemeral_5m_input_tokens"`
	OneHour     int64 `json:"ephemeral_1h_input_tokens"`
}

type serverTools struct {
	WebSearch int64 `json:"web_search_requests"`
}

// widths are the buckets there are, with how many come in a page unless limit
// says otherwise, and at most.
var widths = map[string]struct {
	width     time.Duration
	def, most int
}{
	"1m": {time.Minute, 60, 1440},
	"1h": {time.Hour, 24, 168},
	"1d": {24 * time.Hour, 7, 31},
}

// usageQuery is what a client asks.
type usageQuery struct {
	from, to time.Time
	width    time.Duration
	n        int
	byModel  bool
	byTier   bool
	models   []string
	tiers    []string
}

func readUsageQuery(q url.Values, now time.Time) (usageQuery, *apiError) {
	u := usageQuery{models: q["models[]"], tiers: q["service_tiers[]"]}
	name := q.Get("bucket_width")
	if name == "" {
		name = "1d"
	}
	w, ok := widths[name]
	if !ok {
		return u, invalid("bucket_width: Input should be '1m', '1h' or '1d'")
	}
	u.width, u.n = w.width, w.def
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > w.most {
			return u, invalid("limit: Input should be between 1 and %d", w.most)
		}
		u.n = n
	}
	for _, g := range q["group_by[]"] {
		switch g {
		case "model":
			u.byModel = true
		case "service_tier":
			u.byTier = true
		case "api_key_id", "workspace_id", "context_window", "inference_geo", "speed":
		default:
			return u, invalid("group_by: %q is not known", g)
		}
	}
	return u, u.readTimes(q, now)
}

func (u *usageQuery) readTimes(q url.Values, now time.Time) *apiError {
	from := q.Get("starting_at")
	if from == "" {
		return invalid("starting_at: Field required")
	}
	if p := q.Get("page"); p != "" {
		from = strings.TrimPrefix(p, "page_")
	}
	var err error
	if u.from, err = time.Parse(time.RFC3339, from); err != nil {
		return invalid("starting_at: Input should be a valid datetime")
	}
	u.from = u.from.UTC().Truncate(u.width)
	u.to = now
	if q.Has("ending_at") {
		if u.to, err = time.Parse(time.RFC3339, q.Get("ending_at")); err != nil {
			return invalid("ending_at: Input should be a valid datetime")
		}
	}
	if !u.to.After(u.from) {
		return invalid("ending_at: must be after starting_at")
	}
	return nil
}

// usageReport serves GET /v1/organizations/usage_report/messages.
func (s *Server) usageReport(rw http.ResponseWriter, r *http.Request, w *world, org int) *apiError {
	u, e := readUsageQuery(r.URL.Query(), s.Now())
	if e != nil {
		return e
	}
	w.mu.Lock()
	w.model.Advance(s.now(w))
	uses := w.model.uses(org)
	w.mu.Unlock()
	writeJSON(rw, u.page(uses))
	return nil
}

// uses is everything an org was billed for, minute by minute.
func (m *Model) uses(org int) []minuteUse {
	var out []minuteUse
	for _, l := range m.lanes[org] {
		out = append(out, l.usage...)
	}
	slices.SortStableFunc(out, func(a, b minuteUse) int { return int(a.minute - b.minute) })
	return out
}

func (u *usageQuery) page(uses []minuteUse) usagePage {
	p := usagePage{Data: []usageBucket{}}
	at := u.from
	for ; at.Before(u.to) && len(p.Data) < u.n; at = at.Add(u.width) {
		b := usageBucket{StartingAt: stamp(at), EndingAt: stamp(at.Add(u.width)), Results: []usageEntry{}}
		u.fill(&b, uses, at)
		p.Data = append(p.Data, b)
	}
	if at.Before(u.to) {
		next := "page_" + stamp(at)
		p.HasMore, p.NextPage = true, &next
	}
	return p
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// usageGroup is what uses are summed by: -1 and "" are all.
type usageGroup struct {
	model int
	tier  string
}

// group is where a use belongs.
func (u *usageQuery) group(m *minuteUse) usageGroup {
	g := usageGroup{-1, ""}
	if u.byModel {
		g.model = m.model
	}
	if u.byTier {
		g.tier = m.tier()
	}
	return g
}

func (m *minuteUse) tier() string {
	if m.batch {
		return batchTier
	}
	return standardTier
}

// fill sums the uses of one bucket, by model and tier where asked.
func (u *usageQuery) fill(b *usageBucket, uses []minuteUse, at time.Time) {
	sums := map[usageGroup]*Usage{}
	for i := range uses {
		m := &uses[i]
		t := time.Unix(m.minute*60, 0)
		if t.Before(at) || !t.Before(at.Add(u.width)) || !u.wants(m) {
			continue
		}
		g := u.group(m)
		if sums[g] == nil {
			sums[g] = new(Usage)
		}
		sums[g].add(m.Usage)
	}
	for model := -1; model < len(catalog); model++ {
		for _, tier := range [...]string{"", standardTier, batchTier} {
			if s := sums[usageGroup{model, tier}]; s != nil {
				b.Results = append(b.Results, usageEntryOf(model, tier, s))
			}
		}
	}
}

func (u *usageQuery) wants(m *minuteUse) bool {
	return (len(u.models) == 0 || slices.Contains(u.models, catalog[m.model].id)) &&
		(len(u.tiers) == 0 || slices.Contains(u.tiers, m.tier()))
}

func usageEntryOf(model int, tier string, s *Usage) usageEntry {
	e := usageEntry{
		Uncached: s.Input, Creation: cacheCreation{s.CacheWrite5m, s.CacheWrite1h},
		CacheRead: s.CacheRead, Output: s.Output,
	}
	if model >= 0 {
		e.Model = &catalog[model].id
	}
	if tier != "" {
		e.ServiceTier = &tier
	}
	return e
}
