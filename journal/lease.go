package journal

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"
)

// Share is what this process has of a cap that several share.
type Share struct {
	Held   int // slots that are ours now: never use more
	Target int // our part by what all want, and what of Held nobody else does; below Held: shrink to it, then Release
	Peers  int // other live processes that share the cap
}

// Lease asks for want slots of the cap of a pot (an org's family of models),
// for ttl on real time, and is repeated well within ttl: a process that has
// not renewed for that long holds nothing. Slots that others do not want are
// lent. What is held by all never exceeds limit: a process grows only into what
// is free, and what it holds beyond its Target is free only when it has said by
// [Journal.Release] that it is no longer used. The slots of a dead process are
// free at once where its pid can be looked up, else after its ttl.
func (j *Journal) Lease(ctx context.Context, pot string, limit, want int, ttl time.Duration) (Share, error) {
	if err := ctx.Err(); err != nil {
		return Share{}, err
	}
	var s Share
	err := j.write("lease slots of "+pot, func() (err error) {
		if err = j.reap(); err == nil {
			s, err = j.lease(pot, limit, max(want, 0), j.opt.Now(), ttl)
		}
		return err
	})
	return s, err
}

// Release gives back all slots but the first keep; call it when no more than
// those are in use and no more will be.
func (j *Journal) Release(ctx context.Context, pot string, keep int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write("release slots of "+pot, func() error {
		_, err := j.w.exec("UPDATE lease SET held = min(held, ?) WHERE pot = ? AND proc = ?", max(keep, 0), pot, j.proc)
		return err
	})
}

// holder is one process's part of a pot.
type holder struct {
	proc       int64
	held, want int
}

func (j *Journal) lease(pot string, limit, want int, now time.Time, ttl time.Duration) (Share, error) {
	_, err := j.w.exec("DELETE FROM lease WHERE pot = ? AND (expires <= ? OR proc IN (SELECT id FROM proc WHERE ended IS NOT NULL))", pot, now.UnixNano())
	if err != nil {
		return Share{}, err
	}
	all, err := j.holders(pot)
	if err != nil {
		return Share{}, err
	}
	at := slices.IndexFunc(all, func(h holder) bool { return h.proc == j.proc })
	if at < 0 {
		at, all = len(all), append(all, holder{proc: j.proc})
	}
	all[at].want = want
	free := limit
	for _, h := range all {
		free -= h.held
	}
	s := Share{Held: all[at].held, Target: kept(all, parts(all, limit), limit)[at], Peers: len(all) - 1}
	if s.Target > s.Held {
		s.Held += min(s.Target-s.Held, max(free, 0))
	}
	_, err = j.w.exec("INSERT OR REPLACE INTO lease(pot, proc, held, want, expires) VALUES (?, ?, ?, ?, ?)",
		pot, j.proc, s.Held, want, now.Add(ttl).UnixNano())
	return s, err
}

func (j *Journal) holders(pot string) (all []holder, err error) {
	err = j.w.each(func(rows *sql.Rows) error {
		var h holder
		err := rows.Scan(&h.proc, &h.held, &h.want)
		all = append(all, h)
		return err
	}, "SELECT proc, held, want FROM lease WHERE pot = ? ORDER BY proc", pot)
	return all, err
}

// kept adds to each part what its holder has beyond it and nobody wants: slots
// that lie idle are as good where they are, and there at once when they are
// wanted again.
func kept(all []holder, part []int, limit int) []int {
	left := limit
	for _, n := range part {
		left -= n
	}
	for i, h := range all {
		more := min(max(h.held-part[i], 0), max(left, 0))
		part[i] += more
		left -= more
	}
	return part
}

// parts divides limit by max-min fairness: who wants less than an equal part
// gets what it wants, and the rest is divided among the others; what does not
// divide goes to those who came first.
func parts(all []holder, limit int) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].want, all[b].want) })
	part := make([]int, len(all))
	for n, i := range order {
		// From the smallest want up, so that what one leaves is in the rest.
		left := len(order) - n
		part[i] = min(all[i].want, (limit+left-1)/left)
		limit -= part[i]
	}
	return part
}
