package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// DayOf is [Journal.SpentBy] in two parts: held are the client's batches of the
// local day of at that are not closed, with what is reserved for them still, and
// spent is all the rest. Whoever takes one of them over reserves it himself.
func (j *Journal) DayOf(ctx context.Context, client string, at time.Time) (spent flotilla.Money, held []flotilla.HeldBatch, err error) {
	_, _, day := dayBounds(at, j.opt.Location)
	err = j.read(ctx, "sum the money of "+client, func(l *link) error {
		n, err := l.number(spentBy, day, client)
		if err != nil {
			return err
		}
		spent = flotilla.Money(n)
		return l.each(func(rows *sql.Rows) error {
			var h flotilla.HeldBatch
			err := rows.Scan(&h.Job, &h.Number, &h.Worst)
			held = append(held, h)
			spent -= h.Worst
			return err
		}, `SELECT b.job, b.number, b.held FROM batch b JOIN run r ON r.id = b.run
			WHERE b.closed = 0 AND b.held > 0 AND b.day = ? AND r.client = ? ORDER BY b.id`, day, client)
	})
	return spent, held, err
}
