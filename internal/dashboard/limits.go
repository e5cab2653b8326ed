package dashboard

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/lab"
	"github.com/flotilla-llm/flotilla/journal"
)

// limitsJSON is every limit that is known, with who says so.
type limitsJSON struct {
	Rows    []limitJSON  `json:"rows"`
	Profile *profileJSON `json:"profile"` // null: nothing was measured of this provider
	Faults  []string     `json:"faults"`  // what could not be read
}

type profileJSON struct {
	Made  time.Time `json:"made"`
	AgeS  float64   `json:"age_s"` // of its newest number
	Stale bool      `json:"stale"` // nothing goes by it any more
}

// limitJSON is one limit of an org: what is gone by, and what else is said.
type limitJSON struct {
	Org    string   `json:"org"`
	Pool   string   `json:"pool"`
	Tier   string   `json:"tier"`
	Limit  string   `json:"limit"` // rpm, itpm …; cap: our own
	Unit   string   `json:"unit"`
	Others *float64 `json:"others"` // what colleagues use of it now
	said
	Also []said `json:"also"` // by worse sources, the better ones first
}

// said is a value and who says it.
type said struct {
	Value       float64    `json:"value"`
	Low         *float64   `json:"low"` // 95 % interval; null: there is none
	High        *float64   `json:"high"`
	Bound       *string    `json:"bound"` // ">=": it is at least so much; "<=": at most
	Source      string     `json:"source"`
	Confidence  *float64   `json:"confidence"` // 0 to 1, of what was measured
	Provisional bool       `json:"provisional"`
	At          *time.Time `json:"at"`

	rank int // of the source; lower is better
}

// Ranks of sources: what was measured is gone by, then what answers say, then
// what they said; what is too old comes last.
const (
	byMeasurement = iota
	byHeaders
	byEarlierHeaders
	byOldMeasurement
)

// matrix gathers limits.
type matrix struct{ rows []limitJSON }

func (m *matrix) say(org, pool, tier, limit string, s said) {
	if s.Value <= 0 {
		return
	}
	i := slices.IndexFunc(m.rows, func(r limitJSON) bool {
		return r.Org == org && r.Pool == pool && r.Tier == tier && r.Limit == limit
	})
	if i < 0 {
		i = len(m.rows)
		m.rows = append(m.rows, limitJSON{Org: org, Pool: pool, Tier: tier, Limit: limit, Unit: units[limit], Also: []said{}})
	}
	m.rows[i].Also = append(m.rows[i].Also, s)
}

var units = map[string]string{
	"rpm": "requests/min", "itpm": "tokens/min", "otpm": "tokens/min", "tpd": "tokens/day", "batch_queue": "rows", "batch_rpm": "requests/min",
	"batch_depth": "rows", "cap": "calls at once",
}

// order is that of the limits of one lane.
var order = []string{"rpm", "itpm", "otpm", "tpd", "cap", "batch_queue", "batch_depth", "batch_rpm"}

// settle puts the best source of each limit first and rows into their order.
func (m *matrix) settle() []limitJSON {
	var orgs []string
	for i := range m.rows {
		r := &m.rows[i]
		slices.SortStableFunc(r.Also, func(a, b said) int { return a.rank - b.rank })
		r.said, r.Also = r.Also[0], r.Also[1:]
		if !slices.Contains(orgs, r.Org) {
			orgs = append(orgs, r.Org)
		}
	}
	place := func(r *limitJSON) []int {
		pool := slices.IndexFunc(m.rows, func(o limitJSON) bool { return o.Org == r.Org && o.Pool == r.Pool && o.Tier == r.Tier })
		return []int{slices.Index(orgs, r.Org), pool, slices.Index(order, r.Limit)}
	}
	out := slices.Clone(m.rows)
	slices.SortStableFunc(out, func(a, b limitJSON) int { return slices.Compare(place(&a), place(&b)) })
	return out
}

// fromSnapshot takes in what the lanes of this process know now.
func (m *matrix) fromSnapshot(s *flotilla.Snapshot, now time.Time) {
	live := func(v float64, source string) said {
		return said{Value: rounded(v), Source: source, At: someTime(now), rank: byHeaders}
	}
	for i := range s.Lanes {
		l := &s.Lanes[i]
		if l.Tier == batchTier {
			m.say(l.Org, l.Pool, l.Tier, "batch_queue", live(float64(l.Queue), "as learned"))
			continue
		}
		m.say(l.Org, l.Pool, l.Tier, "rpm", live(l.Limits.Requests, "headers"))
		m.say(l.Org, l.Pool, l.Tier, "itpm", live(l.Limits.Input, "headers"))
		m.say(l.Org, l.Pool, l.Tier, "otpm", live(l.Limits.Output, "headers"))
		m.say(l.Org, l.Pool, l.Tier, "cap", live(float64(l.Cap), "ours, of its family"))
	}
}

// others notes what colleagues use.
func (m *matrix) others(s *flotilla.Snapshot) {
	for i := range m.rows {
		r := &m.rows[i]
		at := slices.IndexFunc(s.Lanes, func(l flotilla.LaneState) bool { return l.Org == r.Org && l.Pool == r.Pool && l.Tier == r.Tier })
		if at < 0 {
			continue
		}
		l := &s.Lanes[at]
		of := amountsIn(l.Others, l.Limits)
		switch r.Limit {
		case "rpm":
			r.Others = of.Requests
		case "itpm":
			r.Others = of.Input
		case "otpm":
			r.Others = of.Output
		case "batch_queue":
			n := float64(l.QueuedByOthers)
			r.Others = &n
		}
	}
}

// fromProfile takes in what was measured.
func (m *matrix) fromProfile(p *lab.Profile, now time.Time) {
	for i := range p.Orgs {
		o := &p.Orgs[i]
		say := func(pool, tier, limit string, n *lab.Number) {
			if n != nil {
				m.say(o.Name, pool, tier, limit, measured(p, n, now))
			}
		}
		for _, pool := range sorted(o.Pools) {
			l := o.Pools[pool]
			say(pool, "sync", "rpm", l.Requests)
			say(pool, "sync", "itpm", l.Input)
			say(pool, "sync", "otpm", l.Output)
			say(pool, "sync", "tpd", l.TokensPerDay)
		}
		say("", batchTier, "batch_queue", o.BatchQueue)
		say("", batchTier, "batch_depth", o.BatchDepth)
		say("", batchTier, "batch_rpm", o.BatchRPM)
	}
}

func measured(p *lab.Profile, n *lab.Number, now time.Time) said {
	s := said{Value: n.Value, Bound: some(n.Bound), Source: n.Source, Provisional: n.Provisional, At: someTime(n.At), rank: byMeasurement}
	if n.Low != n.High {
		s.Low, s.High = &n.Low, &n.High
	}
	for i := range p.From {
		if o := &p.From[i]; o.Experiment+"-"+o.Window == n.From {
			s.Confidence = &o.Confidence
		}
	}
	if p.Stale(now) {
		s.rank = byOldMeasurement
	}
	return s
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// learned are the names under which runs note what headers and refusals told.
var learned = map[string]string{"rpm": "rpm", "itpm": "itpm", "otpm": "otpm", "tokens_per_day": "tpd"}

// fromJournal takes in what earlier runs noted of the lanes that are known.
func (m *matrix) fromJournal(ctx context.Context, j *journal.Journal, realm journal.Realm, now time.Time) error {
	lanes := map[[2]string]bool{}
	for i := range m.rows {
		if r := &m.rows[i]; r.Tier != batchTier {
			lanes[[2]string{r.Org, r.Pool}] = true
		}
	}
	for lane := range lanes {
		hints, err := j.Hints(ctx, realm, lane[0]+"/"+lane[1])
		if err != nil {
			return err
		}
		for name, limit := range learned {
			h := hints[name]
			if now.Sub(h.At) >= lab.ProfileLife {
				continue // no longer believed
			}
			source := "headers of an earlier run"
			if limit == "tpd" {
				source = "as refusals told"
			}
			m.say(lane[0], lane[1], "sync", limit, said{Value: rounded(h.Value), Source: source, At: someTime(h.At), rank: byEarlierHeaders})
		}
	}
	return nil
}

func (d *Dashboard) serveLimits(w http.ResponseWriter, r *http.Request) {
	now := d.cfg.Now()
	out := limitsJSON{Faults: []string{}}
	m := &matrix{}
	s := d.seen.Load()
	if s != nil {
		m.fromSnapshot(s, now)
	}
	realm := d.realm(r.Context())
	p, err := lab.ReadProfile(d.profilePath())
	switch {
	case err != nil:
		out.Faults = append(out.Faults, err.Error())
	case p != nil && p.Fits(realm.Provider, realm.Emulated):
		out.Profile = &profileJSON{Made: p.Made.UTC(), AgeS: now.Sub(p.Measured).Seconds(), Stale: p.Stale(now)}
		m.fromProfile(p, now)
	}
	if err := m.fromJournal(r.Context(), d.cfg.Journal, realm, now); err != nil {
		out.Faults = append(out.Faults, err.Error())
	}
	out.Rows = m.settle()
	if s != nil {
		(&matrix{out.Rows}).others(s)
	}
	if out.Rows == nil {
		out.Rows = []limitJSON{}
	}
	writeJSON(w, out)
}

func (d *Dashboard) profilePath() string {
	if d.cfg.Profile != "" {
		return d.cfg.Profile
	}
	return filepath.Join(filepath.Dir(d.cfg.Journal.Path()), lab.ProfileName)
}

// realm is the provider that limits are shown of: ours, else that of the newest
// job.
func (d *Dashboard) realm(ctx context.Context) journal.Realm {
	if d.cfg.Provider != "" {
		return journal.Realm{Provider: d.cfg.Provider, Emulated: d.cfg.Emulated}
	}
	jobs, err := d.jobs.jobs(ctx, d.cfg.Now())
	if err != nil || len(jobs) == 0 {
		return journal.Realm{}
	}
	return jobs[0].Realm
}
