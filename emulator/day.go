package emulator

import "time"

// day counts tokens over a rolling 24 hours in bins of a minute.
type day struct {
	cap    int64 // 0: no cap, nothing is counted
	bins   []int64
	minute int64 // of the newest bin, from the model's start
	used   int64
}

const dayMinutes = 24 * 60

func (d *day) roll(now time.Duration) {
	if d.cap == 0 {
		return
	}
	if d.bins == nil {
		d.bins = make([]int64, dayMinutes)
	}
	to := int64(now / time.Minute)
	for n := 0; d.minute < to && n < dayMinutes; n++ {
		d.minute++
		bin := &d.bins[d.minute%dayMinutes]
		d.used -= *bin
		*bin = 0
	}
	d.minute = max(d.minute, to)
}

func (d *day) add(now time.Duration, tokens int64) {
	if d.cap == 0 {
		return
	}
	d.roll(now)
	d.bins[d.minute%dayMinutes] += tokens
	d.used += tokens
}

func (d *day) exhausted(now time.Duration) bool {
	d.roll(now)
	return d.cap > 0 && d.used >= d.cap
}

// reopens is how long until enough of the day's use has left the window.
func (d *day) reopens(now time.Duration) time.Duration {
	left := d.used
	for i := int64(1); i <= dayMinutes; i++ {
		left -= d.bins[(d.minute+i)%dayMinutes]
		if left < d.cap {
			return time.Duration(d.minute+i)*time.Minute - now
		}
	}
	return 24 * time.Hour
}
