package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

func moneyOf(n int) flotilla.Money { return flotilla.Money(n) }

// TestFullDisk: the commit that finds no room says so and leaves nothing behind;
// the last good state stands, and goes on when there is room.
func TestFullDisk(t *testing.T) {
	p := path(t)
	j, err := journal.Open(t.Context(), p, journal.Options{MaxPages: 60})
	if err != nil {
		t.Fatal(err)
	}
	job := begin(t, j, 1000)
	rows := 0
	for ; err == nil; rows++ {
		r := journaltest.Settled(job.ID, rows, int64(rows+1), "succeeded", 100)
		r.Answer = bytes.Repeat([]byte("x"), 3000)
		err = j.Append([]flotilla.Record{journaltest.Intent(job.ID, rows, int64(rows+1), 500), r})
	}
	rows-- // the last was refused
	var full *journal.FullError
	if !errors.As(err, &full) || full.Path != p || rows < 5 {
		t.Fatalf("after %d rows: %v", rows, err)
	}
	st := state(t, job)
	if st.Counts[journal.Succeeded] != rows || st.Spent != 100*moneyOf(rows) {
		t.Errorf("%v and %v spent, want %d rows", st.Counts, st.Spent, rows)
	}
	_ = j.Close() // may not find room to say goodbye

	j = open(t, p, journal.Options{})
	job = begin(t, j, 1000)
	if !job.Resumed {
		t.Error("the job began anew")
	}
	add(t, j, journaltest.Intent(job.ID, rows, 1, 500), journaltest.Settled(job.ID, rows, 1, "succeeded", 100))
	st = state(t, job)
	if st.Counts[journal.Succeeded] != rows+1 || st.Spent != 100*moneyOf(rows+1) || st.Doubts != 0 {
		t.Errorf("%v, %v spent, %d in doubt; want %d rows", st.Counts, st.Spent, st.Doubts, rows+1)
	}
}

// TestReadOnlyDirectory needs a user that permissions bind, so as root the
// child gives its rights up.
func TestReadOnlyDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".flotilla")
	old := filepath.Join(dir, "journal.db")
	j := open(t, old, journal.Options{})
	begin(t, j, 1)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	bare := t.TempDir()
	// All of the way there may be walked, so that writing alone is what fails.
	for path, mode := range map[string]os.FileMode{dir: 0o555, bare: 0o555, old: 0o444, filepath.Dir(bare): 0o755, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = errors.Join(os.Chmod(dir, 0o755), os.Chmod(bare, 0o755)) })
	before := readFile(t, old)
	for _, path := range []string{old, filepath.Join(bare, "journal.db"), filepath.Join(bare, ".flotilla", "journal.db")} {
		c := start(t, "unprivileged", path)
		if got, want := c.line(), "read-only "+path; got != want {
			t.Errorf("open %s: %s", path, got)
		}
		c.kill()
	}
	if !bytes.Equal(before, readFile(t, old)) {
		t.Error("the journal was changed")
	}
}

func unprivileged(ctx context.Context, path string) int {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	if _, err := os.ReadDir(filepath.Dir(filepath.Dir(path))); err != nil {
		fmt.Println(err)
		return 1
	}
	j, err := journal.Open(ctx, path, journal.Options{})
	if err == nil {
		_, err = j.Begin(ctx, journaltest.Spec("a", 1))
	}
	var readOnly *journal.ReadOnlyError
	if errors.As(err, &readOnly) {
		fmt.Println("read-only", readOnly.Path)
		return 0
	}
	fmt.Println(err)
	return 1
}
