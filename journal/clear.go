package journal

import (
	"context"
	"database/sql"

	"github.com/flotilla-llm/flotilla"
)

// Cleared is what ClearDoubt took off.
type Cleared struct {
	Attempts int
	Money    flotilla.Money
}

// ClearDoubt takes a job's attempts in doubt, all there are now, off what counts
// as spent, of the job and of the days they were sent on: for a person who has
// seen that they were not billed.
func (j *Journal) ClearDoubt(ctx context.Context, job int64) (Cleared, error) {
	var c Cleared
	if err := ctx.Err(); err != nil {
		return c, err
	}
	err := j.write("clear what is in doubt", func() (err error) {
		if err := j.reap(); err != nil {
			return err
		}
		c, err = j.clear(job)
		return err
	})
	return c, err
}

// takeOff is money of one run and day.
type takeOff struct {
	run   int64
	day   int
	nanos int64
}

func (j *Journal) clear(job int64) (Cleared, error) {
	at, err := j.sequences()
	if err != nil {
		return Cleared{}, err
	}
	var c Cleared
	offs, err := j.takeOffs(job)
	if err != nil || len(offs) == 0 {
		return c, err
	}
	for _, off := range offs {
		c.Attempts++
		c.Money += flotilla.Money(off.nanos)
		if _, err := j.w.exec("UPDATE spend SET spent = spent - ? WHERE run = ? AND day = ?", off.nanos, off.run, off.day); err != nil {
			return Cleared{}, err
		}
	}
	_, err = j.w.exec("INSERT INTO clearance(job, at, attempts, nanos, last_attempt, last_outcome) VALUES (?, ?, ?, ?, ?, ?)",
		job, j.opt.Now().UnixNano(), c.Attempts, int64(c.Money), at.attempt, at.outcome)
	return c, err
}

// takeOffs finds the money in doubt where it was booked.
func (j *Journal) takeOffs(job int64) (offs []takeOff, err error) {
	err = j.w.each(func(rows *sql.Rows) error {
		var off takeOff
		err := rows.Scan(&off.run, &off.day, &off.nanos)
		offs = append(offs, off)
		return err
	}, "SELECT run, day, charged "+openAttempts+" UNION ALL SELECT run, day, charged "+openOutcomes, job, job)
	return offs, err
}
