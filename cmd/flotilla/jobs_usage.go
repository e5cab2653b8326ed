package main

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// usageLag is how long the usage report may lag behind (facts/claude-api.md 5.5).
const usageLag = 5 * time.Minute

// compareUsage holds what the journal's answers say of output tokens against
// the usage report of every org that we have an admin key for. The report is of
// everything on the org, so only less than ours is drift.
func (r *auditReport) compareUsage(cmd *cobra.Command, j *journal.Journal, info *journal.JobInfo) error {
	flags := settingsFlags{speed: 1}
	s, err := flags.load(cmd)
	if err != nil || len(s.AdminKeys) == 0 {
		return err
	}
	ours, from, to, err := outputByOrg(cmd, j, info)
	if err != nil || len(ours) == 0 {
		return err
	}
	infos, err := connectOrgs(cmd.Context(), s)
	if err != nil {
		r.Notes = append(r.Notes, "the usage report was not compared: "+err.Error())
		return nil
	}
	for i := range s.AdminKeys {
		if err := r.compareOrg(cmd, s, &s.AdminKeys[i], infos, ours, from, to); err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %s", s.AdminKeys[i].Env, err))
		}
	}
	return nil
}

// outputByOrg sums the output tokens of a job's answers, and when they came.
func outputByOrg(cmd *cobra.Command, j *journal.Journal, info *journal.JobInfo) (tokens map[string]int64, from, to time.Time, err error) {
	tokens = map[string]int64{}
	for a, err := range j.AnswersOf(cmd.Context(), info.ID, 0) {
		if err != nil {
			return nil, from, to, err
		}
		if a.Type != journal.Succeeded || a.Cached {
			continue
		}
		tokens[a.Org] += usageOutput(a.Body)
		if from.IsZero() || a.At.Before(from) {
			from = a.At
		}
		if a.At.After(to) {
			to = a.At
		}
	}
	return tokens, from, to, nil
}

func (r *auditReport) compareOrg(cmd *cobra.Command, s *Settings, admin *AdminKey, infos []flotilla.OrgInfo, ours map[string]int64, from, to time.Time) error {
	a := newAPI(admin.BaseURL, s.Version)
	defer a.close()
	var me struct {
		ID string `json:"id"`
	}
	if _, err := a.get(cmd.Context(), admin.Key, "/v1/organizations/me", nil, &me); err != nil {
		return err
	}
	for _, o := range infos {
		if o.ID != me.ID || ours[o.Name] == 0 {
			continue
		}
		reported, err := usageReport(cmd, a, admin.Key, from, to)
		switch {
		case err != nil:
			return err
		case reported < ours[o.Name] && time.Since(to) > usageLag:
			r.drift("%s: the usage report has %s output tokens, our answers say %s", title(o.Name), whole(int(reported)), whole(int(ours[o.Name])))
		case reported < ours[o.Name]:
			r.Notes = append(r.Notes, title(o.Name)+": the usage report may lag by five minutes; it has less than our answers so far")
		}
	}
	return nil
}

// usageReport sums the output tokens of an org from the hour of one time to
// that of another.
func usageReport(cmd *cobra.Command, a *api, key flotilla.Key, from, to time.Time) (total int64, err error) {
	query := url.Values{
		"starting_at":  {from.UTC().Truncate(time.Hour).Format(time.RFC3339)},
		"ending_at":    {to.UTC().Truncate(time.Hour).Add(time.Hour).Format(time.RFC3339)},
		"bucket_width": {"1h"},
		"limit":        {"168"},
	}
	for {
		var page struct {
			Data []struct {
				Results []struct {
					Output int64 `json:"output_tokens"`
				} `json:"results"`
			} `json:"data"`
			HasMore  bool    `json:"has_more"`
			NextPage *string `json:"next_page"`
		}
		if _, err := a.get(cmd.Context(), key, "/v1/organizations/usage_report/messages", query, &page); err != nil {
			return total, err
		}
		for _, bucket := range page.Data {
			for _, row := range bucket.Results {
				total += row.Output
			}
		}
		if !page.HasMore || page.NextPage == nil {
			return total, nil
		}
		query.Set("page", *page.NextPage)
	}
}

// usageOutput is what a Message says it took to write.
func usageOutput(message []byte) int64 { return gjson.GetBytes(message, "usage.output_tokens").Int() }
