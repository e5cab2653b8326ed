package journal

import (
	"context"
	"database/sql"
	"slices"
)

// outputRows is how many of the newest answers OutStats looks at: a mean over
// so many is known to a hundredth, and reading them takes some milliseconds.
const outputRows = 20_000

// OutputStats is how long the newest answers of a model were, in output tokens,
// among rows of jobs of one template (see [JobSpec]): how many were looked at,
// their mean and their 95th percentile. n is 0 where nothing is known.
func (j *Journal) OutputStats(ctx context.Context, realm Realm, model string, template uint64) (n int64, mean, p95 float64, err error) {
	if template == 0 {
		return 0, 0, 0, ctx.Err()
	}
	var outs []int64
	err = j.readOne(ctx, "read how long answers were", func(l *link) error {
		return l.each(func(rows *sql.Rows) error {
			var out int64
			err := rows.Scan(&out)
			outs = append(outs, out)
			return err
		}, `SELECT out FROM outcome WHERE id > (SELECT min(first_outcome) FROM job WHERE template = ?1 AND provider = ?2 AND emulated = ?3 AND state <> ?5)
			AND out > 0 AND cached = 0
			AND job IN (SELECT id FROM job WHERE template = ?1 AND provider = ?2 AND emulated = ?3 AND state <> ?5)
			AND lane IN (SELECT id FROM lane WHERE model = ?4)
			ORDER BY id DESC LIMIT ?6`, int64(template), realm.Provider, realm.Emulated, model, removing, outputRows)
	})
	if err != nil || len(outs) == 0 {
		return 0, 0, 0, err
	}
	slices.Sort(outs)
	sum := int64(0)
	for _, out := range outs {
		sum += out
	}
	n = int64(len(outs))
	return n, float64(sum) / float64(n), float64(outs[(n*95+99)/100-1]), nil
}

// OutStats is [Journal.OutputStats] of the job's own realm and template.
func (job *Job) OutStats(ctx context.Context, model string) (n int64, mean, p95 float64, err error) {
	return job.j.OutputStats(ctx, job.spec.realm(), model, job.spec.Template)
}
