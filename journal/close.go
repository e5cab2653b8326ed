package journal

import "errors"

// Close ends what this Journal began and did not end, as stopped, and closes
// the file. Closing twice is fine.
func (j *Journal) Close() error {
	if j.shut.Load() {
		return nil
	}
	err := j.write("close", j.retire)
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	if j.r != j.w {
		j.r.mu.Lock()
		defer j.r.mu.Unlock()
	}
	if j.shut.Swap(true) {
		return nil
	}
	j.setLiving(j.proc, false)
	if j.r != j.w {
		err = errors.Join(err, j.r.close())
	}
	return errors.Join(err, j.w.close())
}

func (j *Journal) retire() error {
	for _, b := range j.books {
		if err := j.writeDurable(b); err != nil {
			return err
		}
		if err := j.closeRun(b.run, false); err != nil {
			return err
		}
		if _, err := j.w.exec("UPDATE job SET state = ?, ended = ? WHERE id = ?", Stopped, j.opt.Now().UnixNano(), b.job); err != nil {
			return err
		}
	}
	if _, err := j.w.exec("DELETE FROM lease WHERE proc = ?", j.proc); err != nil {
		return err
	}
	_, err := j.w.exec("UPDATE proc SET ended = ? WHERE id = ?", j.opt.Now().UnixNano(), j.proc)
	return err
}
