package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// rateLimits is what the Rate Limits API says of one org (facts/claude-api.md
// 5.1).
type rateLimits struct {
	orgID      string
	pools      map[string]poolLimits
	batchRPM   float64 // requests a minute over all batch endpoints; 0: not said
	batchQueue float64 // rows in the processing queue; 0: not said
}

// poolLimits are the limits of one pool; 0: none said.
type poolLimits struct {
	flotilla.Limits
	TokensPerDay int64
}

// sourceRateLimits names the Rate Limits API for people.
const sourceRateLimits = "Rate Limits API"

// readRateLimits reads the limits of the org that an admin key belongs to.
func readRateLimits(ctx context.Context, a *api, key flotilla.Key, table *price.Table) (*rateLimits, error) {
	var me struct {
		ID string `json:"id"`
	}
	if _, err := a.get(ctx, key, "/v1/organizations/me", nil, &me); err != nil {
		return nil, fmt.Errorf("reading the org of the admin key: %w", err)
	}
	r := &rateLimits{orgID: me.ID, pools: map[string]poolLimits{}}
	for page := ""; ; {
		var reply struct {
			Data     []wire.LimitGroup `json:"data"`
			NextPage *string           `json:"next_page"`
		}
		query := url.Values{}
		if page != "" {
			query.Set("page", page)
		}
		if _, err := a.get(ctx, key, "/v1/organizations/rate_limits", query, &reply); err != nil {
			return nil, fmt.Errorf("reading the rate limits: %w", err)
		}
		for i := range reply.Data {
			r.take(&reply.Data[i], table)
		}
		if reply.NextPage == nil || *reply.NextPage == "" || *reply.NextPage == page {
			return r, nil
		}
		page = *reply.NextPage
	}
}

// take files one entry under the pool of its models.
func (r *rateLimits) take(g *wire.LimitGroup, table *price.Table) {
	if g.BatchRPM > 0 {
		r.batchRPM = g.BatchRPM
	}
	if g.BatchQueue > 0 {
		r.batchQueue = g.BatchQueue
	}
	if pool := table.PoolOf(g.Models); pool != "" {
		r.pools[pool] = poolLimits{
			Limits:       flotilla.Limits{Requests: g.Requests, Input: g.Input, Output: g.Output, Source: sourceRateLimits},
			TokensPerDay: int64(g.TokensPerDay),
		}
	}
}
