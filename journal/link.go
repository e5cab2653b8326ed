package journal

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// link is one connection with its prepared statements. Whoever uses it holds mu.
type link struct {
	mu    sync.Mutex
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// always is the context of statements: one that a caller cancels would leave a
// transaction half done, and costs a goroutine a statement in the driver.
// Callers' contexts are asked between statements.
var always = context.Background()

func dial(dsn string) (*link, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(always)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &link{db: db, conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

func (l *link) stmt(query string) (*sql.Stmt, error) {
	if s := l.stmts[query]; s != nil {
		return s, nil
	}
	s, err := l.conn.PrepareContext(always, query)
	if err != nil {
		return nil, err
	}
	l.stmts[query] = s
	return s, nil
}

func (l *link) exec(query string, args ...any) (int64, error) {
	s, err := l.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(always, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert is exec for one row; it returns the row's id.
func (l *link) insert(query string, args ...any) (int64, error) {
	s, err := l.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(always, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// each calls scan for every row; what scan reads into is its own.
func (l *link) each(scan func(*sql.Rows) error, query string, args ...any) error {
	s, err := l.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(always, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// one reads the first row into dest; sql.ErrNoRows where there is none.
func (l *link) one(dest []any, query string, args ...any) error {
	s, err := l.stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(always, args...).Scan(dest...)
}

// number reads one integer; 0 where there is no row or it is null.
func (l *link) number(query string, args ...any) (int64, error) {
	var n sql.NullInt64
	err := l.one([]any{&n}, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n.Int64, err
}

// transact runs fn between BEGIN IMMEDIATE, which waits for other writers at
// the start instead of failing in the middle, and COMMIT.
func (l *link) transact(fn func() error) error {
	if _, err := l.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		_, err = l.exec("COMMIT")
	}
	if err == nil {
		return nil
	}
	// SQLite has rolled back by itself after a full disk or an I/O error, and
	// then says that there is nothing to roll back.
	_, _ = l.exec("ROLLBACK")
	return err
}

// snapshot runs fn between BEGIN and COMMIT, so that its reads are of one
// moment.
func (l *link) snapshot(fn func() error) error {
	if _, err := l.exec("BEGIN"); err != nil {
		return err
	}
	err := fn()
	_, end := l.exec("COMMIT")
	return errors.Join(err, end)
}

// close closes the statements before the connection, as the driver wants.
func (l *link) close() error {
	var errs []error
	for _, s := range l.stmts {
		errs = append(errs, s.Close())
	}
	errs = append(errs, l.conn.Close(), l.db.Close())
	return errors.Join(errs...)
}
