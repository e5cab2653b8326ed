package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// followEvery is how often a followed job is looked at.
const followEvery = 2 * time.Second

// follower shows how far jobs are that other processes run. It reads the
// journal alone.
type follower struct {
	journal *journal.Journal
	w       io.Writer
	meters  map[string]*meter
}

// followJob shows a job until nobody runs it, and brings info up to date.
func followJob(ctx context.Context, j *journal.Journal, info *journal.JobInfo, w io.Writer) error {
	f := &follower{j, w, map[string]*meter{}}
	return f.until(ctx, func() (running bool, err error) {
		if *info, err = j.Find(ctx, info.Key); err != nil {
			return false, err
		}
		return info.Holder != nil, f.line(ctx, info)
	})
}

// followJobs shows every running job until there is none.
func followJobs(ctx context.Context, j *journal.Journal, w io.Writer) error {
	f := &follower{j, w, map[string]*meter{}}
	return f.until(ctx, func() (running bool, err error) {
		jobs, err := j.Jobs(ctx, time.Now())
		if err != nil {
			return false, err
		}
		for i := range jobs {
			if jobs[i].Holder == nil {
				continue
			}
			running = true
			if err := f.line(ctx, &jobs[i]); err != nil {
				return false, err
			}
		}
		return running, nil
	})
}

func (f *follower) until(ctx context.Context, look func() (running bool, err error)) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if running, err := look(); err != nil || !running {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// line is the plain form of progress, as far as a journal can tell it.
func (f *follower) line(ctx context.Context, info *journal.JobInfo) error {
	rows, err := countsOf(ctx, f.journal, info)
	if err != nil {
		return err
	}
	m := f.meters[info.Key]
	if m == nil {
		m = &meter{}
		f.meters[info.Key] = m
	}
	c := counts{rows: rows.N, done: rows.settled(), errored: rows.Errored, calls: rows.settled(), spent: info.Spent}
	m.add(c, &flotilla.Snapshot{At: time.Now()})
	s := standing{at: time.Now(), job: info.Key, counts: c, rates: m.rates(), eta: m.eta(rows.Pending)}
	_, err = fmt.Fprintln(f.w, s.line())
	return err
}
