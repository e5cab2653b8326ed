package journal

import "time"

// dayCache remembers the bounds of the local day asked for last.
type dayCache struct {
	from, to int64
	day      int
}

// day is the local day of t as yyyymmdd.
func (j *Journal) day(t time.Time) int {
	c := &j.dayOf
	if n := t.UnixNano(); n >= c.from && n < c.to {
		return c.day
	}
	c.from, c.to, c.day = dayBounds(t, j.opt.Location)
	return c.day
}

func dayBounds(t time.Time, loc *time.Location) (from, to int64, day int) {
	y, m, d := t.In(loc).Date()
	from = time.Date(y, m, d, 0, 0, 0, 0, loc).UnixNano()
	to = time.Date(y, m, d+1, 0, 0, 0, 0, loc).UnixNano()
	return from, to, y*10000 + int(m)*100 + d
}
