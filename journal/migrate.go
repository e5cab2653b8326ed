package journal

import (
	"errors"
	"fmt"
)

// errForeign says that the file is another program's database.
var errForeign = errors.New("another program's database")

// migrate brings the schema forward, all steps in one transaction, so that a
// crash leaves the version that was there.
func migrate(l *link, path string) error {
	found, err := l.number("PRAGMA user_version")
	if err != nil || int(found) == len(migrations) {
		return err
	}
	return l.transact(func() error { return migrateLocked(l, path) })
}

func migrateLocked(l *link, path string) error {
	// Asked again: another process may have been first.
	found, err := l.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	if int(found) > len(migrations) {
		return &NewerError{path, int(found), len(migrations)}
	}
	for _, step := range migrations[found:] {
		if _, err := l.conn.ExecContext(always, step); err != nil {
			return fmt.Errorf("migrate from schema version %d: %w", found, err)
		}
	}
	_, err = l.conn.ExecContext(always, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations)))
	return err
}

// checkOwner refuses a database that has tables and is not ours. It looks at one
// moment: another process may be making the journal.
func checkOwner(l *link, path string) error {
	return l.snapshot(func() error {
		id, err := l.number("PRAGMA application_id")
		if err != nil || id == applicationID {
			return err
		}
		tables, err := l.number("SELECT count(*) FROM sqlite_schema")
		if err == nil && tables > 0 {
			err = &CorruptError{path, errForeign}
		}
		return err
	})
}
