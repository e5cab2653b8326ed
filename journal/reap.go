package journal

import (
	"database/sql"
	"time"
)

// reap closes the runs of processes that died: the intents they left open
// become attempts in doubt.
func (j *Journal) reap() error {
	dead, err := j.dead()
	if err != nil {
		return err
	}
	for _, proc := range dead {
		runs, err := j.liveRuns(proc)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if err := j.closeRun(run, true); err != nil {
				return err
			}
		}
		if _, err := j.w.exec("UPDATE proc SET ended = ? WHERE id = ?", j.opt.Now().UnixNano(), proc); err != nil {
			return err
		}
	}
	return nil
}

// dead lists the processes that did not say that they ended and are gone.
func (j *Journal) dead() ([]int64, error) {
	var ids []int64
	now := j.opt.Now()
	err := j.w.each(func(rows *sql.Rows) error {
		var p process
		var id, seen int64
		err := rows.Scan(&id, &p.pid, &p.host, &p.boot, &p.space, &p.start, &seen)
		if err == nil && !j.lives(id, p, time.Unix(0, seen), now) {
			ids = append(ids, id)
		}
		return err
	}, "SELECT id, pid, host, boot, space, start, seen FROM proc WHERE ended IS NULL")
	return ids, err
}

func (j *Journal) liveRuns(proc int64) ([]int64, error) {
	var ids []int64
	err := j.w.each(func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id FROM run WHERE proc = ? AND ended IS NULL", proc)
	return ids, err
}

// closeRun ends a run. Its open intents, and what is left of its open blocks,
// become attempts in doubt at their worst case, which moves from open to spent;
// what was granted and not used goes back.
func (j *Journal) closeRun(run int64, crashed bool) error {
	if err := j.losing(run); err != nil {
		return err
	}
	if err := j.losingBlocks(run); err != nil {
		return err
	}
	if _, err := j.w.exec("UPDATE spend SET spent = spent + open, granted = 0, open = 0 WHERE run = ?", run); err != nil {
		return err
	}
	_, err := j.w.exec("UPDATE run SET ended = ?, crashed = ? WHERE id = ?", j.opt.Now().UnixNano(), crashed, run)
	return err
}

// losing writes an attempt in doubt for every intent of a run that has neither
// attempt nor outcome. It reads from the run's low marks on, and the marks go in
// as numbers: taken from the run row inside, the sets would be made anew for
// every intent.
func (j *Journal) losing(run int64) error {
	var job int64
	var low sequences
	err := j.w.one([]any{&job, &low.intent, &low.attempt, &low.outcome}, "SELECT job, low_intent, low_attempt, low_outcome FROM run WHERE id = ?", run)
	if err != nil {
		return err
	}
	t := &j.bulk.attempt
	err = j.w.each(func(rows *sql.Rows) error {
		var row, attempt, lane, at, worst int64
		err := rows.Scan(&row, &attempt, &lane, &at, &worst)
		t.args = append(t.args, job, run, row, attempt, lane, at, j.day(time.Unix(0, at)), worst, lost, false, 0, 0)
		return err
	}, `SELECT row, attempt, lane, at, worst FROM intent WHERE id > ?2 AND run = ?1
			AND attempt NOT IN (SELECT attempt FROM attempt WHERE id > ?3 AND run = ?1)
			AND attempt NOT IN (SELECT attempt FROM outcome WHERE id > ?4 AND run = ?1)
		ORDER BY id`, run, low.intent, low.attempt, low.outcome)
	if err != nil {
		return err
	}
	return t.flush(j.w)
}
