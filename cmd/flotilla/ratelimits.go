package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/flotilla-llm/flotilla"
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

// limitGroup is one entry of the Rate Limits API.
type limitGroup struct {
	Group struct {
		Type string `json:"type"`
	} `json:"group"`
	GroupType string   `json:"group_type"` // version 2023-06-01, in older replies alone
	Models    []string `json:"models"`
	Limits    []struct {
		Type  string  `json:"type"`
		Value float64 `json:"value"`
	} `json:"limits"`
}

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
			Data     []limitGroup `json:"data"`
			NextPage *string      `json:"next_page"`
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
func (r *rateLimits) take(g *limitGroup, table *price.Table) {
	kind := g.Group.Type
	if kind == "" {
		kind = g.GroupType
	}
	switch kind {
	case "model_group":
		if pool := poolOf(g.Models, table); pool != "" {
			r.pools[pool] = g.limits()
		}
	case "batch":
		for _, l := range g.Limits {
			switch l.Type {
			case "requests_per_minute":
				r.batchRPM = l.Value
			case "enqueued_batch_requests":
				r.batchQueue = l.Value
			}
		}
	}
}

// poolOf is the pool of the first model that our table knows.
func poolOf(models []string, table *price.Table) string {
	for _, name := range models {
		if m, ok := table.Lookup(name); ok {
			return m.Pool
		}
	}
	return ""
}

func (g *limitGroup) limits() poolLimits {
	p := poolLimits{Limits: flotilla.Limits{Source: sourceRateLimits}}
	for _, l := range g.Limits {
		switch l.Type {
		case "requests_per_minute":
			p.Requests = l.Value
		case "input_tokens_per_minute_cache_aware", "input_tokens_per_minute":
			// Both at once: the lower holds, cache reads aside.
			if p.Input == 0 || l.Value < p.Input {
				p.Input = l.Value
			}
		case "output_tokens_per_minute":
			p.Output = l.Value
		case "tokens_per_day":
			p.TokensPerDay = int64(l.Value)
		}
	}
	return p
}
