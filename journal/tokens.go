package journal

import (
	"context"
	"database/sql"
	"time"
)

// binWidth is the grain of the daily token ledger (facts/control.md B.1).
const binWidth = 10 * time.Minute

// bin is one cell of the ledger.
type bin struct {
	realm, org, pool string
	n                int64 // since 1970, in bins
}

// Realm is whose limits are meant: an org's name means another thing at another
// provider, and at an emulator.
type Realm struct {
	Provider string // scheme, host and port
	Emulated string // "scenario/seed"; empty: the real one
}

func (r Realm) String() string { return r.Provider + " " + r.Emulated }

func (j *Journal) writeTokens(tokens map[bin]int64) error {
	for b, n := range tokens {
		realm, err := j.word(b.realm)
		if err != nil {
			return err
		}
		_, err = j.w.exec(`INSERT INTO tokens(realm, org, pool, bin, tokens) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens`, realm, b.org, b.pool, b.n, n)
		if err != nil {
			return err
		}
	}
	return nil
}

// Use is the tokens that one bin of ten minutes saw.
type Use struct {
	Start  time.Time
	Tokens int64
}

// DayUse reads what all processes on this journal sent to a pool of an org in
// the 24 hours before now, oldest first: what counts against a rolling daily
// cap. Now is on the clock of the records.
func (j *Journal) DayUse(ctx context.Context, realm Realm, org, pool string, now time.Time) ([]Use, error) {
	var uses []Use
	err := j.read(ctx, "read the daily ledger", func(l *link) error {
		return l.each(func(rows *sql.Rows) error {
			var n, tokens int64
			err := rows.Scan(&n, &tokens)
			uses = append(uses, Use{time.Unix(0, n*int64(binWidth)), tokens})
			return err
		}, `SELECT bin, tokens FROM tokens WHERE realm = (SELECT id FROM word WHERE text = ?) AND org = ? AND pool = ? AND bin > ? AND bin <= ? ORDER BY bin`,
			realm.String(), org, pool, now.Add(-24*time.Hour).UnixNano()/int64(binWidth)-1, now.UnixNano()/int64(binWidth))
	})
	return uses, err
}
