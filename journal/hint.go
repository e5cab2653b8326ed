package journal

import (
	"context"
	"database/sql"
	"time"
)

// Note is [Journal.Notes] of one value.
func (j *Journal) Note(ctx context.Context, realm Realm, lane, name string, value float64, at time.Time) error {
	return j.Notes(ctx, realm, lane, map[string]float64{name: value}, at)
}

// Notes keeps values about a lane, by name, for the next run, such as its last
// good ramp or window (facts/control.md B.5), in place of older ones, in one
// transaction. At is on the clock of the records.
func (j *Journal) Notes(ctx context.Context, realm Realm, lane string, values map[string]float64, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write("note what is known of "+lane, func() error {
		id, err := j.word(realm.String())
		if err != nil {
			return err
		}
		for name, value := range values {
			_, err := j.w.exec("INSERT OR REPLACE INTO hint(realm, lane, name, value, at) VALUES (?, ?, ?, ?, ?)", id, lane, name, value, at.UnixNano())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Hint is a value that an earlier run noted.
type Hint struct {
	Value float64
	At    time.Time
}

// Hints reads what was noted about a lane, by name; an empty map where nothing was.
func (j *Journal) Hints(ctx context.Context, realm Realm, lane string) (map[string]Hint, error) {
	hints := map[string]Hint{}
	err := j.read(ctx, "read the hints of "+lane, func(l *link) error {
		return l.each(func(rows *sql.Rows) error {
			var name string
			var value float64
			var at int64
			err := rows.Scan(&name, &value, &at)
			hints[name] = Hint{value, time.Unix(0, at)}
			return err
		}, "SELECT name, value, at FROM hint WHERE realm = (SELECT id FROM word WHERE text = ?) AND lane = ?", realm.String(), lane)
	})
	return hints, err
}
