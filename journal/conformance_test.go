package journal_test

import (
	"path/filepath"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

func TestConformance(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		journaltest.Run(t, func(t testing.TB) journaltest.Book {
			return journaltest.SQLite(open(t, path(t), journal.Options{}))
		})
	})
	t.Run("exclusive", func(t *testing.T) {
		journaltest.Run(t, func(t testing.TB) journaltest.Book {
			return journaltest.SQLite(open(t, path(t), journal.Options{Exclusive: true}))
		})
	})
	t.Run("memory", func(t *testing.T) {
		journaltest.Run(t, func(t testing.TB) journaltest.Book { return journaltest.SQLite(closing(t, journal.Memory())) })
	})
}

func path(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), ".flotilla", "journal.db")
}

func open(t testing.TB, path string, opt journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, j)
}

func closing(t testing.TB, j *journal.Journal) *journal.Journal {
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return j
}

// begin begins the job "a" of n rows.
func begin(t testing.TB, j *journal.Journal, n int) *journal.Job {
	t.Helper()
	job, err := j.Begin(t.Context(), journaltest.Spec("a", n))
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func add(t testing.TB, j *journal.Journal, records ...flotilla.Record) {
	t.Helper()
	if err := j.Append(records); err != nil {
		t.Fatal(err)
	}
}

func state(t testing.TB, job *journal.Job) *journal.State {
	t.Helper()
	st, err := job.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}
