package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// state is everything that happens now, as the API gives it.
type state struct {
	Now      *time.Time   `json:"now"` // nil while two states are compared
	Version  string       `json:"version"`
	Emulated *string      `json:"emulated"` // null: the real provider
	Mode     string       `json:"mode"`
	Speed    float64      `json:"speed"` // of the provider's clock; 1: as ours
	Began    time.Time    `json:"began"`
	Path     string       `json:"journal"`
	Lanes    []laneJSON   `json:"lanes"` // null: there is no fleet here
	Queues   []queueJSON  `json:"queues"`
	Batches  []batchJSON  `json:"batches"`
	Jobs     []jobJSON    `json:"jobs"`
	Clients  []clientJSON `json:"clients"` // null: there is no gateway
	Totals   totalsJSON   `json:"totals"`
	Faults   []string     `json:"faults"` // what could not be read
}

// totalsJSON is over all calls of this process. Null: there is no fleet here, or
// nothing that has it.
type totalsJSON struct {
	Calls           *int64          `json:"calls"`
	Succeeded       *int64          `json:"succeeded"`
	Refused         *int64          `json:"refused"`    // attempts, by limits
	Overloaded      *int64          `json:"overloaded"` // attempts
	CostUSD         *flotilla.Money `json:"cost_usd"`
	CapUSD          *flotilla.Money `json:"cap_usd"`
	ReservedUSD     *flotilla.Money `json:"reserved_usd"`
	EstimatedUSD    *flotilla.Money `json:"estimated_usd"` // the part of cost_usd that is estimated or in doubt
	AttemptsPerCall *float64        `json:"attempts_per_call"`
}

type clientJSON struct {
	Name        string          `json:"name"`
	Priority    string          `json:"priority"`
	Weight      float64         `json:"weight"`
	Queued      int             `json:"queued"`
	InFlight    int             `json:"in_flight"`
	SpentToday  *flotilla.Money `json:"spent_today_usd"`
	LimitPerDay *flotilla.Money `json:"limit_per_day_usd"`
	Calls       int64           `json:"calls"`
}

// snapshotWait bounds how long the fleet's loop may let us wait: before Connect
// it has nothing to say.
const snapshotWait = 900 * time.Millisecond

// glance asks the fleet how it stands; nil: there is none, or it does not say.
func (d *Dashboard) glance(ctx context.Context) *flotilla.Snapshot {
	if d.cfg.Snapshot == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotWait)
	defer cancel()
	s, err := d.cfg.Snapshot(ctx)
	if err != nil {
		return nil
	}
	d.seen.Store(&s)
	return &s
}

// state looks at everything, with a snapshot that may be nil.
func (d *Dashboard) state(ctx context.Context, s *flotilla.Snapshot) *state {
	now := d.cfg.Now()
	out := &state{
		Version: d.cfg.Version, Emulated: some(d.cfg.Emulated), Mode: d.cfg.Mode, Speed: d.cfg.Speed, Began: d.began.UTC(),
		Path: d.cfg.Journal.Path(), Batches: []batchJSON{}, Jobs: []jobJSON{}, Faults: []string{},
	}
	if s != nil {
		t := timeline{scaled: s.At, real: now, speed: d.cfg.Speed}
		out.Lanes = lanesOf(s, t, d.cfg.Pause != nil)
		out.Queues = queuesOf(s, d.cfg.Speed)
		out.Batches = d.jobs.batchesOf(s, t)
	}
	jobs, err := d.jobs.list(ctx, now, s, d.cfg.Speed)
	if err != nil {
		out.Faults = append(out.Faults, err.Error())
	}
	out.Jobs = append(out.Jobs, jobs...)
	if d.cfg.Clients != nil {
		out.Clients = clientsOf(d.cfg.Clients(ctx))
	}
	out.Totals = d.totals(ctx, s)
	return out
}

func clientsOf(list []ClientState) []clientJSON {
	out := []clientJSON{}
	for _, c := range list {
		out = append(out, clientJSON{
			Name: c.Name, Priority: c.Priority.String(), Weight: c.Weight, Queued: c.Queued, InFlight: c.InFlight,
			SpentToday: c.SpentToday, LimitPerDay: some(c.LimitPerDay), Calls: c.Calls,
		})
	}
	return out
}

// totals adds everything up. The cap is that of the pot, or of the one job there
// is.
func (d *Dashboard) totals(ctx context.Context, s *flotilla.Snapshot) (t totalsJSON) {
	if d.cfg.Snapshot == nil {
		return t
	}
	c := d.calls.counted()
	t.Calls, t.Succeeded, t.Refused, t.Overloaded = &c.calls, &c.succeeded, &c.refused, &c.overloaded
	t.CostUSD, t.EstimatedUSD = &c.cost, &c.estimated
	if c.calls > 0 {
		per := float64(c.attempts) / float64(c.calls)
		t.AttemptsPerCall = &per
	}
	if s != nil && len(s.Streams) == 1 {
		t.CapUSD = capMoney(s.Streams[0].Cap)
	}
	if d.cfg.Pot != nil {
		ctx, cancel := context.WithTimeout(ctx, snapshotWait)
		defer cancel()
		if limit, _, reserved, err := d.cfg.Pot.State(ctx); err == nil {
			t.CapUSD, t.ReservedUSD = capMoney(limit), &reserved
		}
	}
	return t
}

// stateCache keeps the last state as JSON, so that many readers cost as much as
// one.
type stateCache struct {
	mu   sync.Mutex
	at   time.Time
	bare []byte // without the time
	full []byte
}

// stateLife is how old a state may be that a request is answered with.
const stateLife = 900 * time.Millisecond

// encode gives the state as JSON, and whether it differs from the one before in
// more than its time.
func (c *stateCache) encode(s *state, now time.Time) (full []byte, changed bool, err error) {
	bare, err := json.Marshal(s)
	if err != nil {
		return nil, false, err
	}
	s.Now = someTime(now)
	if full, err = json.Marshal(s); err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = string(bare) != string(c.bare)
	c.at, c.bare, c.full = now, bare, full
	return full, changed, nil
}

func (c *stateCache) recent(now time.Time) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := now.Sub(c.at); c.full == nil || age < 0 || age > stateLife {
		return nil
	}
	return c.full
}

// stateText is the state as JSON, at most a second old.
func (d *Dashboard) stateText(ctx context.Context) ([]byte, error) {
	if text := d.states.recent(d.cfg.Now()); text != nil {
		return text, nil
	}
	full, _, err := d.states.encode(d.state(ctx, d.glance(ctx)), d.cfg.Now())
	return full, err
}

func (d *Dashboard) serveState(w http.ResponseWriter, r *http.Request) {
	text, err := d.stateText(r.Context())
	if err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(text)
}
