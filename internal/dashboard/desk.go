package dashboard

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// The jobs that are listed: those of the last days, so many at most, and all
// that run.
const (
	listSpan = 30 * 24 * time.Hour
	listMost = 100
)

// relist is how long the list of jobs is believed while those that run are
// looked at again: an old journal has thousands.
const relist = 2 * time.Second

// indexLife is how long the rows of a job are kept in memory after somebody
// looked at them.
const indexLife = 10 * time.Minute

// jobDesk knows the jobs of the journal.
type jobDesk struct {
	journal *journal.Journal
	live    func(jobKey string) (job.RowReader, bool)
	held    func(job int64) string // nil: there is no gateway

	mu     sync.Mutex
	infos  []journal.JobInfo
	listed time.Time
	ended  map[int64]endedCounts
	views  map[int64]*jobView
	ctx    context.Context // of what is built in the background
	stop   context.CancelFunc
	work   sync.WaitGroup
	closed bool
}

// endedCounts are the counts of a job that nobody runs.
type endedCounts struct {
	runs   int
	ended  time.Time
	counts [numOutcomes]int
}

// jobView is what is kept of a job while somebody looks at it, or it runs.
type jobView struct {
	tally tally
	pace  pace
	used  time.Time // under jobDesk.mu

	text textIndex
	book verdictBook
}

func newJobDesk(cfg *Config) *jobDesk {
	d := &jobDesk{journal: cfg.Journal, live: cfg.Live, held: cfg.Held, ended: map[int64]endedCounts{}, views: map[int64]*jobView{}}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// close ends what runs in the background.
func (d *jobDesk) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.work.Wait()
	d.drop(func(*jobView) (text, all bool) { return true, true })
}

// goOn runs something in the background, unless the desk is closed.
func (d *jobDesk) goOn(do func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.work.Go(do)
	}
	return !d.closed
}

// forget drops what nobody has looked at for a while.
func (d *jobDesk) forget(now time.Time) {
	d.drop(func(v *jobView) (text, all bool) {
		return now.Sub(v.text.used) > indexLife, now.Sub(v.used) > indexLife
	})
}

// drop lets go of views, or of their text alone. Text is closed without the lock,
// since it is waited for.
func (d *jobDesk) drop(which func(*jobView) (text, all bool)) {
	var stale []*jobView
	d.mu.Lock()
	for id, v := range d.views {
		text, all := which(v)
		if text && !v.text.used.IsZero() {
			v.text.used = time.Time{}
			stale = append(stale, v)
		}
		if all {
			delete(d.views, id)
		}
	}
	d.mu.Unlock()
	for _, v := range stale {
		v.text.close()
	}
}

// view is what is kept of a job.
func (d *jobDesk) view(id int64, now time.Time) *jobView {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.views[id]
	if v == nil {
		v = &jobView{}
		d.views[id] = v
	}
	v.used = now
	return v
}

// jobs are those that are shown, newest first.
func (d *jobDesk) jobs(ctx context.Context, now time.Time) ([]journal.JobInfo, error) {
	d.mu.Lock()
	infos, fresh := slices.Clone(d.infos), now.Sub(d.listed) < relist && !now.Before(d.listed)
	d.mu.Unlock()
	if fresh {
		return infos, d.again(ctx, infos)
	}
	infos, err := d.journal.Jobs(ctx, now.Add(-listSpan))
	if err != nil {
		return nil, err
	}
	n := 0
	infos = slices.DeleteFunc(infos, func(i journal.JobInfo) bool { n++; return n > listMost && i.Holder == nil })
	d.mu.Lock()
	d.infos, d.listed = slices.Clone(infos), now
	d.mu.Unlock()
	return infos, nil
}

// again looks at those that run once more.
func (d *jobDesk) again(ctx context.Context, infos []journal.JobInfo) error {
	for i := range infos {
		if infos[i].Holder == nil {
			continue
		}
		info, err := d.journal.Find(ctx, infos[i].Key)
		if err != nil {
			return err
		}
		infos[i] = info
	}
	return nil
}

// relistNow lets the next look see what was just changed.
func (d *jobDesk) relistNow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = time.Time{}
}

// counts is how many rows of a job there are by outcome.
func (d *jobDesk) counts(ctx context.Context, info *journal.JobInfo, now time.Time) (c [numOutcomes]int, err error) {
	if info.Holder != nil {
		v := d.view(info.ID, now)
		err := v.tally.catchUp(ctx, d.journal, info)
		return v.tally.counted(), err
	}
	d.mu.Lock()
	kept, ok := d.ended[info.ID]
	d.mu.Unlock()
	if ok && kept.runs == info.Runs && kept.ended.Equal(info.Ended) {
		return kept.counts, nil
	}
	if c, ok = summed(info); !ok {
		st, err := d.journal.StateOf(ctx, info.ID)
		if err != nil {
			return c, err
		}
		for o := range c {
			c[o] = st.Counts[o]
		}
	}
	d.mu.Lock()
	d.ended[info.ID] = endedCounts{info.Runs, info.Ended, c}
	d.mu.Unlock()
	return c, nil
}

// summed reads the counts out of what the last run of a job left; ok is false
// where it ended without a word, or says nothing of all rows.
func summed(info *journal.JobInfo) (c [numOutcomes]int, ok bool) {
	if info.Totals == nil || info.State != journal.Finished && info.State != journal.Stopped {
		return c, false
	}
	var s struct {
		N, Succeeded, Errored, Expired, Canceled, Pending *int
	}
	if json.Unmarshal(info.Totals, &s) != nil || s.N == nil || s.Succeeded == nil || s.Errored == nil || s.Expired == nil || s.Canceled == nil || s.Pending == nil || *s.N != info.N {
		return c, false
	}
	c[journal.Succeeded], c[journal.Errored], c[journal.Expired], c[journal.Canceled], c[journal.Pending] = *s.Succeeded, *s.Errored, *s.Expired, *s.Canceled, *s.Pending
	return c, true
}

// batchesOf are the batches at the provider, with their jobs by short id.
func (d *jobDesk) batchesOf(s *flotilla.Snapshot, t timeline) []batchJSON {
	d.mu.Lock()
	keys := map[int64]string{}
	for i := range d.infos {
		keys[d.infos[i].ID] = d.infos[i].Key
	}
	d.mu.Unlock()
	out := make([]batchJSON, 0, len(s.Batches))
	for i := range s.Batches {
		b := &s.Batches[i]
		out = append(out, batchJSON{
			Job: some(keys[b.Job]), Org: b.Org, Pool: b.Pool, ID: some(b.ID), Rows: b.Rows, Made: t.of(b.Made), Expected: t.of(b.Expected),
			Stalled: b.Stalled, Canceling: b.Canceling, Unseen: b.Unseen,
		})
	}
	return out
}
