package lab

import (
	"context"
	"net/url"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// sourceAPI and sourceHeaders are where limits come from, for people.
const (
	sourceAPI     = "Rate Limits API"
	sourceHeaders = "headers of an answer"
)

// orgLimits is what the Rate Limits API says of one org (facts/claude-api.md 5.1).
type orgLimits struct {
	OrgID      string                     `json:"org_id"`
	Pools      map[string]flotilla.Limits `json:"pools"`
	Day        map[string]float64         `json:"tokens_per_day,omitempty"` // by pool
	BatchRPM   float64                    `json:"batch_rpm"`
	BatchQueue float64                    `json:"batch_queue"`
}

type limitGroup struct {
	Group     struct{ Type string } `json:"group"`
	GroupType string                `json:"group_type"` // version 2023-06-01, in older replies alone
	Models    []string              `json:"models"`
	Limits    []struct {
		Type  string  `json:"type"`
		Value float64 `json:"value"`
	} `json:"limits"`
}

// askLimits reads the limits of the org that an admin key belongs to, whichever
// that is.
func (e *Env) askLimits(ctx context.Context, o *Org) (*orgLimits, error) {
	admin := *o
	admin.Key = o.Admin
	l := e.link(&admin)
	defer l.close()
	const patience = 20 * time.Second
	var me struct{ ID string }
	if _, err := l.askJSON(ctx, patience, "/v1/organizations/me", nil, &me); err != nil {
		return nil, err
	}
	out := &orgLimits{OrgID: me.ID, Pools: map[string]flotilla.Limits{}, Day: map[string]float64{}}
	for query := (url.Values{}); ; {
		var reply struct {
			Data     []limitGroup `json:"data"`
			NextPage string       `json:"next_page"`
		}
		if _, err := l.askJSON(ctx, patience, "/v1/organizations/rate_limits", query, &reply); err != nil {
			return nil, err
		}
		for i := range reply.Data {
			out.take(&reply.Data[i], e.table())
		}
		if reply.NextPage == "" || reply.NextPage == query.Get("page") {
			return out, nil
		}
		query.Set("page", reply.NextPage)
	}
}

func (o *orgLimits) take(g *limitGroup, table *price.Table) {
	kind := g.Group.Type
	if kind == "" {
		kind = g.GroupType
	}
	switch kind {
	case "model_group":
		o.takePool(g, table)
	case "batch":
		for _, l := range g.Limits {
			switch l.Type {
			case "requests_per_minute":
				o.BatchRPM = l.Value
			case "enqueued_batch_requests":
				o.BatchQueue = l.Value
			}
		}
	}
}

func (o *orgLimits) takePool(g *limitGroup, table *price.Table) {
	pool := ""
	for _, name := range g.Models {
		if m, ok := table.Lookup(name); ok {
			pool = m.Pool
			break
		}
	}
	if pool == "" {
		return
	}
	p := flotilla.Limits{Source: sourceAPI}
	for _, l := range g.Limits {
		switch l.Type {
		case "requests_per_minute":
			p.Requests = l.Value
		case "input_tokens_per_minute_cache_aware", "input_tokens_per_minute":
			if p.Input == 0 || l.Value < p.Input { // both at once: the lower holds, cache reads aside
				p.Input = l.Value
			}
		case "output_tokens_per_minute":
			p.Output = l.Value
		case "tokens_per_day":
			o.Day[pool] = l.Value
		}
	}
	o.Pools[pool] = p
}
