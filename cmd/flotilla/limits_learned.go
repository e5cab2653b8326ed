package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// learnedLimits is what earlier runs noted in the journal of the lanes of a
// provider: limits that headers told, and caps per day that refusals told.
type learnedLimits struct {
	journal *journal.Journal // nil: there is none
	realm   journal.Realm
}

// openLearned opens the journal there is; it makes none.
func openLearned(ctx context.Context, s *Settings, infos []flotilla.OrgInfo) (l learnedLimits, err error) {
	if l.realm.Emulated, err = emulatedMark(infos); err != nil {
		return l, err
	}
	if l.realm.Provider, err = flotilla.Provider(s.BaseURL); err != nil {
		return l, err
	}
	path, err := journal.Locate(s.Journal, ".")
	if err != nil {
		return l, err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	l.journal, err = journal.Open(ctx, path, journal.Options{})
	return l, err
}

func (l *learnedLimits) close() error {
	if l.journal == nil {
		return nil
	}
	return l.journal.Close()
}

// of is what was learned of a lane; what is older than a profile may be is no
// longer believed.
func (l *learnedLimits) of(ctx context.Context, org, pool string) (p poolLimits, err error) {
	if l.journal == nil {
		return p, nil
	}
	hints, err := l.journal.Hints(ctx, l.realm, laneName(org, pool))
	var seen time.Time
	take := func(name string) float64 {
		h := hints[name]
		if time.Since(h.At) >= hintLife {
			return 0
		}
		if h.Value > 0 && h.At.After(seen) {
			seen = h.At
		}
		return h.Value
	}
	p.TokensPerDay = int64(take("tokens_per_day"))
	seen = time.Time{}
	p.Requests, p.Input, p.Output = take("rpm"), take("itpm"), take("otpm")
	if p.Requests+p.Input+p.Output > 0 {
		p.Source = "headers, " + seen.Local().Format("2006-01-02")
	}
	return p, err
}

// queued counts the rows of open batches by org.
func (l *learnedLimits) queued(ctx context.Context) (map[string]int64, error) {
	rows := map[string]int64{}
	if l.journal == nil {
		return rows, nil
	}
	open, err := l.journal.OpenBatches(ctx)
	for i := range open {
		if b := &open[i]; b.Realm == l.realm {
			rows[b.Org] += int64(b.Rows)
		}
	}
	return rows, err
}

// addLearned fills in what runs have learned where nothing knows better.
func (r *limitsReport) addLearned(ctx context.Context, s *Settings, infos []flotilla.OrgInfo) (err error) {
	l, err := openLearned(ctx, s, infos)
	if err != nil {
		// What others say is worth printing all the same.
		r.Notes = append(r.Notes, fmt.Sprintf("what runs learned is not shown: %s", err))
		return nil
	}
	defer func() { err = errors.Join(err, l.close()) }()
	ours, err := l.queued(ctx)
	if err != nil {
		return err
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Pool == batchPool {
			if row.InQueue != nil {
				row.InQueue.Ours = min(ours[row.Org], row.InQueue.Rows)
			}
			continue
		}
		learned, err := l.of(ctx, row.Org, row.Pool)
		if err != nil {
			return err
		}
		if learned.Source != "" && row.Source != sourceRateLimits {
			row.fill(learned.Limits)
		}
		if row.TPD == 0 && learned.TokensPerDay > 0 {
			row.TPD = learned.TokensPerDay
			row.Source += "; tokens/day as refusals told"
		}
	}
	return nil
}
