package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// ErrClientExists is the error of a second client of one name, or one key.
var ErrClientExists = errors.New("a client of that name, or that key, exists")

// Client is who may call the gateway. Of its key only the hash is kept.
type Client struct {
	Name      string
	KeyHash   [32]byte       // SHA-256 of the key
	MaxPerDay flotilla.Money // what it may spend on a local day; 0: no cap
	Priority  string         // interactive, normal or bulk: the highest that it may ask for
	Weight    float64        // share among clients of one priority; 0: 1
	Created   time.Time      // zero, to AddClient: now
	Revoked   time.Time      // zero: it is not
}

// AddClient keeps a client. The name of a revoked one may come again: the money
// of a day counts by name. The error is [ErrClientExists] where one that is not
// revoked has the name, or any has the key.
func (j *Journal) AddClient(ctx context.Context, c Client) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Created.IsZero() {
		c.Created = j.opt.Now()
	}
	return j.write("add client "+c.Name, func() error {
		n, err := j.w.number("SELECT count(*) FROM client WHERE key_hash = ? OR name = ? AND revoked = 0", c.KeyHash[:], c.Name)
		if err != nil {
			return err
		}
		if n > 0 {
			return ErrClientExists
		}
		_, err = j.w.exec("INSERT INTO client(name, key_hash, max_per_day, priority, weight, created, revoked) VALUES (?, ?, ?, ?, ?, ?, ?)",
			c.Name, c.KeyHash[:], int64(c.MaxPerDay), c.Priority, c.Weight, nanos(c.Created), nanos(c.Revoked))
		return err
	})
}

// Clients lists all clients, revoked ones too, in the order of their coming.
func (j *Journal) Clients(ctx context.Context) (list []Client, err error) {
	err = j.readOne(ctx, "list clients", func(l *link) error {
		return l.each(func(rows *sql.Rows) error {
			var c Client
			var hash []byte
			var created, revoked int64
			err := rows.Scan(&c.Name, &hash, &c.MaxPerDay, &c.Priority, &c.Weight, &created, &revoked)
			if err == nil && len(hash) != len(c.KeyHash) {
				err = fmt.Errorf("the key of client %s is no SHA-256", c.Name)
			}
			copy(c.KeyHash[:], hash)
			c.Created, c.Revoked = timeOf(created), timeOf(revoked)
			list = append(list, c)
			return err
		}, "SELECT name, key_hash, max_per_day, priority, weight, created, revoked FROM client ORDER BY id")
	})
	return list, err
}

// RevokeClient ends a client's right to call. The error is a *NoClientError
// where none of that name has it.
func (j *Journal) RevokeClient(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write("revoke client "+name, func() error {
		n, err := j.w.exec("UPDATE client SET revoked = ? WHERE name = ? AND revoked = 0", max(j.opt.Now().UnixNano(), 1), name)
		if err == nil && n == 0 {
			err = &NoClientError{name}
		}
		return err
	})
}

// NoClientError says that no client of a name may call.
type NoClientError struct{ Name string }

func (e *NoClientError) Error() string { return fmt.Sprintf("there is no client %q", e.Name) }

// nanos is a time as tables have it; 0: it has not come.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
