package journal

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

func (j *Journal) writerPragmas() []string {
	mode := "locking_mode(NORMAL)"
	if j.opt.Exclusive {
		// Must come before the first access in WAL mode, which then needs no
		// shared memory (sqlite.org/wal.html section 8).
		mode = "locking_mode(EXCLUSIVE)"
	}
	return []string{
		// First, so that the pragmas that follow wait for other writers too.
		fmt.Sprintf("busy_timeout(%d)", j.opt.BusyWait.Milliseconds()),
		mode,
		// Sync at every commit: an intent must be on disk before its call is
		// sent, and NORMAL syncs at checkpoints only.
		"synchronous(" + j.sync() + ")",
		// Pages written once and read rarely: 8 MB held the peak at 74 MB, and
		// more made nothing faster (facts/dependencies.md, journal).
		"cache_size(-8192)",
		// 16 MB of WAL between checkpoints: at 1 KB an answer the default of 4 MB
		// has one within every fourth commit of 1000.
		"wal_autocheckpoint(4096)",
		// A WAL that a long reader let grow is cut back to this at its next reset.
		"journal_size_limit(67108864)",
		// What a removal notes meanwhile needs no file.
		"temp_store(MEMORY)",
		// Nothing in a journal file may run code of its schema's choosing.
		"trusted_schema(OFF)",
		fmt.Sprintf("max_page_count(%d)", j.maxPages()),
	}
}

func (j *Journal) sync() string {
	if j.opt.volatile {
		return "OFF"
	}
	return "FULL"
}

func (j *Journal) readerPragmas() []string {
	return []string{
		fmt.Sprintf("busy_timeout(%d)", j.opt.BusyWait.Milliseconds()),
		"cache_size(-8192)",
		"trusted_schema(OFF)",
		// A second lock on the door that mode=ro is.
		"query_only(ON)",
	}
}

// maxPages is SQLite's own largest number where no limit was asked for.
func (j *Journal) maxPages() int {
	if j.opt.MaxPages > 0 {
		return j.opt.MaxPages
	}
	return 4294967294
}

func (j *Journal) dsn(pragmas []string, param string) string {
	if j.path == memoryPath {
		return "file::memory:?_pragma=" + strings.Join(pragmas, "&_pragma=")
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(j.path)}
	return u.String() + "?" + param + "&_pragma=" + strings.Join(pragmas, "&_pragma=")
}
