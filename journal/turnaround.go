package journal

import (
	"context"
	"database/sql"
	"time"
)

// Turnaround is how long a batch took that was closed.
type Turnaround struct {
	Pool      string
	Rows      int           // it was made of
	Succeeded int           // of them
	Made      time.Time     // on the clock of the records
	Took      time.Duration // from then to its end, by the server where it said so
	Canceled  bool          // its end was asked for
}

// Turnarounds reads how long the last batches of an org took, so many of them,
// in the order in which they were sent: what is known of its batch tier before
// a run has seen an end. Lost ones, and such as were never made, say nothing.
func (j *Journal) Turnarounds(ctx context.Context, realm Realm, org string, last int) ([]Turnaround, error) {
	var list []Turnaround
	err := j.readOne(ctx, "read how long batches of "+org+" took", func(l *link) error {
		return l.each(func(rows *sql.Rows) error {
			var t Turnaround
			var made, closed int64
			err := rows.Scan(&t.Pool, &t.Rows, &t.Succeeded, &made, &closed, &t.Canceled)
			t.Made, t.Took = time.Unix(0, made), time.Duration(closed-made)
			list = append(list, t)
			return err
		}, `SELECT pool, sent, won, made, closed, canceling FROM (SELECT b.id, l.pool, b.sent, b.won, b.made, b.closed, b.canceling
			FROM batch b JOIN lane l ON l.id = b.lane JOIN run r ON r.id = b.run
			WHERE b.made > 0 AND b.closed > 0 AND b.lost = 0 AND l.org = ?2 AND r.realm = (SELECT id FROM word WHERE text = ?1)
			ORDER BY b.id DESC LIMIT ?3) ORDER BY id`, realm.String(), org, last)
	})
	return list, err
}
