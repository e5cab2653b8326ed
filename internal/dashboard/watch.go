package dashboard

import (
	"context"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// lookEvery is how often the fleet is looked at: a snapshot costs its loop a few
// microseconds.
const lookEvery = time.Second

// watch looks at the fleet until the context ends.
func (d *Dashboard) watch(ctx context.Context) {
	defer close(d.done)
	defer d.jobs.close()
	defer d.hub.close()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	w := watcher{told: d.cfg.Now().Unix()}
	for {
		d.look(ctx, &w)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look takes one look, and tells those who listen.
func (d *Dashboard) look(ctx context.Context, w *watcher) {
	s := d.glance(ctx)
	now := d.cfg.Now()
	d.jobs.forget(now)
	if d.cfg.Snapshot != nil {
		d.series.look(now, loadOf(s))
	}
	if !d.hub.listened() {
		w.told, w.settled, w.spent = now.Unix()-1, nil, nil
		return
	}
	state := d.state(ctx, s)
	if d.cfg.Snapshot == nil {
		d.follow(now, state.Jobs, w)
	}
	for at := max(w.told+1, now.Unix()-pointsKept); at < now.Unix(); at++ {
		d.hub.tellPoint(encodePoint(d.series.second(at)))
		w.told = at
	}
	if text, changed, err := d.states.encode(state, now); err == nil && changed {
		d.hub.tellState(text)
	}
}

// watcher is what one look leaves for the next.
type watcher struct {
	told    int64          // the last second that listeners were told of
	settled map[string]int // rows of each job that runs; nil: nobody listened then
	spent   map[string]flotilla.Money
}

// follow draws the series of jobs that other processes run from what the journal
// says of them. Nobody listens, nothing is known: a gap.
func (d *Dashboard) follow(now time.Time, jobs []jobJSON, w *watcher) {
	settled, spent := map[string]int{}, map[string]flotilla.Money{}
	rows, money := 0, flotilla.Money(0)
	for i := range jobs {
		j := &jobs[i]
		settled[j.Key], spent[j.Key] = j.N-j.Pending, j.Spent
		if was, ok := w.settled[j.Key]; ok {
			rows, money = rows+max(settled[j.Key]-was, 0), money+max(j.Spent-w.spent[j.Key], 0)
		}
	}
	if w.settled != nil {
		d.series.look(now, nil)
		d.series.settled(now, rows, money)
	}
	w.settled, w.spent = settled, spent
}
