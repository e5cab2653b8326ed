package emulator

import (
	"net/http"
	"time"
)

// The JSON of GET /emulator/stats (interface.md "Emulator").
type statsJSON struct {
	Scenario  string             `json:"scenario"`
	Seed      uint64             `json:"seed"`
	Speed     float64            `json:"speed"`
	Now       string             `json:"now"`
	Requests  int64              `json:"requests"`
	Succeeded int64              `json:"succeeded"`
	Distinct  int64              `json:"distinct_bodies_succeeded"`
	Billed    string             `json:"billed_usd"`
	Unknown   int64              `json:"unknown_key"` // requests that no org's key came with; they are in Requests
	Orgs      map[string]orgJSON `json:"orgs"`
}

type orgJSON struct {
	ID         string              `json:"org_id"`
	Pools      map[string]poolJSON `json:"pools"`
	Batches    batchesJSON         `json:"batches"`
	Colleagues colleaguesJSON      `json:"colleagues"`
}

type poolJSON struct {
	Requests     int64       `json:"requests"`
	Succeeded    int64       `json:"succeeded"`
	Refused      refusedJSON `json:"refused"`
	InputTokens  int64       `json:"input_tokens"`
	OutputTokens int64       `json:"output_tokens"`
	Billed       string      `json:"billed_usd"`
	PeakInFlight int64       `json:"peak_in_flight"`
}

type refusedJSON struct {
	Steady       int64 `json:"steady"`
	Acceleration int64 `json:"acceleration"`
	Hidden       int64 `json:"hidden"`
	Concurrency  int64 `json:"concurrency"`
	Overload     int64 `json:"overload"`
	Daily        int64 `json:"daily"`
	Spend        int64 `json:"spend"`
	Auth         int64 `json:"auth"`
	QueueFull    int64 `json:"queue_full"`
	Invalid      int64 `json:"invalid"`
	Injected     int64 `json:"injected"`
}

type batchesJSON struct {
	Created      int64  `json:"created"`
	Rows         int64  `json:"rows"`
	Succeeded    int64  `json:"succeeded"`
	Errored      int64  `json:"errored"`
	Canceled     int64  `json:"canceled"`
	Expired      int64  `json:"expired"`
	PeakQueued   int64  `json:"peak_queued"`
	HTTPRequests int64  `json:"http_requests"`
	Billed       string `json:"billed_usd"`
}

type colleaguesJSON struct {
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused"`
}

func (s *Server) showStats(rw http.ResponseWriter, _ *http.Request) {
	w := s.world.Load()
	s.mark(rw.Header(), w, 0)
	w.mu.Lock()
	st, unknown := w.model.Stats(s.now(w)), w.unknown
	w.mu.Unlock()
	writeJSON(rw, statsJSON{
		Scenario: w.model.sc.Name, Seed: w.model.seed, Speed: s.clock.speed(), Now: s.Now().Format(time.RFC3339Nano),
		Requests: st.Requests + unknown, Succeeded: st.Succeeded, Distinct: st.Distinct, Billed: dollars(st.Billed),
		Unknown: unknown, Orgs: orgsJSON(st.Orgs),
	})
}

func orgsJSON(orgs []OrgStats) map[string]orgJSON {
	out := make(map[string]orgJSON, len(orgs))
	for _, o := range orgs {
		pools := make(map[string]poolJSON, len(o.Pools))
		for _, p := range o.Pools {
			pools[p.Pool] = p.json()
		}
		out[o.Name] = orgJSON{
			ID: OrgID(o.Name), Pools: pools, Batches: o.Batches.json(),
			Colleagues: colleaguesJSON{o.OtherRequests, o.OtherRefused},
		}
	}
	return out
}

func (b *BatchStats) json() batchesJSON {
	return batchesJSON{
		Created: b.Created, Rows: b.Rows, Succeeded: b.Succeeded, Errored: b.Errored, Canceled: b.Canceled,
		Expired: b.Expired, PeakQueued: b.PeakQueued, HTTPRequests: b.HTTPRequests, Billed: dollars(b.Billed),
	}
}

func (p *PoolStats) json() poolJSON {
	r := &p.Refused
	return poolJSON{
		Requests: p.Requests, Succeeded: p.Succeeded,
		Refused: refusedJSON{
			Steady: r[Steady], Acceleration: r[Accelerated], Hidden: r[Hidden], Concurrency: r[Concurrent],
			Overload: r[Overload], Daily: r[DailyLimit], Spend: r[SpendLimit], Auth: r[Unauthorized],
			QueueFull: r[QueueFull], Invalid: r[Invalid], Injected: r[Injected],
		},
		InputTokens: p.InputTokens, OutputTokens: p.OutputTokens,
		Billed: dollars(p.Billed), PeakInFlight: p.PeakInFlight,
	}
}
