package lab

import (
	"context"
	"net/url"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
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
			Data     []wire.LimitGroup `json:"data"`
			NextPage string            `json:"next_page"`
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

func (o *orgLimits) take(g *wire.LimitGroup, table *price.Table) {
	if g.BatchRPM > 0 {
		o.BatchRPM = g.BatchRPM
	}
	if g.BatchQueue > 0 {
		o.BatchQueue = g.BatchQueue
	}
	pool := table.PoolOf(g.Models)
	if pool == "" {
		return
	}
	o.Pools[pool] = flotilla.Limits{Requests: g.Requests, Input: g.Input, Output: g.Output, Source: sourceAPI}
	if g.TokensPerDay > 0 {
		o.Day[pool] = g.TokensPerDay
	}
}
