package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Allowance is how a cap per local day stands.
type Allowance struct {
	Granted flotilla.Money // to this run for the day, what it has spent of it included
	Own     flotilla.Money // what this run has spent or reserved of the day: at midnight the rest of Granted lapses
	Used    flotilla.Money // by all runs of the day: spent, reserved or granted
}

// Grant asks for money under a cap per local day that all processes on this
// journal share: everything sent since midnight counts, capped or not. A run
// that keeps what it spends and reserves on the day of at within Granted keeps
// all runs together within limit. Want is what is needed beyond what is granted
// already; less comes where less is left, and none of it is an error. What a
// run has not used goes back by [Journal.Return] or when it ends; what a dead
// process held stays taken until it is known to be dead. Job 0 is none.
func (j *Journal) Grant(ctx context.Context, job int64, at time.Time, want, limit flotilla.Money) (Allowance, error) {
	var a Allowance
	err := j.spending(ctx, "grant money of the day", job, func(b *book) (err error) {
		if err := j.reap(); err != nil {
			return err
		}
		a, err = j.grant(b.run, j.day(at), max(want, 0), limit)
		return err
	})
	return a, err
}

// Return gives back what a run holds of a day beyond keep and what it has spent
// or reserved.
func (j *Journal) Return(ctx context.Context, job int64, at time.Time, keep flotilla.Money) error {
	return j.spending(ctx, "return money of the day", job, func(b *book) error {
		_, err := j.w.exec("UPDATE spend SET granted = min(granted, max(spent + open + held, ?)) WHERE run = ? AND day = ?", int64(keep), b.run, j.day(at))
		return err
	})
}

func (j *Journal) spending(ctx context.Context, doing string, job int64, fn func(*book) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write(doing, func() error {
		b, err := j.bookOf(job)
		if err != nil {
			return err
		}
		return fn(b)
	})
}

// dayParts are what runs have of a day, ?1. What is left of a block that was
// opened before and is not closed counts too: a call drawn on it may be sent
// today, and no day may be believed cheaper than it can become.
const dayParts = `WITH part(run, granted, used) AS (
	SELECT run, granted, spent + open + held FROM spend WHERE day = ?1
	UNION ALL SELECT run, 0, held FROM block WHERE closed = 0 AND day < ?1) `

// takenParts is what each run has of a day: what it was granted, or more where
// it spends without asking.
const takenParts = dayParts + "SELECT coalesce(sum(max(g, u)), 0), coalesce(sum(u), 0) FROM (SELECT sum(granted) g, sum(used) u FROM part"

// grant counts what a run uses without having asked as granted, but never beyond
// the limit: what lines reserved ahead or have not recorded yet counts here and
// not in the ledgers that the allowance bounds, and would raise it for ever.
func (j *Journal) grant(run int64, day int, want, limit flotilla.Money) (a Allowance, err error) {
	var all, used, has, own, granted int64
	if err := j.w.one([]any{&all, &used}, takenParts+" GROUP BY run)", day); err != nil {
		return a, err
	}
	if err := j.w.one([]any{&has, &own}, takenParts+" WHERE run = ?2)", day, run); err != nil {
		return a, err
	}
	if err := j.w.one([]any{&granted}, "SELECT coalesce(sum(granted), 0) FROM spend WHERE day = ?1 AND run = ?2", day, run); err != nil {
		return a, err
	}
	free := limit - flotilla.Money(all-has) // of the other runs
	a = Allowance{Granted: max(min(flotilla.Money(has)+want, free), flotilla.Money(granted)), Own: flotilla.Money(own)}
	a.Used = flotilla.Money(all-has) + max(a.Granted, a.Own)
	_, err = j.w.exec(`INSERT INTO spend(run, day, granted) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET granted = excluded.granted`,
		run, day, int64(a.Granted))
	return a, err
}

// SpentOn is what all runs sent on the local day of at have spent or reserved.
// What is left of a block counts on each day that it is open.
func (j *Journal) SpentOn(ctx context.Context, at time.Time) (spent flotilla.Money, err error) {
	_, _, day := dayBounds(at, j.opt.Location)
	err = j.read(ctx, "sum the money of the day", func(l *link) error {
		n, err := l.number(dayParts+"SELECT sum(used) FROM part", day)
		spent = flotilla.Money(n)
		return err
	})
	return spent, err
}

// SettledOn is what all runs sent on the local day of at have spent for good,
// worst cases in doubt included: what is reserved, set aside or granted may come
// back, and is left out. It is at most [Journal.SpentOn].
func (j *Journal) SettledOn(ctx context.Context, at time.Time) (spent flotilla.Money, err error) {
	_, _, day := dayBounds(at, j.opt.Location)
	err = j.readOne(ctx, "sum what is spent of the day", func(l *link) error {
		n, err := l.number("SELECT sum(spent) FROM spend WHERE day = ?", day)
		spent = flotilla.Money(n)
		return err
	})
	return spent, err
}

// SpentOfClients is what the jobs of each client of the gateway, those removed
// since included, have spent of what they sent on the local day of at, worst
// cases in doubt included. What is set aside for what is under way is left out,
// which [Journal.SpentBy] counts. Clients that spent nothing are missing.
func (j *Journal) SpentOfClients(ctx context.Context, at time.Time) (spent map[string]flotilla.Money, err error) {
	_, _, day := dayBounds(at, j.opt.Location)
	spent = map[string]flotilla.Money{}
	err = j.readOne(ctx, "sum the money of clients", func(l *link) error {
		return l.each(func(rows *sql.Rows) error {
			var client string
			var n int64
			err := rows.Scan(&client, &n)
			spent[client] = flotilla.Money(n)
			return err
		}, `SELECT r.client, sum(s.spent) FROM spend s JOIN run r ON r.id = s.run
			WHERE s.day = ? AND r.client <> '' GROUP BY r.client HAVING sum(s.spent) <> 0`, day)
	})
	return spent, err
}

const spentBy = dayParts + "SELECT sum(used) FROM part WHERE run IN (SELECT id FROM run WHERE client = ?2)"

// SpentBy is [Journal.SpentOn] of the jobs of one client of the gateway, those
// removed since included.
func (j *Journal) SpentBy(ctx context.Context, client string, at time.Time) (spent flotilla.Money, err error) {
	_, _, day := dayBounds(at, j.opt.Location)
	err = j.read(ctx, "sum the money of "+client, func(l *link) error {
		n, err := l.number(spentBy, day, client)
		spent = flotilla.Money(n)
		return err
	})
	return spent, err
}
