package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// limitRow is what is known of one org × pool, or of one org's batch queue.
// Zero figures are unknown.
type limitRow struct {
	Org   string  `json:"org"`
	OrgID string  `json:"org_id,omitempty"`
	Pool  string  `json:"pool"`
	RPM   float64 `json:"requests_per_minute,omitempty"`
	ITPM  float64 `json:"input_tokens_per_minute,omitempty"`
	OTPM  float64 `json:"output_tokens_per_minute,omitempty"`
	TPD   int64   `json:"tokens_per_day,omitempty"`
	Cap   int     `json:"cap,omitempty"`         // our own, attempts in flight of the family in this org
	InUse *inUse  `json:"in_use,omitempty"`      // by everybody on the org, at the moment of a probe
	Queue float64 `json:"queued_rows,omitempty"` // batch queue: rows it may hold

	InQueue *queueUse `json:"in_queue,omitempty"`       // batch queue: what it holds now
	Source  string    `json:"source"`                   // where the figures came from
	Error   string    `json:"error,omitempty"`          // why a probe could not tell
	Cost    string    `json:"probe_cost_usd,omitempty"` // of the probe, dollars
}

// inUse is the share of each limit that was used up, 0 to 1.
type inUse struct {
	Requests float64 `json:"requests"`
	Input    float64 `json:"input_tokens"`
	Output   float64 `json:"output_tokens"`
}

// sourceUnknown is said where nothing but an answer's headers can tell.
const sourceUnknown = "unknown: the first answers tell (or --probe, or an admin key)"

// batchPool names the rows about an org's batch queue.
const batchPool = "batch queue"

// limitsReport is what the command prints.
type limitsReport struct {
	BaseURL string     `json:"base_url"`
	Rows    []limitRow `json:"limits"`
	Notes   []string   `json:"notes,omitempty"`
}

func newLimitsCmd() *cobra.Command {
	var flags settingsFlags
	var asJSON, probe bool
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "Show the limits of every org and pool, and where each number comes from",
		Long: `Show the limits of every org × pool and batch queue, and where each number comes
from: the Rate Limits API where an admin key is set, else the headers that the last
runs saw, else the usage tier of the configuration; or the headers of a probe. Only
free reads, unless --probe.`,
		Example: "  flotilla limits\n  flotilla limits --probe --orgs high --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := flags.load(cmd)
			if err == nil {
				err = s.NeedOrgs()
			}
			if err != nil {
				return err
			}
			r, err := gatherLimits(cmd, s, probe)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return r.print(cmd.OutOrStdout())
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&probe, "probe", false, "send one call of one token to each org and pool and read its headers (costs a little)")
	return cmd
}

// gatherLimits asks every org once, cheapest source first.
func gatherLimits(cmd *cobra.Command, s *Settings, probe bool) (*limitsReport, error) {
	for _, w := range s.Warnings {
		warn(cmd.ErrOrStderr(), w)
	}
	ctx, table := cmd.Context(), s.Prices
	infos, err := connectOrgs(ctx, s)
	if err != nil {
		return nil, err
	}
	r := &limitsReport{BaseURL: s.BaseURL}
	known := r.askAdmin(ctx, s, table)
	for _, info := range infos {
		i := slices.IndexFunc(s.Orgs, func(o OrgSetting) bool { return o.Name == info.Name })
		if !info.Usable() {
			r.Notes = append(r.Notes, unusable(info))
			continue
		}
		r.addOrg(s, &s.Orgs[i], info, known[info.ID], table)
	}
	r.addQueues(ctx, s)
	if err := r.addLearned(ctx, s, infos); err != nil {
		return nil, err
	}
	if probe {
		return r, r.probe(cmd, s, table)
	}
	return r, nil
}

func connectOrgs(ctx context.Context, s *Settings) ([]flotilla.OrgInfo, error) {
	fleet, err := flotilla.New(s.FleetConfig())
	if err != nil {
		return nil, err
	}
	infos, err := fleet.Connect(ctx)
	if err != nil {
		_ = fleet.Close()
		return nil, err
	}
	return infos, fleet.Close()
}

func unusable(o flotilla.OrgInfo) string {
	if o.SameAs != "" {
		return fmt.Sprintf("%s is a second key of org %s: it shares its limits", o.Name, o.SameAs)
	}
	return fmt.Sprintf("%s: %s", o.Name, o.Err)
}

// askAdmin reads the Rate Limits API with every admin key, by org id.
func (r *limitsReport) askAdmin(ctx context.Context, s *Settings, table *price.Table) map[string]*rateLimits {
	known := map[string]*rateLimits{}
	for _, admin := range s.AdminKeys {
		a := newAPI(admin.BaseURL, s.Version)
		limits, err := readRateLimits(ctx, a, admin.Key, table)
		a.close()
		if err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %s", admin.Env, err))
			continue
		}
		known[limits.orgID] = limits
	}
	return known
}

// addOrg adds the rows of one org, of the tiers that it may be used for.
func (r *limitsReport) addOrg(s *Settings, o *OrgSetting, info flotilla.OrgInfo, api *rateLimits, table *price.Table) {
	if !o.NoSync {
		r.addPools(s, o, info, api, table)
	}
	if !o.NoBatch {
		r.addQueue(o, info, api)
	}
}

// addPools adds a row for every pool that has a model in use.
func (r *limitsReport) addPools(s *Settings, o *OrgSetting, info flotilla.OrgInfo, api *rateLimits, table *price.Table) {
	for _, p := range activePools(table, time.Now()) {
		row := limitRow{Org: o.Name, OrgID: info.ID, Pool: p.name, Cap: s.capOf(p.family), Source: sourceUnknown}
		row.TPD = o.TokensPerDay
		if l, ok := o.PerMinute[p.name]; ok {
			row.fill(l)
		}
		if api != nil {
			if l, ok := api.pools[p.name]; ok {
				row.fill(l.Limits)
				row.TPD = lowest(row.TPD, l.TokensPerDay)
			}
		}
		r.Rows = append(r.Rows, row)
	}
}

func (r *limitsReport) addQueue(o *OrgSetting, info flotilla.OrgInfo, api *rateLimits) {
	queue := limitRow{Org: o.Name, OrgID: info.ID, Pool: batchPool, Source: sourceUnknown}
	if o.BatchQueue > 0 {
		queue.Queue, queue.RPM, queue.Source = float64(o.BatchQueue), o.BatchRPM, "published table, usage tier "+o.UsageTier
	}
	if api != nil && api.batchQueue > 0 {
		queue.Queue, queue.RPM, queue.Source = api.batchQueue, api.batchRPM, sourceRateLimits
	}
	r.Rows = append(r.Rows, queue)
}

func (row *limitRow) fill(l flotilla.Limits) {
	row.RPM, row.ITPM, row.OTPM, row.Source = l.Requests, l.Input, l.Output, l.Source
}

// lowest is the lower of two caps per day; 0 is none.
func lowest(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// capOf is our own cap on attempts in flight of a family in one org.
func (s *Settings) capOf(family string) int {
	if n, ok := s.Conc[family]; ok {
		return n
	}
	return flotilla.DefaultConc(family)
}

// pool is a pool with the models that can be called now.
type pool struct {
	name, family string
	cheapest     price.Model // for a probe
}

// activePools lists the pools that have an active model, in the table's order.
func activePools(table *price.Table, now time.Time) []pool {
	var pools []pool
	for _, m := range table.Models() {
		if m.Lifecycle(now) != price.Active || !m.Priced() {
			continue
		}
		i := slices.IndexFunc(pools, func(p pool) bool { return p.name == m.Pool })
		if i < 0 {
			pools = append(pools, pool{m.Pool, m.Family(), m})
		} else if m.Prices.In < pools[i].cheapest.Prices.In {
			pools[i].cheapest = m
		}
	}
	return pools
}

// probe sends one call of one token to every row's org and pool.
func (r *limitsReport) probe(cmd *cobra.Command, s *Settings, table *price.Table) error {
	models := map[string]price.Model{}
	for _, p := range activePools(table, time.Now()) {
		models[p.name] = p.cheapest
	}
	var worst price.Nanos
	byOrg := map[string][]*limitRow{}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Pool != batchPool {
			worst += probeWorst(models[row.Pool])
			byOrg[row.Org] = append(byOrg[row.Org], row)
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "probing: one call of one token to each of %d org × pool, $%s at most\n", len(r.Rows)-len(byOrg), worst.Exact())
	// All at once: each pool has limits of its own.
	var wg sync.WaitGroup
	for i := range s.Orgs {
		o := &s.Orgs[i]
		a := s.apiFor(o)
		defer a.close()
		for _, row := range byOrg[o.Name] {
			wg.Go(func() { row.probe(cmd.Context(), a, o.Key, models[row.Pool]) })
		}
	}
	wg.Wait()
	return cmd.Context().Err()
}
